// SPDX-License-Identifier: MPL-2.0
#include "session/stream_protocol.hpp"

#include "base/limits.hpp"
#include "codec/length_scanner.hpp"
#include "codec/websocket_scanner.hpp"
#include "pipe/close_request.hpp"
#include "session/close_reason.hpp"
#include "session/connection.hpp"
#include "session/session.hpp"
#include "session/zmtp_commands.hpp"
#include "transport/address.hpp"
#include "wire/length/frame.hpp"
#include "wire/websocket/frame.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

namespace zlink::session {

using wire::websocket::close_code;
using wire::websocket::sender;

pipe_terms stream_protocol::terms() const noexcept {
    if (!is_web_) {
        return {.frames = pipe::layout::length};
    }
    pipe_terms chosen{.frames = over().is_dialing() ? pipe::layout::masked_websocket
                                                    : pipe::layout::websocket};
    if (const auto& deflate = upgraded_->deflate) {
        chosen.deflation = over().is_dialing() ? deflate->client : deflate->server;
    }
    return chosen;
}

/// The peer's compression parameters; empty: no compression.
std::optional<codec::peer_deflation> stream_protocol::peers_deflation() const noexcept {
    if (!upgraded_->deflate) {
        return {};
    }
    const std::int64_t message_bytes_max = over().options().message_bytes_max;
    return codec::peer_deflation{
        .how = over().is_dialing() ? upgraded_->deflate->server : upgraded_->deflate->client,
        .message_bytes_max = message_bytes_max >= 0 ? static_cast<std::uint64_t>(message_bytes_max)
                                                    : limits::inflated_message_bytes_max,
        .account = over().origin().inflated};
}

reading stream_protocol::make_reading() {
    const std::uint64_t body_bytes_max = body_bytes_max_of(over().options());
    reading chosen{.serves_many = true};
    if (is_web_) {
        chosen.frames = std::make_unique<codec::websocket_scanner>(
            over().is_dialing() ? sender::server : sender::client,
            std::min(body_bytes_max, wire::websocket::payload_bytes_limit), control_,
            peers_deflation());
    } else {
        chosen.frames = std::make_unique<codec::length_scanner>(
            std::min(body_bytes_max, wire::length::body_bytes_limit));
    }
    return chosen;
}

void stream_protocol::announce_peer() {
    auto peer = std::make_unique<pipe::peer_info>();
    std::string detail =
        transport::peer_endpoint_text(over().stream().peer(), over().origin().where);
    const auto add = [&](std::string_view name, const std::string& value) {
        if (!value.empty()) {
            peer->properties.add(name, value);
            detail.append("\n").append(name).append(": ").append(value);
        }
    };
    if (const std::unique_ptr<web_handshake::terms> agreed = std::move(upgraded_)) {
        add(pipe::path_property, agreed->target);
        add(pipe::origin_property, agreed->origin);
        add(pipe::subprotocol_property, agreed->subprotocol);
        add(pipe::extensions_property, agreed->extensions);
    }
    peer->properties.add(pipe::detail_property, detail);
    over().announce(std::move(peer));
}

/// The application has closed this peer, and all earlier messages are written.
void stream_protocol::on_control(const pipe::block& object) {
    over().close_for(static_cast<const pipe::close_request&>(object));
}

/// Queues the reason of the close for the socket, behind all received messages.
void stream_protocol::announce_departure(errc reason) noexcept {
    if (over().owner().is_socket_closed() || over().end().has_ended()) {
        return;
    }
    // A proper close ends the message first; WebSocket also has a close frame (RFC 6455, 7.1.5).
    const bool is_unannounced = reason == errc{} && (is_web_ || !over().input().is_idle());
    over().input().drop_unfinished();
    const close_code code =
        is_unannounced ? close_code::abnormal : close_code_of(reason, close_code::abnormal);
    const close_handshake* const said = over().closing();
    try {
        const std::string text =
            said != nullptr && !said->is_half_closed()
                ? std::to_string(said->code()) + " " + said->reason()
                : std::to_string(static_cast<int>(code)) + " " + std::string(text_of(reason));
        auto left = std::make_unique<pipe::departure>(over().origin().departures);
        left->properties.add(pipe::reason_property, text);
        over().end().push_control(left.release());
    } catch (const std::bad_alloc&) {
    }
}

} // namespace zlink::session
