// SPDX-License-Identifier: MPL-2.0
#include "session/stream_protocol.hpp"

#include "base/limits.hpp"
#include "codec/length_scanner.hpp"
#include "codec/websocket_scanner.hpp"
#include "files/sent_file.hpp"
#include "pipe/close_request.hpp"
#include "session/close_reason.hpp"
#include "session/connection.hpp"
#include "session/session.hpp"
#include "session/zmtp_commands.hpp"
#include "transport/address.hpp"
#include "wire/length/frame.hpp"
#include "wire/websocket/frame.hpp"

#include <algorithm>
#include <array>
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
        .account = over().call().inflated};
}

reading stream_protocol::make_reading() {
    const std::uint64_t body_bytes_max = body_bytes_max_of(over().options());
    reading chosen{.is_one_of_many = true};
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
    std::string detail = transport::peer_endpoint_text(over().stream().peer(), over().call().where);
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

/// All earlier messages are written, and the application sends a file, or has closed this peer.
void stream_protocol::on_control(pipe::block& object) {
    if (files::sent_file* const sent = files::sent_file::from(object)) {
        return send_file(std::move(sent->region));
    }
    over().close_for(static_cast<const pipe::close_request&>(object));
}

/// Writes it as one frame. Only where frames are not masked.
void stream_protocol::send_file(files::file_region region) {
    std::vector<std::byte>& own = over().output().own();
    std::array<std::byte, wire::websocket::header_bytes_max> header;
    const std::size_t header_bytes =
        is_web_ ? pipe::websocket_layout::write_header(header.data(), region.bytes, 0)
                : pipe::length_layout::write_header(header.data(), region.bytes, 0);
    own.insert(own.end(), header.begin(), header.begin() + header_bytes);
    over().output().append_file(std::move(region));
}

void stream_protocol::announce_departure(errc reason) noexcept {
    if (over().owner().is_socket_closed() || over().end().has_ended()) {
        return;
    }
    // A proper close ends the message first; WebSocket also has a close frame (RFC 6455, 7.1.5).
    const bool is_unannounced = reason == errc{} && (is_web_ || !over().input().is_idle());
    over().input().drop_unfinished();
    const close_code code =
        is_unannounced ? close_code::abnormal : close_code_of(reason, close_code::abnormal);
    over().announce_departure(static_cast<int>(code), text_of(reason));
}

} // namespace zlink::session
