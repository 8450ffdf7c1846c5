// SPDX-License-Identifier: MPL-2.0
//
// What a session does for a STREAM: its peers speak no ZMTP, and each connection has a pipe of its
// own, which begins with what is known of the peer and ends with why it went.
#include "session/session.hpp"

#include "base/limits.hpp"
#include "transport/address.hpp"
#include "wire/websocket/close.hpp"

#include <cerrno>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

namespace zlink::session {

using wire::websocket::close_code;

namespace {

/// Why a connection ended of which neither side said why.
close_code code_of(errc reason) noexcept {
    switch (static_cast<int>(reason)) {
    case 0:
        return close_code::normal;
    case EPROTO:
        return close_code::protocol_error;
    case EMSGSIZE:
        return close_code::too_large;
    case EILSEQ:
        return close_code::invalid_payload;
    case ENOMEM:
        return close_code::internal_error;
    default:
        return close_code::abnormal;
    }
}

std::string_view text_of(errc reason) noexcept {
    switch (static_cast<int>(reason)) {
    case 0:
        return "closed by the peer";
    case EPROTO:
        return "protocol violation";
    case EMSGSIZE:
        return "message too large";
    case EILSEQ:
        return "text is no UTF-8";
    default:
        break;
    }
    const char* const known = ::strerrordesc_np(static_cast<int>(reason));
    return known != nullptr ? known : "unknown error";
}

} // namespace

/// How the frames of this session's pipe lie.
pipe::layout session::frames() const noexcept {
    if (!is_framed()) {
        return pipe::layout::zmtp;
    }
    if (!is_web(origin_->where.via)) {
        return pipe::layout::length;
    }
    return dialing_ ? pipe::layout::masked_websocket : pipe::layout::websocket;
}

void session::adopt_stream_peer() {
    auto peer = std::make_unique<pipe::peer_info>();
    peer->properties.add(pipe::detail_property, stream_detail());
    announce_peer(std::move(peer));
}

/// What the application receives of a new peer: where it is.
std::string session::stream_detail() const {
    return transport::peer_endpoint_text(stream_->descriptor(), origin_->where);
}

/// Tells the socket why the connection ended, behind all that was received. Without memory for that
/// it learns only that it did.
void session::take_leave_of_stream(errc reason) noexcept {
    if (phase_ == phase::closing) {
        return;
    }
    inbound_->reset();
    try {
        const std::string text = farewell_
                                     ? std::to_string(farewell_->code) + " " + farewell_->reason
                                     : std::to_string(static_cast<int>(code_of(reason))) + " " +
                                           std::string(text_of(reason));
        auto left = std::make_unique<pipe::peer_info>();
        left->properties.add(pipe::reason_property, text);
        end_->push_control(left.release());
    } catch (const std::bad_alloc&) {
    }
    farewell_.reset();
}

/// The application wants no more of this peer, and all that was sent before is written.
void session::part(const pipe::close_request& asked) {
    if (phase_ != phase::open) {
        return;
    }
    farewell_ = std::make_unique<farewell>(asked.code, asked.reason);
    phase_ = phase::parting;
    start_timer(timer_, limits::parting_max, &session::on_parting_deadline);
    // Closed at once, the connection would be reset by what the peer sends meanwhile, and the peer
    // might not read what we sent last.
    stream_->end_writing();
}

void session::on_parting_deadline() noexcept {
    if (state_ == session_state::traffic) {
        lost(static_cast<errc>(ETIMEDOUT));
    }
}

} // namespace zlink::session
