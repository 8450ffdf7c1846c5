// SPDX-License-Identifier: MPL-2.0
#include "session/session.hpp"

#include "base/assert.hpp"
#include "transport/address.hpp"
#include "transport/descriptor_stream.hpp"
#include "transport/guest_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace zlink::session {

using namespace std::chrono_literals;

namespace {

/// Whether an upgrade failed by what was said, and not for want of an answer.
bool is_refusal(errc reason) noexcept {
    return reason == errc::protocol_violation || reason == errc::message_too_large ||
           reason == errc::permission_denied;
}

} // namespace

void session::dial(runtime::io_thread& thread, std::shared_ptr<const session_origin> origin,
                   endpoint target, pipe::end_ptr end) {
    auto by = transport::make_dialer(thread.context(), std::move(target), origin->options,
                                     origin->observer);
    dial(thread, std::move(origin), std::move(by), std::move(end));
}

void session::dial(runtime::io_thread& thread, std::shared_ptr<const session_origin> origin,
                   transport::dialer_ptr by, pipe::end_ptr end) {
    const socket_options& chosen = *origin->options;
    std::unique_ptr<dialing> plan{
        new dialing{.dialer = std::move(by),
                    .pauses = runtime::backoff{milliseconds(std::max(chosen.reconnect_interval, 0)),
                                               milliseconds(chosen.reconnect_interval_max)},
                    .announced = {}}};
    // A session that is made also starts.
    boost::intrusive_ptr<session> made{new session(thread, std::move(origin), std::move(end))};
    made->dialing_ = std::move(plan);
    thread.post([made] {
        made->become_resident();
        made->guarded([&] { made->dial_now(); });
        // The socket may have let go before this session could be told.
        if (made->end_ && made->end_->is_dismissed()) {
            made->on_dismissed();
        }
        if (made->end_ && made->end_->peer_is_closed()) {
            made->on_socket_closed();
        }
    });
}

void session::accept(runtime::io_thread& thread, std::shared_ptr<const session_origin> origin,
                     int descriptor, transport::guest_ptr who) {
    boost::intrusive_ptr<session> made{new session(thread, std::move(origin), {})};
    thread.post([made, descriptor, who = std::move(who)] {
        made->become_resident();
        made->guarded([&] {
            made->start_stream(transport::make_guest_stream(
                transport::make_descriptor_stream(made->thread_.context(), descriptor), who,
                made->options().proxy_protocol));
        });
    });
}

void session::accept(runtime::io_thread& thread, std::shared_ptr<const session_origin> origin,
                     transport::stream_ptr connected) {
    boost::intrusive_ptr<session> made{new session(thread, std::move(origin), {})};
    thread.post([made, connected = std::move(connected)] {
        made->become_resident();
        made->guarded([&] { made->start_stream(connected); });
    });
}

session::session(runtime::io_thread& thread, std::shared_ptr<const session_origin> origin,
                 pipe::end_ptr end)
    : thread_(thread), origin_(std::move(origin)), end_(std::move(end)),
      arrival_(origin_->host->next_arrival()) {
    if (end_) {
        make_inbound();
        make_outbound();
        end_->set_home(thread_.mailbox(),
                       this); // Last: nothing may fail once we are told of events.
    }
    thread_.load.fetch_add(1, std::memory_order_relaxed);
}

session::~session() {
    ZLINK_DEBUG_ASSERT(state_ == session_state::closed);
}

void session::become_resident() {
    thread_.add_tenant(*this, origin_->id);
    intrusive_ptr_add_ref(this); // Until finish(): it may wait for nothing.
}

void session::advance(session_state next) noexcept {
    ZLINK_ASSERT(state_ != session_state::closed);
    state_ = next;
}

// The socket's side.

void session::on_events(std::uint32_t happened) noexcept {
    if (!is_resident()) {
        return; // Not started yet, or over: dial() looks whether the socket is gone.
    }
    guarded([&] {
        const bool is_cut_off = (happened & pipe::event::cut_off) != 0;
        if ((happened & pipe::event::readable) != 0) {
            wake_outbound();
            if (!is_cut_off) {
                write_some();
            }
        }
        if (is_cut_off && end_) {
            return cut_off();
        }
        if ((happened & pipe::event::leaving) != 0 && end_) {
            await_parting();
        }
        if ((happened & pipe::event::writable) != 0 && end_) {
            resume_inbound();
        }
        if ((happened & pipe::event::limited) != 0 && end_) {
            end_->out.renew_credit();
        }
        constexpr std::uint32_t let_go = pipe::event::dismissed | pipe::event::closed;
        if ((happened & let_go) != 0 && !end_) {
            return finish(); // The connection went in between, with the pipe.
        }
        if ((happened & pipe::event::dismissed) != 0) {
            on_dismissed();
        }
        if ((happened & pipe::event::closed) != 0) {
            on_socket_closed();
        }
    });
}

