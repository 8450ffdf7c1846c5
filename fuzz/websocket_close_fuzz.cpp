// SPDX-License-Identifier: MPL-2.0
// Input: the payload of a close frame.
#include "fuzz.hpp"

#include "wire/websocket/close.hpp"
#include "wire/websocket/utf8.hpp"

#include <algorithm>
#include <array>

using namespace zlink::wire::websocket;
using zlink::fuzz::require;
using zlink::fuzz::touch;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto payload =
        std::as_bytes(std::span{data, std::min<std::size_t>(size, close_payload_bytes_max)});
    close_view close;
    const std::optional<close_code> refusal = decode_close(payload, close);
    if (refusal) {
        require(*refusal == close_code::protocol_error || *refusal == close_code::invalid_payload);
        return 0;
    }
    require(may_be_sent(close.code) || payload.empty());
    require(is_utf8(close.reason));
    touch(std::as_bytes(std::span{close.reason}));

    std::array<std::byte, close_payload_bytes_max> written;
    const auto written_bytes = encode_close(written, close.code, close.reason);
    require(static_cast<bool>(written_bytes));
    require(std::ranges::equal(std::span{written}.first(*written_bytes), payload));
    return 0;
}
