// SPDX-License-Identifier: MPL-2.0
//
// What a session does for a STREAM: its peers speak no ZMTP, and each connection has a pipe of its
// own, which begins with what is known of the peer and ends with why it went.
#include "session/session.hpp"

#include "base/limits.hpp"
#include "base/random_octets.hpp"
#include "session/close_reason.hpp"
#include "transport/address.hpp"
#include "wire/websocket/close.hpp"
#include "wire/websocket/frame.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

namespace zlink::session {

using wire::websocket::close_code;
using wire::websocket::opcode;

namespace {

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
    case EBADMSG:
        return "compressed data is corrupt";
    case ENOBUFS:
        return "no memory for what compressed data comes to";
    case ENOMSG:
        return "text where only binary is taken";
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

/// How we compress, and the peer; nothing if that was not agreed. While the upgrade is at hand.
std::optional<wire::websocket::deflate_direction> session::own_deflation() const noexcept {
    if (!upgrade_ || !upgrade_->agreed().deflate) {
        return {};
    }
    return dialing_ ? upgrade_->agreed().deflate->client : upgrade_->agreed().deflate->server;
}

std::optional<codec::peer_deflation> session::peers_deflation() const noexcept {
    if (!upgrade_ || !upgrade_->agreed().deflate) {
        return {};
    }
    const auto& agreed = *upgrade_->agreed().deflate;
    const bool is_limited = options().message_bytes_max >= 0;
    return codec::peer_deflation{
        .how = dialing_ ? agreed.server : agreed.client,
        .message_bytes_max = is_limited ? static_cast<std::uint64_t>(options().message_bytes_max)
                                        : limits::inflated_message_bytes_max,
        .account = origin_->inflated};
}

void session::adopt_stream_peer() {
    auto peer = std::make_unique<pipe::peer_info>();
    std::string detail = transport::peer_endpoint_text(stream_->peer(), origin_->where);
    const auto add = [&](std::string_view name, const std::string& value) {
        if (!value.empty()) {
            peer->properties.add(name, value);
            detail.append("\n").append(name).append(": ").append(value);
        }
    };
    if (upgrade_) {
        add(pipe::path_property, upgrade_->agreed().target);
        add(pipe::origin_property, upgrade_->agreed().origin);
        add(pipe::subprotocol_property, upgrade_->agreed().subprotocol);
        add(pipe::extensions_property, upgrade_->agreed().extensions);
        upgrade_.reset();
    }
    peer->properties.add(pipe::detail_property, detail);
    announce_peer(std::move(peer));
}

/// Tells the socket why the connection ended, behind all that was received. Without memory for that
/// it learns only that it did.
void session::take_leave_of_stream(errc reason) noexcept {
    if (phase_ == phase::closing || has_told_socket()) {
        return;
    }
    // Who leaves finishes the message, and says so first over WebSocket (RFC 6455, 7.1.5).
    const bool is_unannounced = reason == errc{} && (speaks_websocket() || !inbound_->is_idle());
    inbound_->reset();
    const close_code code =
        is_unannounced ? close_code::abnormal : close_code_of(reason, close_code::abnormal);
    try {
        const std::string text =
            farewell_ ? std::to_string(farewell_->code) + " " + farewell_->reason
                      : std::to_string(static_cast<int>(code)) + " " + std::string(text_of(reason));
        auto left = std::make_unique<pipe::departure>(origin_->departures);
        left->properties.add(pipe::reason_property, text);
        end_->push_control(left.release());
    } catch (const std::bad_alloc&) {
    }
}

// The end.

/// The application wants no more of this peer, and all that was sent before is written.
void session::part(const pipe::close_request& asked) {
    farewell said{.code = asked.code, .reason = asked.reason, .is_asked_for = true};
    if (phase_ == phase::open) {
        begin_parting(std::move(said));
    } else if (phase_ == phase::closing && !farewell_) {
        say_farewell(std::move(said));
        if (speaks_websocket()) {
            send_close(farewell_->code, farewell_->reason);
        }
    } else if (phase_ == phase::ended) {
        farewell_ = std::make_unique<farewell>(std::move(said));
        if (speaks_websocket()) {
            send_close(farewell_->code, farewell_->reason);
            write_prefix();
        }
        lost({}); // It has gone as far as it can by itself.
    }
}

/// From now on the peer has limits::parting_max to go.
void session::say_farewell(farewell said) {
    farewell_ = std::make_unique<farewell>(std::move(said));
    start_timer(timer_, limits::parting_max, &session::on_parting_deadline);
}

/// Tells the peer why the connection ends, as far as its transport can. Closed at once, the
/// connection would be reset by what the peer sends meanwhile, and the peer might not read what we
/// sent last.
void session::begin_parting(farewell said) {
    say_farewell(std::move(said));
    phase_ = phase::parting;
    if (speaks_websocket()) {
        send_close(farewell_->code, farewell_->reason);
    } else {
        farewell_->is_mutual = true;
    }
}

/// The peer broke its protocol, or a limit: it is told, and what else it sends is discarded.
void session::break_off(errc reason) {
    if (!speaks_websocket() || phase_ != phase::open || state_ != session_state::traffic) {
        return lost(reason);
    }
    const close_code code = close_code_of(reason, close_code::abnormal);
    begin_parting({.code = static_cast<std::uint16_t>(code),
                   .reason = std::string(text_of(reason)),
                   .is_mutual = true});
    write_some();
    if (state_ == session_state::traffic && stream_) {
        read_messages();
    }
}

/// Whether nothing more is written: the peer was told that the connection ends. Where it has said
/// so, too, it also learns that nothing follows.
bool session::is_done_writing() {
    if (!farewell_ || !prefix_.empty()) {
        return false;
    }
    if (farewell_->is_mutual && !std::exchange(farewell_->has_ended_writing, true)) {
        stream_->end_writing();
    }
    return true;
}

/// Whether both sides have said that the connection ends, and it is the server, we, who closes it
/// (RFC 6455, 7.1.1).
bool session::is_parted() const noexcept {
    return farewell_->is_answered && !dialing_;
}

void session::on_done_writing() {
    if (phase_ != phase::parting || !is_parted()) {
        return finish_if_drained();
    }
    if (stream_->holds_unsent()) {
        return stream_->wait_writable(*this);
    }
    lost({});
}

void session::on_parting_deadline() noexcept {
    if (state_ == session_state::traffic) {
        lost(static_cast<errc>(ETIMEDOUT));
    }
}

/// The peer sends nothing any more, but may read on (RFC 9293, 3.6). What waits for it goes out
/// before the socket is told that it has gone.
void session::on_peer_ended() {
    if (!is_framed() || phase_ != phase::open || !is_writable_ || !has_unsent()) {
        return lost({});
    }
    phase_ = phase::ended;
    write_some();
    if (phase_ == phase::ended && stream_) { // It has not gone meanwhile.
        is_answered_ = false;
        watch_progress();
    }
}

void session::watch_progress() {
    start_timer(timer_, limits::half_closed_pause_max, &session::on_progress_due);
}

void session::on_progress_due() noexcept {
    guarded([this] {
        if (phase_ != phase::ended) {
            return; // The socket has let go meanwhile, and has limits of its own.
        }
        if (!std::exchange(is_answered_, false)) {
            return lost(static_cast<errc>(ETIMEDOUT));
        }
        watch_progress();
    });
}

/// Why the application wants the end of this connection; null if it does not.
const pipe::close_request* session::last_word() const noexcept {
    return end_ ? static_cast<const pipe::close_request*>(
                      end_->whole().last_word.load(std::memory_order_acquire))
                : nullptr;
}

/// The application has asked for the end of this connection, behind what waits. That is not for as
/// long as the peer likes.
void session::await_parting() {
    if (state_ == session_state::traffic) {
        start_timer(linger_timer_, last_word()->longest, &session::on_closing_late);
    }
}

void session::on_closing_late() noexcept {
    guarded([this] { phase_ == phase::closing ? finish() : cut_off(); });
}

/// Ends the connection now. The peer is told why if it has taken everything so far; if not, it is
/// told by a reset that something is missing.
void session::cut_off() {
    if (state_ != session_state::traffic || !stream_) {
        return;
    }
    const bool is_behind =
        has_unsent() || stream_->holds_unsent() || transport::holds_unsent(stream_->descriptor());
    const bool may_say_why =
        speaks_websocket() && !is_behind && is_writable_ && phase_ != phase::parting;
    const pipe::close_request& asked = *last_word();
    farewell_ = std::make_unique<farewell>(
        farewell{.code = asked.code, .reason = asked.reason, .is_asked_for = true});
    if (may_say_why) {
        send_close(farewell_->code, farewell_->reason);
        write_prefix();
    }
    if (is_behind && stream_) {
        transport::reset_when_closed(stream_->descriptor());
    }
    lost({});
}

/// The socket has let go, and all that it sent is written, or dropped: says so to the peer, once.
void session::go_away() {
    if (state_ != session_state::traffic || !speaks_websocket() || farewell_ || !is_writable_) {
        return;
    }
    say_farewell({});
    send_close(static_cast<std::uint16_t>(close_code::going_away), {});
    write_prefix();
}

/// The socket has let go, and all is written. Closed at once, the connection would be reset by what
/// the peer sends meanwhile, and the peer might not read what we sent last: so it is told that
/// nothing follows, and what it sends is discarded until it goes.
void session::see_off() {
    if (!farewell_) {
        say_farewell({});
    }
    farewell_->is_seen_off = true;
    if (!std::exchange(farewell_->has_ended_writing, true)) {
        stream_->end_writing();
    }
    if (is_parted() || !discard_arrived()) {
        return finish();
    }
    stream_->wait_readable(*this);
}

/// The socket has been told that the peer goes, which now does, or is late.
void session::await_end() {
    if (!discard_arrived()) {
        return lost({});
    }
    stream_->wait_readable(*this);
}

/// @return Whether the peer may send more.
bool session::discard_arrived() {
    const auto scratch = thread_.scratch();
    const iovec room{scratch.data(), scratch.size()};
    for (std::size_t bytes = 0; bytes < limits::turn_bytes_max;) {
        const transport::io_outcome outcome = stream_->try_read({&room, 1});
        if (outcome.what != transport::io_outcome::status::moved) {
            return outcome.what == transport::io_outcome::status::would_block;
        }
        bytes += outcome.bytes;
    }
    return true;
}

// WebSocket.

void session::start_upgrade() {
    using role = web_handshake::role;
    advance(session_state::upgrade);
    upgrade_ = std::make_unique<web_handshake>(dialing_ ? role::client : role::server,
                                               origin_->where, options());
    upgrade_->start(prefix_);
    stream_->wait_readable(*this);
    write_some();
}

void session::continue_upgrade(std::span<const std::byte> octets) {
    const result<void> taken = upgrade_->on_received(octets, prefix_);
    if (taken && upgrade_->is_complete()) {
        return is_framed() ? enter_traffic(octets) : start_zws(octets);
    }
    write_some(); // After a failure: an answer that says why, as far as the kernel takes it.
    if (!taken) {
        if (stream_) { // Writing may have found it gone.
            stream_->end_writing();
        }
        return lost(taken.error());
    }
    if (state_ == session_state::upgrade) {
        stream_->wait_readable(*this);
    }
}

void session::on_websocket_ping(std::span<const std::byte> payload) {
    ++control_count_;
    if (may_send_control()) {
        send_control(opcode::pong, payload);
    }
}

void session::on_ping_due() {
    if (may_send_control()) {
        send_control(opcode::ping, {});
    }
}

/// Whether a ping or pong may be sent: the peer reads what is sent, and is not told to go.
bool session::may_send_control() const noexcept {
    return phase_ == phase::open && prefix_.size() < limits::unread_answers_bytes_max;
}

void session::on_websocket_close(const wire::websocket::close_view& said) {
    if (state_ != session_state::traffic) {
        return; // Of ZWS, which looks itself.
    }
    if (phase_ == phase::open) {
        begin_parting({.code = static_cast<std::uint16_t>(said.code),
                       .reason = std::string(said.reason),
                       .is_mutual = true,
                       .is_answered = true});
    } else if (farewell_) {
        farewell_->is_mutual = farewell_->is_answered = true;
    }
    thread_.post([self = boost::intrusive_ptr<session>(this)] { self->on_answered(); });
}

/// The peer has said that it goes: it sends nothing more, and reads nothing more (RFC 6455, 5.5.1).
/// A STREAM is told now, and what waits there for the peer is dropped; we see to the rest. But if
/// it is drained we would not be told of its end without the pipe. A pattern's frame that has begun
/// stays cut off: finished, it would count as sent, to a peer that may go just because of it.
void session::on_answered() noexcept {
    const bool is_parting = state_ == session_state::traffic && phase_ == phase::parting;
    if (is_parting && !is_framed()) {
        close_shortcut();
        if (is_inside_frame()) {
            return lost({});
        }
    }
    if (is_framed() && is_parting && !origin_is_gone_) {
        take_leave_of_stream({});
        farewell_->is_told = true;
        settle_accounts();
        end_->close();
    }
    on_writable();
    if (has_told_socket()) {
        on_readable();
    }
}

/// Sends a close frame: with the code of the peer's, if this is the answer to one.
void session::send_close(std::uint16_t code, std::string_view reason) {
    std::array<std::byte, wire::websocket::close_payload_bytes_max> payload;
    const std::string_view said = farewell_->is_mutual ? std::string_view{} : reason;
    const auto bytes = wire::websocket::encode_close(payload, static_cast<close_code>(code), said);
    send_control(opcode::close, std::span{payload}.first(bytes ? *bytes : 0));
}

/// Sends a control frame before the next message.
void session::send_control(opcode kind, std::span<const std::byte> payload) {
    using namespace wire::websocket;
    payload = payload.first(std::min(payload.size(), control_payload_bytes_max));
    std::array<std::byte, header_bytes_max + control_payload_bytes_max> frame;
    std::size_t bytes = 0;
    if (dialing_) {
        const mask_key key = random_octets();
        bytes = write_masked_header(frame.data(), kind, payload.size(), key);
        copy_masked(frame.data() + bytes, payload, key);
    } else {
        bytes = write_header(frame.data(), kind, payload.size());
        std::copy(payload.begin(), payload.end(), frame.data() + bytes);
    }
    prefix_.insert(prefix_.end(), frame.data(), frame.data() + bytes + payload.size());
    write_soon();
}

} // namespace zlink::session
