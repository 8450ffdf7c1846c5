// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "codec/inbound.hpp"
#include "codec/zws_decoder.hpp"
#include "session/admission.hpp"
#include "session/protocol.hpp"
#include "session/web_handshake.hpp"
#include "session/websocket_control.hpp"
#include "session/zmtp_commands.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace zlink::session {

/// ZMTP over WebSocket, for the patterns (45/ZWS): after the upgrade the mechanism's commands, or
/// the identities, travel in ZWS frames, as messages do later.
class zws_protocol final : public protocol {
public:
    /// @param upgraded  The result of the upgrade.
    zws_protocol(connection& over, web_handshake::terms upgraded);

    result<progress> start() override;
    result<progress> on_received(std::span<const std::byte>& received) override;
    void on_refused(errc reason) override;
    void tell_failure(errc reason) noexcept override;
    reading make_reading() override;
    std::unique_ptr<codec::encoder> make_encoder() override;
    void announce_peer() override;
    std::span<const std::byte> first_frame() const noexcept override;
    bool has_heartbeats() const noexcept override { return true; }
    void on_begun() noexcept override { beginning_.reset(); }
    verdict on_command(std::span<const std::byte> body) noexcept override;
    void announce_departure(errc) noexcept override { tell_end(over()); }
    void send_ping(wire::zmtp::heartbeat_ttl) override { control_.send_ping(); }
    bool has_close_frames() const noexcept override { return true; }
    void send_close(std::uint16_t code, std::string_view reason) override {
        control_.send_close(code, reason);
    }

private:
    /// State needed until the first message.
    struct beginning {
        beginning(connection& over, web_handshake::terms agreed_on);

        web_handshake::terms upgraded;
        admission letting_in;
        std::unique_ptr<codec::zws_decoder> decoder{}; ///< Also for handshake frames.
    };

    connection& over() const noexcept { return control_.over(); }

    websocket_control control_;
    std::unique_ptr<beginning> beginning_;
};

} // namespace zlink::session
