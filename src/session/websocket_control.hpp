// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "codec/websocket_scanner.hpp"
#include "wire/websocket/close.hpp"
#include "wire/websocket/frame.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace zlink::session {

class connection;

/// The control frames of a WebSocket connection (RFC 6455, 5.5): answers the peer's, and sends its
/// own before the next message.
class websocket_control final : public codec::websocket_sink {
public:
    explicit websocket_control(connection& over) noexcept : over_(over) {}

    connection& over() const noexcept { return over_; }

    void on_websocket_ping(std::span<const std::byte> payload) override;
    void on_websocket_close(const wire::websocket::close_view& said) override;

    /// Sends a ping, unless too many earlier ones are unread or the close handshake has begun.
    /// @throws std::bad_alloc
    void send_ping();

    /// Appends a close frame to the connection's own bytes.
    /// @throws std::bad_alloc
    void send_close(std::uint16_t code, std::string_view reason);

private:
    void send(wire::websocket::opcode kind, std::span<const std::byte> payload);

    connection& over_;
};

} // namespace zlink::session
