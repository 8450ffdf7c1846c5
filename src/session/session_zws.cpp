// SPDX-License-Identifier: MPL-2.0
//
// What a session does for a pattern over ws and wss: behind the upgrade the mechanism's commands,
// or the identities, travel in frames of ZWS, as messages do later (45/ZWS).
#include "session/session.hpp"

#include "codec/zws_decoder.hpp"
#include "session/close_reason.hpp"
#include "session/zws.hpp"
#include "wire/websocket/close.hpp"
#include "wire/websocket/frame.hpp"
#include "wire/zmtp/curve.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

namespace zlink::session {

using wire::websocket::close_code;
using wire::websocket::opcode;

namespace {

/// The largest body of a frame. One that is encrypted is larger than the message in it.
std::uint64_t zws_body_bytes_max_of(const socket_options& options) noexcept {
    if (options.message_bytes_max < 0) {
        return wire::zws::body_bytes_limit;
    }
    const auto message_bytes_max = static_cast<std::uint64_t>(options.message_bytes_max);
    // Commands of the handshake are no messages.
    return std::max(message_bytes_max, limits::handshake_command_bytes_max) +
           wire::zmtp::curve_message_overhead_bytes;
}

} // namespace

/// What input_ is from start_zws() on, to the end of the connection.
codec::zws_decoder& session::zws() noexcept {
    return static_cast<codec::zws_decoder&>(*input_);
}

/// @param rest  What was received behind the upgrade.
void session::start_zws(std::span<const std::byte> rest) {
    using wire::websocket::sender;
    advance(session_state::handshake);
    input_ = std::make_unique<codec::zws_decoder>(dialing_ ? sender::server : sender::client,
                                                  zws_body_bytes_max_of(options()),
                                                  static_cast<codec::websocket_sink&>(*this));
    handshake_ = std::make_unique<security::handshake>(options());
    const bool has_mechanism = upgrade_->agreed().subprotocol != zws_bare;
    const result<void> started =
        step_handshake([&](auto& out) { return handshake_->start_upgraded(has_mechanism, out); });
    if (!started) {
        return after_step(started, {});
    }
    continue_zws(rest);
}

void session::continue_zws(std::span<const std::byte> octets) {
    const result<void> taken = take_zws_frames(octets);
    if (taken) {
        if (auto question = handshake_->take_question(); question) {
            return ask_zap(*question);
        }
    }
    after_step(taken, octets);
}

/// Takes frames of the handshake off the front of `octets`, until it is complete.
result<void> session::take_zws_frames(std::span<const std::byte>& octets) {
    while (!handshake_->is_complete() && !octets.empty()) {
        secret_octets frames;
        if (const result<void> taken = zws().take_frame(octets, frames); !taken) {
            return taken.error();
        }
        if (zws().is_over()) {
            return static_cast<errc>(EPIPE); // The peer closes.
        }
        std::span<const std::byte> unread{frames};
        const result<void> taken =
            step_handshake([&](auto& out) { return handshake_->on_received(unread, out); });
        if (!taken) {
            return taken.error();
        }
    }
    return {};
}

/// Takes a step of the handshake, and has what it says sent in the frames of this connection.
result<void> session::step_handshake(const handshake_step& step) {
    if (!speaks_zws()) {
        return step(prefix_);
    }
    std::vector<std::byte> said;
    const result<void> taken = step(said);
    append_as_zws(said, dialing_ != nullptr, prefix_);
    wipe(said); // There may be a password in it.
    return taken;
}

/// The handshake has failed: the peer is told why, behind what the mechanism said.
void session::refuse_zws(errc reason) {
    std::array<std::byte, wire::websocket::close_payload_bytes_max> payload;
    const close_code code = reason == static_cast<errc>(EPIPE)
                                ? close_code::normal
                                : close_code_of(reason, close_code::policy_violation);
    const auto bytes = wire::websocket::encode_close(payload, code);
    send_control(opcode::close, std::span{payload}.first(bytes ? *bytes : 0));
}

/// Adds what the upgrade tells of the peer.
void session::describe_upgrade(pipe::peer_info& peer) {
    pipe::property_list told; // Before what the peer says of itself.
    const web_handshake::terms& agreed = upgrade_->agreed();
    told.add(pipe::path_property, agreed.target);
    if (!agreed.origin.empty()) {
        told.add(pipe::origin_property, agreed.origin);
    }
    told.add(pipe::subprotocol_property, agreed.subprotocol);
    peer.properties.prepend(told);
    upgrade_.reset();
}

} // namespace zlink::session
