// SPDX-License-Identifier: MPL-2.0
#include "session/websocket_control.hpp"

#include "base/random_bytes.hpp"
#include "session/connection.hpp"

#include <algorithm>
#include <array>

namespace zlink::session {

using namespace wire::websocket;

void websocket_control::on_websocket_ping(std::span<const std::byte> payload) {
    if (over_.is_established()) {
        over_.input().count_control();
    }
    if (over_.may_send_control()) {
        send(opcode::pong, payload);
        over_.write_soon();
    }
}

void websocket_control::on_websocket_close(const close_view& said) {
    over_.on_peer_closes(static_cast<std::uint16_t>(said.code), said.reason);
}

void websocket_control::send_ping() {
    if (over_.may_send_control()) {
        send(opcode::ping, {});
        over_.write_soon();
    }
}

void websocket_control::send_close(std::uint16_t code, std::string_view reason) {
    std::array<std::byte, close_payload_bytes_max> payload;
    const auto bytes = encode_close(payload, static_cast<close_code>(code), reason);
    send(opcode::close, std::span{payload}.first(bytes ? *bytes : 0));
}

void websocket_control::send(opcode kind, std::span<const std::byte> payload) {
    payload = payload.first(std::min(payload.size(), control_payload_bytes_max));
    std::array<std::byte, header_bytes_max + control_payload_bytes_max> frame;
    std::size_t bytes = 0;
    if (over_.is_dialing()) {
        const mask_key key = random_bytes();
        bytes = write_masked_header(frame.data(), kind, payload.size(), key);
        copy_masked(frame.data() + bytes, payload, key);
    } else {
        bytes = write_header(frame.data(), kind, payload.size());
        std::copy(payload.begin(), payload.end(), frame.data() + bytes);
    }
    auto& own = over_.output().own();
    own.insert(own.end(), frame.data(), frame.data() + bytes + payload.size());
}

} // namespace zlink::session