void session::on_dismissed() {
    if (state_ != session_state::closed && phase_ == phase::open) {
        phase_ = phase::dismissed;
        finish_once_drained();
    }
}

void session::on_socket_closed() {
    if (state_ == session_state::closed || phase_ == phase::closing) {
        return;
    }
    phase_ = phase::closing;
    if (farewell_ && farewell_->is_answered && !keeps_unsent()) {
        write_prefix();  // Our answer, as far as the kernel takes it: who has said that it goes
        return finish(); // reads nothing else (RFC 6455, 5.5.1).
    }
    const auto linger = end_->whole().linger;
    if (linger && *linger <= 0ms) {
        return leave_at_once();
    }
    if (linger) {
        start_timer(linger_timer_, *linger, &session::on_linger_over);
    }
    finish_once_drained();
    if (state_ != session_state::closed) {
        tell_lingering();
    }
}

/// What was sent and not written is lost.
void session::leave_at_once() {
    go_away();
    if (is_framed() && state_ == session_state::traffic && stream_) {
        stream_->end_writing();
        discard_arrived(); // It would have the connection reset.
    }
    finish();
}

/// Where the peer is; where we are if its end has no name, as with ipc.
std::string session::peer_endpoint() const {
    if (dialing_) {
        return origin_->target;
    }
    const transport::socket_address peer = stream_->peer();
    return transport::peer_host(peer).empty()
               ? transport::local_endpoint_text(stream_->descriptor(), origin_->where)
               : transport::peer_endpoint_text(peer, origin_->where);
}

void session::tell_lingering() noexcept {
    try {
        const auto linger = end_->whole().linger;
        origin_->host->on_lingering(
            *this, {.type = options().type,
                    .endpoint = peer_endpoint(),
                    .whole = pipe::pipe_ptr(&end_->whole()),
                    .until = linger ? pipe::clock::now() + *linger : pipe::deadline{}});
    } catch (const std::bad_alloc&) {
        // It lingers all the same, unseen.
    }
}

void session::finish_once_drained() {
    if (stream_ && !is_writable_) {
        return on_write_failed(EPIPE);
    }
    finish_if_drained();
}

void session::on_linger_over() noexcept {
    finish();
}

bool session::has_unsent() const noexcept {
    if (!prefix_.empty()) {
        return true;
    }
    const bool may_follow = !farewell_ || keeps_unsent(); // Behind a farewell none does.
    return may_follow && (!outbound_->is_empty() || (translation_ && !translation_->is_empty()));
}

void session::finish_if_drained() {
    if (phase_ == phase::open || phase_ == phase::parting) {
        return;
    }
    if (out_rest_ == wakefulness::asleep) {
        rouse_outbound(); // To see what was written past us.
    }
    if (has_unsent() && !awaits_subscriptions_) {
        return;
    }
    if (speaks_websocket() && phase_ != phase::ended) {
        go_away();
        if (!prefix_.empty()) {
            return;
        }
    }
    if (stream_ && stream_->holds_unsent()) {
        return stream_->wait_writable(*this);
    }
    if (phase_ == phase::ended) {
        return lost({});
    }
    if (is_framed() && state_ == session_state::traffic) {
        return see_off();
    }
    finish();
}

void session::on_origin_gone(bool is_drained) noexcept {
    origin_is_gone_ = true;
    if (!end_ || has_told_socket()) {
        return finish();
    }
    if (!is_drained && end_->other().is_to_be_told(pipe::event::attached)) {
        guarded([this] { leave_at_once(); }); // The socket has not seen the pipe, and sent nothing.
    }
}

void session::keep_warm(warmth& direction) {
    const bool is_swept = in_warmth_ != warmth::cold || out_warmth_ != warmth::cold;
    if (!is_swept) {
        thread_.sweep_later(*this);
    }
    direction = warmth::hot;
}

