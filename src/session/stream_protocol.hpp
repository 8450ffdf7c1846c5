// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "files/open_file.hpp"
#include "session/protocol.hpp"
#include "session/web_handshake.hpp"
#include "session/websocket_control.hpp"

#include <cstdint>
#include <memory>
#include <string_view>

namespace zlink::session {

/// A peer of a ZLINK_STREAM: length-prefixed messages, or WebSocket messages (RFC 6455). Each
/// connection has its own pipe, which begins with the peer's properties and ends with the reason of
/// the close.
class stream_protocol final : public protocol {
public:
    /// @param upgraded  The result of the upgrade to WebSocket; null: no WebSocket.
    stream_protocol(connection& over, std::unique_ptr<web_handshake::terms> upgraded) noexcept
        : control_(over), upgraded_(std::move(upgraded)), is_web_(upgraded_ != nullptr) {}

    result<progress> start() override { return progress::established; }
    pipe_terms terms() const noexcept override;
    reading make_reading() override;
    void announce_peer() override;
    bool has_heartbeats() const noexcept override { return is_web_; }
    void send_ping(wire::zmtp::heartbeat_ttl) override { control_.send_ping(); }
    void on_control(pipe::block& object) override;
    bool has_close_frames() const noexcept override { return is_web_; }
    void send_close(std::uint16_t code, std::string_view reason) override {
        control_.send_close(code, reason);
    }
    bool awaits_peer_close() const noexcept override { return true; }
    void announce_departure(errc reason) noexcept override;

private:
    connection& over() const noexcept { return control_.over(); }
    void send_file(files::file_region region);
    std::optional<codec::peer_deflation> peers_deflation() const noexcept;

    websocket_control control_;                      ///< Unused without WebSocket.
    std::unique_ptr<web_handshake::terms> upgraded_; ///< Until the first message.
    bool is_web_;
};

} // namespace zlink::session
