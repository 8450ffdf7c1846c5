// SPDX-License-Identifier: MPL-2.0
// The compressed messages of a STREAM's peer must decode the same however many bytes are read at a
// time, and to no more than the limit.
//
// Input: a byte, of which 1 says that windows are kept, 2 sets a limit of 300 bytes on messages
// (100,000 otherwise), 4 a queue of two messages, 8 that the rest is the payload of one message, 16
// that this is text, and 32 that it comes twice; a byte for the read size of the second pass; one
// for the window; then frames of a server, or that payload.
#include "input_fuzz.hpp"

#include <string>

using namespace zlink;
namespace websocket = wire::websocket;

namespace {

std::string frame_around(const std::string& payload, bool is_text) {
    std::byte header[websocket::header_bytes_max];
    const std::size_t bytes = websocket::write_header(
        header, is_text ? websocket::opcode::text : websocket::opcode::binary, payload.size(),
        websocket::flag_fin | websocket::flag_compressed);
    return std::string(reinterpret_cast<const char*>(header), bytes) + payload;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 3) {
        return 0;
    }
    const unsigned choice = data[0];
    const std::size_t read_bytes_max = 1 + std::size_t{data[1]} * data[1];
    const std::uint64_t message_bytes_max = (choice & 2) != 0 ? 300 : 100'000;
    const pipe::queue_limits allowed{.messages_max = (choice & 4) != 0 ? 2U : 1000U};
    const codec::peer_deflation compressed{
        .how = {.window_bits = static_cast<std::uint8_t>(8 + data[2] % 8),
                .keeps_context = (choice & 1) != 0},
        .message_bytes_max = message_bytes_max};
    std::string sent(reinterpret_cast<const char*>(data) + 3, size - 3);
    if ((choice & 8) != 0) {
        sent = frame_around(sent, (choice & 16) != 0);
    }
    if ((choice & 32) != 0) {
        sent += sent;
    }
    testing::scanned_input at_once{pipe::layout::masked_websocket, message_bytes_max, allowed,
                                   compressed};
    testing::scanned_input in_pieces{pipe::layout::masked_websocket, message_bytes_max, allowed,
                                     compressed};
    fuzz::require_the_same(sent, at_once, in_pieces, read_bytes_max, message_bytes_max);
    return 0;
}