bool session::on_handed_over(std::uint64_t mark) noexcept {
    if (!end_ || end_->peer_is_closed()) {
        return true;
    }
    tell_written();
    if (!end_->out.has_taken(mark)) {
        return false;
    }
    if (inbound_->is_idle()) {
        end_->pass_on_memory();
    }
    return true;
}

/// Has on_handed_over() called after a while.
void session::hand_over() {
    thread_.hand_over(*this, end_->out.published().position);
}

/// Going out, the memory is the socket's.
void session::tell_written() noexcept {
    if (out_rest_ == wakefulness::asleep && std::exchange(has_written_much_, false)) {
        end_->other().deliver(pipe::event::written);
    }
}

bool session::on_sweep() noexcept {
    const auto has_cooled = [](warmth& direction) {
        const bool was_hot = direction == warmth::hot;
        return std::exchange(direction, was_hot ? warmth::warm : warmth::cold) == warmth::warm;
    };
    if (has_cooled(in_warmth_) && inbound_->is_idle()) {
        end_->trim();
        if (conflation_) {
            conflation_->trim();
        }
        if (input_) {
            input_->trim();
        }
    }
    if (out_warmth_ == warmth::warm && translation_) {
        translation_->trim();
    }
    // Going out, the memory is the socket's.
    if (has_cooled(out_warmth_) && out_rest_ == wakefulness::asleep) {
        end_->other().deliver(pipe::event::idle);
    }
    return in_warmth_ != warmth::cold || out_warmth_ != warmth::cold;
}

// Endings.

/// @param value   As connection_event says.
/// @param remark  Goes behind the endpoint, and a space.
void session::tell(connection_event what, std::int32_t value,
                   std::string_view remark) const noexcept {
    if (!origin_->observer || !origin_->observer->watches(what)) {
        return;
    }
    try {
        std::string text =
            dialing_ ? origin_->target
                     : transport::local_endpoint_text(stream_->descriptor(), origin_->where);
        if (!remark.empty()) {
            text.append(" ").append(remark);
        }
        origin_->observer->on_connection_event(what, value, text);
    } catch (const std::bad_alloc&) {
        // An event is lost, as where nobody reads them.
    }
}

/// Tells, now and then, of a certificate of ours that does not hold for long any more, or at all.
void session::tell_expiry() const noexcept {
    if (!origin_->observer || !origin_->observer->watches(connection_event::certificate_expires)) {
        return;
    }
    if (const auto rest = origin_->tls->take_expiry(transport::tls_context::clock::now())) {
        tell(connection_event::certificate_expires, *rest);
    }
}

/// @param reason  As lost().
void session::tell_failed_handshake(errc reason) const noexcept {
    if (upgrade_ && upgrade_->refused().status != 0) {
        const web_handshake::refusal& answer = upgrade_->refused();
        return tell(connection_event::handshake_failed_no_detail, answer.status, answer.text);
    }
    if (speaks_zws() && upgrade_ && !handshake_ && is_refusal(reason)) {
        const security::handshake_failure refused =
            security::failure_of(protocol_fault::websocket_unspecified);
        return tell(refused.what, refused.value);
    }
    if (!handshake_) {
        return tell(connection_event::handshake_failed_no_detail, static_cast<int>(reason));
    }
    const security::handshake_failure failure = handshake_->failure(reason);
    tell(failure.what, failure.value);
}

