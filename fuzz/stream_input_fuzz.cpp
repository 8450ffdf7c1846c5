// SPDX-License-Identifier: MPL-2.0
// The bytes of a STREAM's peer must decode the same however many bytes are read at a time.
//
// Input: a byte, of which 1 and 2 select the framing, 4 a limit of 300 bytes on messages, and 8 a
// queue of two messages; a byte for the read size of the second pass; then the bytes that the peer
// sends, 16 times if 16 is set in the first byte.
#include "input_fuzz.hpp"

using namespace zlink;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    const unsigned choice = data[0];
    const std::size_t read_bytes_max = 1 + std::size_t{data[1]} * data[1];
    const auto frames = (choice & 3) == 0   ? pipe::layout::length
                        : (choice & 3) == 1 ? pipe::layout::masked_websocket
                                            : pipe::layout::websocket;
    const std::uint64_t message_bytes_max = (choice & 4) != 0 ? 300 : 0xffff'ffff;
    const pipe::queue_limits allowed{.messages_max = (choice & 8) != 0 ? 2U : 1000U};
    std::string sent;
    for (int count = (choice & 16) != 0 ? 16 : 1; count > 0; --count) {
        sent.append(reinterpret_cast<const char*>(data) + 2, size - 2);
    }
    testing::scanned_input at_once{frames, message_bytes_max, allowed};
    testing::scanned_input in_pieces{frames, message_bytes_max, allowed};
    fuzz::require_the_same(sent, at_once, in_pieces, read_bytes_max, message_bytes_max);
    return 0;
}
