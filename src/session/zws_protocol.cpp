// SPDX-License-Identifier: MPL-2.0
#include "session/zws_protocol.hpp"

#include "base/limits.hpp"
#include "base/secret.hpp"
#include "codec/curve_decoder.hpp"
#include "session/close_reason.hpp"
#include "session/connection.hpp"
#include "session/zmtp_commands.hpp"
#include "session/zws.hpp"
#include "wire/websocket/close.hpp"
#include "wire/zmtp/curve.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace zlink::session {

using framing = codec::frame_encoder::framing;
using progress = protocol::progress;
using wire::websocket::close_code;
using wire::websocket::sender;

namespace {

/// The largest body of a frame. An encrypted frame is larger than its message.
std::uint64_t zws_body_bytes_max_of(const socket_options& options) noexcept {
    if (options.message_bytes_max < 0) {
        return wire::zws::body_bytes_limit;
    }
    const auto message_bytes_max = static_cast<std::uint64_t>(options.message_bytes_max);
    // Handshake commands are not messages.
    return std::max(message_bytes_max, limits::handshake_command_bytes_max) +
           wire::zmtp::curve_message_overhead_bytes;
}

} // namespace

zws_protocol::beginning::beginning(connection& over, web_handshake::terms agreed_on)
    : upgraded(std::move(agreed_on)),
      letting_in(over, over.is_dialing() ? framing::masked_zws : framing::zws) {}

zws_protocol::zws_protocol(connection& over, web_handshake::terms upgraded)
    : control_(over), beginning_(std::make_unique<beginning>(over, std::move(upgraded))) {}

result<progress> zws_protocol::start() {
    beginning_->decoder =
        std::make_unique<codec::zws_decoder>(over().is_dialing() ? sender::server : sender::client,
                                             zws_body_bytes_max_of(over().options()), control_);
    return beginning_->letting_in.start_upgraded(beginning_->upgraded.subprotocol != zws_bare);
}

/// Processes handshake frames until the handshake is complete.
result<progress> zws_protocol::on_received(std::span<const std::byte>& received) {
    codec::zws_decoder& decoder = *beginning_->decoder;
    while (!received.empty()) {
        secret_bytes frames;
        if (const result<void> taken = decoder.take_frame(received, frames); !taken) {
            return taken.error();
        }
        if (decoder.is_over()) {
            return static_cast<errc>(EPIPE); // The peer has sent a close frame.
        }
        std::span<const std::byte> unread{frames};
        const result<progress> step = beginning_->letting_in.take(unread);
        if (!step || *step == progress::established) {
            return step;
        }
    }
    return beginning_->letting_in.ask_after(progress::waits);
}

/// Sends the peer the reason, behind the mechanism's output.
void zws_protocol::on_refused(errc reason) {
    const close_code code = reason == static_cast<errc>(EPIPE)
                                ? close_code::normal
                                : close_code_of(reason, close_code::policy_violation);
    send_close(static_cast<std::uint16_t>(code), {});
}

void zws_protocol::tell_failure(errc reason) noexcept {
    if (beginning_) {
        beginning_->letting_in.tell_failure(reason);
    }
}

reading zws_protocol::make_reading() {
    reading chosen = zmtp_reading(over().options(), *this);
    if (crypto::curve_ciphers* const ciphers = beginning_->letting_in.ciphers()) {
        beginning_->decoder->pass_through(
            std::make_unique<codec::curve_decoder>(ciphers->opener, chosen.body_bytes_max));
    }
    chosen.decoder = std::move(beginning_->decoder);
    return chosen;
}

std::unique_ptr<codec::encoder> zws_protocol::make_encoder() {
    return beginning_->letting_in.make_encoder();
}

void zws_protocol::announce_peer() {
    const web_handshake::terms& upgraded = beginning_->upgraded;
    std::unique_ptr<pipe::peer_info> peer = beginning_->letting_in.agreed().take_peer();
    pipe::property_list told; // First, before the peer's own claims.
    told.add(pipe::path_property, upgraded.target);
    if (!upgraded.origin.empty()) {
        told.add(pipe::origin_property, upgraded.origin);
    }
    told.add(pipe::subprotocol_property, upgraded.subprotocol);
    peer->properties.prepend(told);
    over().announce(std::move(peer));
    over().tell(connection_event::handshake_succeeded, 0);
}

std::span<const std::byte> zws_protocol::first_frame() const noexcept {
    return first_frame_of(over().options(), beginning_->letting_in.agreed().filters_by_itself());
}

zws_protocol::verdict zws_protocol::on_command(std::span<const std::byte> body) noexcept {
    return on_zmtp_command(over(), body, false); // WebSocket has its own pings.
}

} // namespace zlink::session