void session::lost(errc reason) noexcept {
    if (state_ == session_state::closed || state_ == session_state::connecting) {
        return;
    }
    if ((state_ == session_state::opening && stream_) || state_ == session_state::upgrade ||
        (state_ == session_state::handshake && handshake_)) {
        tell_failed_handshake(reason);
    }
    const bool is_asked_for = (farewell_ && farewell_->is_asked_for) || last_word() != nullptr;
    const bool has_told = has_told_socket();
    if (farewell_ || phase_ == phase::ended) {
        timer_.stop();
    }
    if (phase_ == phase::parting || phase_ == phase::ended) {
        phase_ = phase::open; // Of the next connection, if there is one.
    }
    zap_.reset();
    upgrade_.reset();
    bool is_cut_off = abandon_shortcut();
    if (stream_) {
        tell(connection_event::disconnected, stream_->descriptor());
        stream_->close();
        stream_.reset();
    }
    handshake_.reset();
    stop_heartbeat();
    drop_prefix();
    if (state_ == session_state::traffic) {
        take_leave_of_socket(reason);
    }
    farewell_.reset();
    is_cut_off = abandon_translation() || is_cut_off;
    input_.reset();
    raw_output_.reset();
    const bool was_in_traffic = state_ == session_state::traffic;
    // Who was refused would be refused again, as in libzmq.
    if (!dialing_ || reason == errc::permission_denied ||
        (origin_->tls && crypto::is_openssl_over()) || phase_ == phase::dismissed || is_asked_for ||
        (is_framed() && phase_ != phase::open) ||
        stops_after(was_in_traffic ? reconnect_stop::after_disconnect
                                   : reconnect_stop::handshake_failed)) {
        return finish();
    }
    if (end_ && phase_ == phase::open && options().has_pipe_per_connection()) {
        if ((end_->peer_is_closed() && !has_told) || origin_is_gone_) {
            return finish(); // Without the pipe nobody would tell us.
        }
        settle_accounts();
        end_.reset();
        dialing_->announced.reset();
        inbound_.reset();
        outbound_.reset();
        in_rest_ = out_rest_ = wakefulness::awake;
        thread_.forget(*this);
        in_warmth_ = out_warmth_ = warmth::cold;
        has_written_much_ = false;
    }
    if (end_) {
        inbound_->reset();
        awaits_subscriptions_ = awaits_subscriptions_ || (was_in_traffic && speaks_subscriptions());
        resend_or_drop(is_cut_off);
    }
    advance(session_state::connecting);
    try {
        dial_later(reason);
        if (end_) {
            if (end_->is_dismissed()) {
                phase_ = phase::dismissed; // Which was no matter while it parted.
            }
            finish_if_drained();
        }
    } catch (const std::bad_alloc&) {
        finish();
    }
}

/// @return Whether a frame was sent in part.
bool session::abandon_translation() noexcept {
    if (!translation_) {
        return false;
    }
    const codec::encoder::remains left = translation_->abandon();
    if (left.done_bytes != 0 && outbound_->advance(left.done_bytes)) {
        wake_writer();
    }
    translation_.reset();
    return left.is_cut_off;
}

/// The message that was cut off is sent again from its start, once: it may be what the peer ends
/// its connections for, and others wait behind it.
/// @param is_cut_off  Whether one was, besides what outbound_ knows.
void session::resend_or_drop(bool is_cut_off) noexcept {
    if (out_rest_ != wakefulness::asleep) {
        is_cut_off = outbound_->is_inside_message() || is_cut_off;
    }
    outbound_->rewind();
    if (!is_cut_off || awaits_subscriptions_) { // Subscriptions are not sent again as they were.
        return;
    }
    const std::uint64_t begin = outbound_->position();
    if (std::exchange(dialing_->cut_off_at, begin) != begin) {
        return;
    }
    bool wake = false;
    const std::uint64_t bytes = outbound_->drop_message(wake);
    if (wake) {
        wake_writer();
    }
    if (origin_->departures) {
        origin_->departures->dropped_message_count.fetch_add(1, std::memory_order_relaxed);
    }
    tell(connection_event::message_dropped,
         static_cast<std::int32_t>(std::min<std::uint64_t>(bytes, INT32_MAX)));
}

void session::finish() noexcept {
    if (state_ == session_state::closed) {
        return;
    }
    const boost::intrusive_ptr<session> keep{this};
    advance(session_state::closed);
    if (phase_ == phase::closing) {
        origin_->host->on_lingered(*this);
    }
    zap_.reset();
    if (dialing_) {
        dialing_->dialer->stop();
    }
    timer_.stop();
    linger_timer_.stop();
    stop_heartbeat();
    abandon_shortcut();
    if (stream_) {
        stream_->close();
        stream_.reset();
    }
    if (inbound_) {
        inbound_->reset();
    }
    settle_accounts();
    end_.reset();
    thread_.remove_tenant(*this, origin_->id);
    intrusive_ptr_release(this);
    thread_.load.fetch_sub(1, std::memory_order_relaxed);
    origin_->host->on_session_gone();
}

/// What is left of the queue then is what the socket counts as dropped.
void session::settle_accounts() noexcept {
    if (outbound_ && (out_rest_ != wakefulness::asleep || rouse_outbound())) {
        static_cast<void>(outbound_->settle_accounts());
    }
}

void session::start_timer(runtime::one_shot& timer, std::chrono::milliseconds after,
                          void (session::*expired)() noexcept) {
    timer.start(thread_.context(), after, boost::intrusive_ptr<session>(this), expired);
}

} // namespace zlink::session
