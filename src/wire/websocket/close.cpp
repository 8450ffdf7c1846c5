// SPDX-License-Identifier: MPL-2.0
#include "wire/websocket/close.hpp"

#include "base/byte_order.hpp"
#include "wire/websocket/utf8.hpp"

#include <algorithm>

namespace zlink::wire::websocket {

std::optional<close_code> decode_close(std::span<const std::byte> payload,
                                       close_view& out) noexcept {
    if (payload.empty()) {
        out = {};
        return std::nullopt;
    }
    if (payload.size() < close_code_bytes) {
        return close_code::protocol_error;
    }
    const auto code = static_cast<close_code>(load_big_endian<std::uint16_t>(payload.data()));
    if (!may_be_sent(code)) {
        return close_code::protocol_error;
    }
    const auto data = payload.subspan(close_code_bytes);
    const std::string_view reason{reinterpret_cast<const char*>(data.data()), data.size()};
    if (!is_utf8(reason)) {
        return close_code::invalid_payload;
    }
    out = {code, reason};
    return std::nullopt;
}

result<std::size_t> encode_close(std::span<std::byte, close_payload_bytes_max> out, close_code code,
                                 std::string_view reason) noexcept {
    if (code == close_code::none && reason.empty()) {
        return std::size_t{0};
    }
    if (!may_be_sent(code) || reason.size() > close_reason_bytes_max || !is_utf8(reason)) {
        return errc::invalid_argument;
    }
    store_big_endian(out.data(), static_cast<std::uint16_t>(code));
    std::ranges::copy(std::as_bytes(std::span{reason}), out.data() + close_code_bytes);
    return close_code_bytes + reason.size();
}

} // namespace zlink::wire::websocket
