// SPDX-License-Identifier: MPL-2.0
#include "session/session.hpp"

#include "base/assert.hpp"
#include "base/limits.hpp"
#include "base/random_bytes.hpp"
#include "crypto/openssl.hpp"
#include "pipe/inline_writer.hpp"
#include "pipe/untaken.hpp"
#include "transport/address.hpp"
#include "transport/counted_stream.hpp"
#include "transport/descriptor_stream.hpp"
#include "transport/tls_stream.hpp"

#include <algorithm>
#include <cerrno>

namespace zlink::session {

using namespace std::chrono_literals;

namespace {

/// Frees the memory of a pipe that this end leaves, as far as it is not the socket's: the
/// application may not call for long.
/// @param may_read  The other end does not own what it has sent (outbound::is_parked).
void free_queues(const pipe::end_ptr& left, bool may_read) noexcept {
    if (!left) {
        return;
    }
    if (may_read) {
        pipe::free_untaken(left->in);
    }
    left->trim();
}

} // namespace

void session::dial(runtime::io_thread& thread, std::shared_ptr<const endpoint_call> call,
                   transport::dialer_ptr by, pipe::end_ptr end) {
    const socket_options& chosen = *call->options;
    std::unique_ptr<dialing> plan{
        new dialing{.dialer = std::move(by),
                    .pauses = runtime::backoff{milliseconds(std::max(chosen.reconnect_interval, 0)),
                                               milliseconds(chosen.reconnect_interval_max)},
                    .announced = {},
                    .cut_off_at = {}}};
    // A session that exists must also start.
    boost::intrusive_ptr<session> made{new session(thread, std::move(call), std::move(end))};
    made->dialing_ = std::move(plan);
    thread.post([made] {
        made->register_with_thread();
        made->enter([&] { made->dial_now(); });
        made->enter([&] {
            // The socket may have closed before this session could receive the event.
            if (made->end_ && made->end_->is_dismissed()) {
                made->on_dismissed();
            }
            if (made->end_ && made->end_->peer_is_closed()) {
                made->on_socket_closed();
            }
        });
    });
}

void session::accept(runtime::io_thread& thread, std::shared_ptr<const endpoint_call> call,
                     int descriptor, transport::counted_connection_ptr who) {
    boost::intrusive_ptr<session> made{new session(thread, std::move(call), {})};
    thread.post([made, descriptor, who = std::move(who)] {
        made->register_with_thread();
        made->enter([&] {
            made->start_connection(transport::make_counted_stream(
                transport::make_descriptor_stream(made->thread_.context(), descriptor), who,
                made->options().proxy_protocol));
        });
    });
}

void session::accept(runtime::io_thread& thread, std::shared_ptr<const endpoint_call> call,
                     transport::stream_ptr connected) {
    boost::intrusive_ptr<session> made{new session(thread, std::move(call), {})};
    thread.post([made, connected = std::move(connected)] {
        made->register_with_thread();
        made->enter([&] { made->start_connection(connected); });
    });
}

session::session(runtime::io_thread& thread, std::shared_ptr<const endpoint_call> call,
                 pipe::end_ptr end)
    : thread_(thread), call_(std::move(call)), end_(std::move(end)),
      arrival_(call_->host->next_arrival()) {
    if (end_) {
        make_outbound(pipe::layout::zmtp);
        end_->set_home(thread_.mailbox(),
                       this); // Last: nothing may fail after events can arrive.
    }
    thread_.load.fetch_add(1, std::memory_order_relaxed);
}

session::~session() {
    ZLINK_DEBUG_ASSERT(standing_ == standing::over);
}

void session::register_with_thread() {
    thread_.register_handler(*this, call_->id);
    intrusive_ptr_add_ref(this); // Until clean_up(): possibly nothing else holds a reference.
}

void session::post(void (session::*task)() noexcept) noexcept {
    thread_.post([self = boost::intrusive_ptr<session>(this), task] { (*self.*task)(); });
}

bool session::run_blocking(std::function<void()> task) {
    return call_->host->run_blocking(
        [self = boost::intrusive_ptr<session>(this), task = std::move(task)] {
            task();
            self->post(&session::on_posted_write);
        });
}

// Connecting.

void session::dial_now() {
    if (connection_ || standing_ == standing::over) {
        return;
    }
    dialing_->dialer->start(
        [self = boost::intrusive_ptr<session>(this)](result<transport::stream_ptr> connected) {
            self->enter([&] {
                if (connected) {
                    self->start_connection(std::move(*connected));
                } else {
                    self->on_unreachable(connected.error());
                }
            });
        });
    if (options().connect_timeout > 0) {
        start_timer(timer_, milliseconds(options().connect_timeout), &session::on_connect_timeout);
    }
}

void session::on_unreachable(errc reason) {
    if (reason == errc::connection_refused && stops_after(reconnect_stop::connection_refused)) {
        return finish();
    }
    dial_later(reason);
}

/// Whether to make no further attempt.
/// @param occasion  A bit of ZMQ_RECONNECT_STOP.
bool session::stops_after(int occasion) const noexcept {
    return options().reconnect_interval < 0 || (options().reconnect_stop & occasion) != 0;
}

/// @param reason  The cause of the last failure.
void session::dial_later(errc reason) {
    dialing_->dialer->stop();
    if (options().reconnect_interval < 0) {
        return finish();
    }
    const milliseconds wait_min = is_shortage(reason) ? limits::shortage_pause : 0ms;
    const milliseconds wait = std::max(dialing_->pauses.next(random_number()), wait_min);
    tell(connection_event::connect_retried, static_cast<std::int32_t>(wait.count()), nullptr);
    start_timer(timer_, wait, &session::on_next_attempt);
}

void session::on_next_attempt() noexcept {
    enter([this] {
        if (has_unreported_departures()) {
            return dial_later(static_cast<errc>(ENOBUFS));
        }
        dial_now();
    });
}

/// Whether the application must first receive that earlier peers are gone.
bool session::has_unreported_departures() const noexcept {
    return call_->departures &&
           call_->departures->unreported_count.load(std::memory_order_relaxed) >=
               limits::unreported_disconnects_max;
}

void session::on_connect_timeout() noexcept {
    enter([this] { dial_later(static_cast<errc>(ETIMEDOUT)); });
}

/// @param connected  Null if the system had no resources for it.
void session::start_connection(transport::stream_ptr connected) {
    timer_.stop();
    if (connected && call_->tls) {
        connected = transport::make_tls_stream(thread_.context(), connected, call_->tls);
    }
    if (!connected) {
        return reconnect_or_finish(errc::no_descriptors, false, false, false);
    }
    const bool is_proxied = !dialing_ && options().proxy_protocol;
    connection_.emplace(*this, std::move(connected));
    if (dialing_ && call_->where.via != scheme::udp) { // Datagrams have no connection.
        connection_->tell(connection_event::connected, connection_->stream().descriptor());
    }
    if (call_->tls) {
        tell_expiry();
    }
    connection_->start(call_->tls || is_proxied);
}

/// Reports at intervals that an own certificate has expired or expires soon.
void session::tell_expiry() const noexcept {
    if (!call_->observer || !call_->observer->watches(connection_event::certificate_expires)) {
        return;
    }
    if (const auto rest = call_->tls->take_expiry(transport::tls_context::clock::now())) {
        connection_->tell(connection_event::certificate_expires, *rest);
    }
}

// During a connection.

void session::on_readable() noexcept {
    enter([this] {
        if (connection_) {
            connection_->on_readable();
        }
    });
}

void session::on_writable() noexcept {
    enter([this] {
        if (connection_) {
            connection_->write();
        }
    });
}

void session::on_end() noexcept {
    enter([this] {
        if (connection_) {
            connection_->on_end();
        }
    });
}

void session::on_posted_write() noexcept {
    enter([this] {
        if (connection_) {
            connection_->on_posted_write();
        }
    });
}

void session::on_peer_answered() noexcept {
    enter([this] {
        if (connection_) {
            connection_->on_answered();
        }
    });
}

void session::start_deadline(std::chrono::milliseconds after) {
    start_timer(timer_, after, &session::on_deadline);
}

void session::on_deadline() noexcept {
    enter([this] {
        if (connection_) {
            connection_->on_deadline();
        }
    });
}

bool session::on_established(const pipe_terms& terms) {
    if (call_->counters) {
        call_->counters->on_established();
    }
    if (dialing_) {
        dialing_->pauses.reset();
        if (std::exchange(dialing_->has_connected, true) && call_->counters) {
            call_->counters->on_reconnected();
        }
    }
    if (end_) {
        return true;
    }
    const boost::intrusive_ptr<pipe::pipe> made{
        new pipe::pipe({.messages_max = pipe::messages_max_of(options().send_hwm)},
                       {.messages_max = pipe::messages_max_of(options().recv_hwm)})};
    made->is_datagram = call_->where.via == scheme::udp;
    end_ = pipe::end_ptr(made->second);
    end_->set_home(thread_.mailbox(), this);
    end_->works_in_batches();
    made->first.set_home(call_->socket, nullptr);
    made->first.call_id = call_->id;
    made->first.arrival = arrival_;
    made->first.frames = terms.frames;
    made->first.carries_http = terms.carries_http;
    made->first.deflation = terms.deflation;
    made->first.replaces_lost = dialing_ && options().type == socket_type::stream;
    made->first.conflate(options().conflates_sent(), options().conflates_received());
    make_outbound(terms.frames);
    return made->first.deliver(pipe::event::attached);
}

/// @param frames  The frames' layout in the pipe.
void session::make_outbound(pipe::layout frames) {
    outbound_.emplace(end_->in, frames);
    // These sockets alternate requests and replies, so there never is a batch.
    if (options().type == socket_type::req || options().type == socket_type::rep) {
        end_->whole().inline_writing = std::make_unique<pipe::inline_writer>();
    }
}

void session::announce(std::unique_ptr<pipe::peer_info> peer) {
    if (!dialing_) {
        return end_->push_control(peer.release());
    }
    if (dialing_->announced && dialing_->announced_position == end_->out.published().position &&
        dialing_->announced->replace(peer.get())) {
        static_cast<void>(peer.release());
        return;
    }
    const pipe::peer_info_ptr told{peer.release()};
    end_->push_control(told.get());
    dialing_->announced = told;
    dialing_->announced_position = end_->out.published().position;
}

void session::tell(connection_event what, std::int32_t value, transport::stream* over,
                   std::string_view remark) const noexcept {
    if (call_->counters) {
        call_->counters->on_event(what, value);
    }
    if (!call_->observer || !call_->observer->watches(what)) {
        return;
    }
    try {
        std::string local;
        std::string peer = dialing_ ? call_->target : std::string{};
        if (over != nullptr && (!dialing_ || call_->observer->wants_both_ends())) {
            local = transport::local_endpoint_text(over->descriptor(), call_->where);
        }
        if (!dialing_ && call_->observer->wants_both_ends()) {
            peer = transport::peer_endpoint_text(over->peer(), call_->where);
        }
        std::string shown = dialing_ ? peer : local;
        if (!remark.empty()) {
            shown.append(" ").append(remark);
        }
        call_->observer->on_connection_event(what, value, {shown, local, peer});
    } catch (const std::bad_alloc&) {
        // The event is lost, as it is without a reader.
    }
}

// At the end of the thread's turn, and from time to time.

bool session::has_news() noexcept {
    return connection_ && connection_->has_news();
}

processor_number session::take_application_processor() noexcept {
    if (!end_) {
        return no_processor;
    }
    std::atomic<processor_number>& place = end_->whole().waited_on;
    const processor_number found = place.load(std::memory_order_relaxed);
    if (found != no_processor) {
        place.store(no_processor, std::memory_order_relaxed); // A later wait marks it again.
    }
    return found;
}

session::park_mark session::on_turn_over() noexcept {
    const boost::intrusive_ptr<session> keep{this}; // It may end here, and is used below.
    park_mark mark = park_mark::none;
    enter([&] {
        if (connection_) {
            mark = connection_->on_turn_over();
        }
    });
    return standing_ == standing::over ? park_mark::none : mark;
}

void session::on_settled() noexcept {
    enter([this] {
        if (connection_) {
            connection_->on_settled();
        }
    });
}

void session::note_activity(activity& direction) {
    const bool is_swept = in_activity_ != activity::idle || out_activity_ != activity::idle;
    if (!is_swept) {
        thread_.sweep_later(*this);
    }
    direction = activity::active;
}

bool session::on_sweep() noexcept {
    const auto became_idle = [](activity& direction) {
        const bool was_hot = direction == activity::active;
        return std::exchange(direction, was_hot ? activity::recent : activity::idle) ==
               activity::recent;
    };
    if (became_idle(in_activity_) && (!connection_ || connection_->is_input_idle())) {
        end_->trim();
        thread_.forget_handed_over(*this);
        if (connection_) {
            connection_->trim_input();
        }
    }
    if (out_activity_ == activity::recent && connection_) {
        connection_->trim_output();
    }
    // The socket owns the memory of the sending direction.
    if (became_idle(out_activity_) && outbound_->is_parked()) {
        end_->other().deliver(pipe::event::idle);
    }
    return in_activity_ != activity::idle || out_activity_ != activity::idle;
}

void session::hand_over() {
    thread_.hand_over(*this, end_->out.published().position);
}

bool session::on_handed_over(std::uint64_t mark) noexcept {
    if (!end_ || end_->peer_is_closed()) {
        return true;
    }
    tell_written();
    if (!end_->out.has_taken(mark)) {
        return false;
    }
    if (!connection_ || connection_->is_input_idle()) {
        end_->pass_on_memory();
    }
    return true;
}

/// The socket owns the memory of the sending direction.
void session::tell_written() noexcept {
    if (outbound_->is_parked() && connection_ && connection_->take_written_much()) {
        end_->other().deliver(pipe::event::written);
    }
}

// The socket's side.

void session::on_events(std::uint32_t happened) noexcept {
    if (!is_registered()) {
        return; // Not started yet, or over: dial() checks whether the socket is closed.
    }
    enter([&] {
        const bool is_cut_off = (happened & pipe::event::cut_off) != 0;
        if ((happened & pipe::event::readable) != 0) {
            if (connection_) {
                connection_->on_pipe_woken();
            } else {
                outbound_->on_woken();
            }
            if (connection_ && !is_cut_off) {
                connection_->write();
            }
        }
        if (is_cut_off && connection_) {
            return connection_->cut_off(*requested_close());
        }
        if ((happened & pipe::event::leaving) != 0) {
            await_closing();
        }
        if ((happened & pipe::event::writable) != 0 && connection_) {
            connection_->on_pipe_writable();
        }
        if ((happened & pipe::event::limited) != 0) {
            end_->out.renew_credit();
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
    const bool is_closing = connection_ && (live() == nullptr || live()->closing() != nullptr);
    if (standing_ == standing::open && !is_closing) { // A connection that closes ends anyway.
        standing_ = standing::dismissed;
        finish_once_drained();
    }
}

void session::on_socket_closed() {
    if (standing_ == standing::over || standing_ == standing::socket_closed) {
        return;
    }
    standing_ = standing::socket_closed;
    if (live() != nullptr && live()->ends_with_socket()) {
        return finish();
    }
    const auto linger = end_->whole().linger;
    if (linger && *linger <= 0ms) {
        return leave_at_once();
    }
    if (linger) {
        start_timer(linger_timer_, *linger, &session::on_linger_over);
    }
    finish_once_drained();
    if (standing_ != standing::over && (dialing_ || live() != nullptr)) {
        tell_lingering(end_->whole().linger);
    }
}

/// Messages that are sent but not written are lost.
void session::leave_at_once() {
    if (live() != nullptr) {
        live()->leave_at_once();
    }
    finish();
}

void session::finish_once_drained() {
    if (live() != nullptr) {
        live()->finish_once_drained();
    } else if (!connection_) {
        finish_if_drained();
    }
}

/// Only without a connection; otherwise the connection does this.
void session::finish_if_drained() {
    if (standing_ == standing::open) {
        return;
    }
    if (outbound_->is_parked()) {
        static_cast<void>(outbound_->unpark()); // Accounts for writes by the sender's thread.
    }
    if (outbound_->is_empty() || outbound_->awaits_mark()) {
        finish();
    }
}

/// The peer's endpoint; the local endpoint if the peer's has no name, as with ipc.
std::string session::peer_endpoint() const {
    if (dialing_) {
        return call_->target;
    }
    const transport::stream& over = connection_->stream();
    const transport::socket_address peer = over.peer();
    return transport::peer_host(peer).empty()
               ? transport::local_endpoint_text(over.descriptor(), call_->where)
               : transport::peer_endpoint_text(peer, call_->where);
}

void session::tell_lingering(std::optional<milliseconds> linger) noexcept {
    try {
        call_->host->on_lingering(
            *this, {.type = options().type,
                    .endpoint = peer_endpoint(),
                    .whole = pipe::pipe_ptr(end_ ? &end_->whole() : nullptr),
                    .until = linger ? pipe::clock::now() + *linger : pipe::deadline{}});
    } catch (const std::bad_alloc&) {
        // It lingers all the same, but unlisted.
    }
}

void session::on_linger_over() noexcept {
    enter([this] { finish(); });
}

/// Why the application asked to close this connection; null if it has not.
const pipe::close_request* session::requested_close() const noexcept {
    return end_ ? static_cast<const pipe::close_request*>(
                      end_->whole().requested_close.load(std::memory_order_acquire))
                : nullptr;
}

/// The application has asked to close this connection behind the queued messages. A timer limits
/// how long the peer can delay that.
void session::await_closing() {
    if (live() != nullptr && live()->is_established()) {
        start_timer(linger_timer_, requested_close()->longest, &session::on_closing_late);
    }
}

void session::on_closing_late() noexcept {
    enter([this] {
        if (standing_ == standing::socket_closed) {
            finish();
        } else if (connection_) {
            connection_->cut_off(*requested_close());
        }
    });
}

void session::on_call_undone(bool is_drained) noexcept {
    enter([&] {
        call_is_undone_ = true;
        if (!end_ && live() != nullptr && live()->is_responding()) {
            const milliseconds longest = limits::http_departure_max;
            const milliseconds chosen{options().linger};
            const milliseconds linger =
                chosen < milliseconds{0} ? longest : std::min(chosen, longest);
            start_timer(linger_timer_, linger, &session::on_linger_over);
            return tell_lingering(linger);
        }
        if (!end_ || end_->has_ended()) {
            return finish();
        }
        if (!is_drained && end_->other().is_pending(pipe::event::attached)) {
            leave_at_once(); // The socket has not seen the pipe, and sent nothing.
        }
    });
}

// After a connection has ended.

void session::handle_closed_connection() noexcept {
    const errc reason = connection_->reason();
    const bool was_established = connection_->was_established();
    const bool was_cut_off = connection_->was_cut_off();
    const bool was_asked_for = connection_->ended_for_application() || requested_close() != nullptr;
    connection_.reset();
    if (standing_ != standing::over) {
        try_or_give_up(
            [&] { reconnect_or_finish(reason, was_established, was_cut_off, was_asked_for); });
    }
}

/// Makes the next attempt, if any.
/// @param was_asked_for  The application asked to close this connection.
void session::reconnect_or_finish(errc reason, bool was_established, bool was_cut_off,
                                  bool was_asked_for) {
    const bool is_stream = options().type == socket_type::stream;
    // A peer that refused once would refuse again, as in libzmq.
    if (!dialing_ || reason == errc::permission_denied ||
        (call_->tls && crypto::is_openssl_cleaned_up()) || is_dismissed() || was_asked_for ||
        (is_stream && standing_ != standing::open) ||
        stops_after(was_established ? reconnect_stop::after_disconnect
                                    : reconnect_stop::handshake_failed)) {
        return finish();
    }
    if (end_ && standing_ == standing::open && options().has_pipe_per_connection()) {
        if ((end_->peer_is_closed() && !end_->has_ended()) || call_is_undone_) {
            return finish(); // Without the pipe no event would report it.
        }
        release_pipe();
    }
    if (end_) {
        if (was_established && options().subscribes()) {
            outbound_->await_mark();
        }
        resend_or_drop(was_cut_off);
    }
    dial_later(reason);
    if (end_ && standing_ != standing::over) {
        if (end_->is_dismissed() && standing_ == standing::open) {
            standing_ = standing::dismissed; // Ignored while the connection was closing.
        }
        finish_if_drained();
    }
}

/// The next connection gets a new pipe.
void session::release_pipe() noexcept {
    return_all_credit();
    free_queues(end_, outbound_ && !outbound_->is_parked());
    end_.reset();
    dialing_->announced.reset();
    outbound_.reset();
    thread_.forget(*this);
    in_activity_ = out_activity_ = activity::idle;
}

/// An interrupted message is sent again from its start, once: the message itself may be the reason
/// why the peer closes its connections, and it blocks those behind it.
/// @param was_cut_off  Whether a message was interrupted that outbound_ does not know of.
void session::resend_or_drop(bool was_cut_off) noexcept {
    if (!outbound_->is_parked()) {
        was_cut_off = outbound_->is_inside_message() || was_cut_off;
    }
    outbound_->rewind();
    if (!was_cut_off ||
        outbound_->awaits_mark()) { // Subscriptions are not sent again as they were.
        return;
    }
    const std::uint64_t begin = outbound_->position();
    if (std::exchange(dialing_->cut_off_at, begin) != begin) {
        return;
    }
    bool wake = false;
    const std::uint64_t bytes = outbound_->drop_message(wake);
    if (wake) {
        end_->other().deliver(pipe::event::writable);
    }
    if (call_->departures) {
        call_->departures->dropped_message_count.fetch_add(1, std::memory_order_relaxed);
    }
    if (call_->counters) {
        call_->counters->on_interrupted();
    }
    tell(connection_event::message_dropped,
         static_cast<std::int32_t>(std::min<std::uint64_t>(bytes, INT32_MAX)), nullptr);
}

void session::return_all_credit() noexcept {
    if (outbound_ && (!outbound_->is_parked() || outbound_->unpark())) {
        static_cast<void>(outbound_->return_all_credit());
    }
}

void session::finish() noexcept {
    if (standing_ == standing::over) {
        return;
    }
    if (standing_ == standing::socket_closed || call_is_undone_) {
        call_->host->on_lingered(*this);
    }
    count_lost();
    standing_ = standing::over;
    if (dialing_) {
        dialing_->dialer->stop();
    }
    timer_.stop();
    linger_timer_.stop();
    if (connection_) {
        connection_->drop();
    }
}

/// Counts the messages of a closed socket that are not written.
void session::count_lost() noexcept {
    const bool subscribes =
        options().type == socket_type::sub || options().type == socket_type::xsub;
    if (standing_ != standing::socket_closed || !outbound_ || !call_->counters || subscribes) {
        return;
    }
    if (outbound_->is_parked()) {
        static_cast<void>(outbound_->unpark());
    }
    if (!outbound_->is_empty()) {
        call_->counters->on_lingered(end_->in.untaken().message_count);
    }
}

/// Releases everything, after finish() and its callers.
void session::clean_up() noexcept {
    return_all_credit();
    free_queues(end_, outbound_ && !outbound_->is_parked());
    end_.reset();
    thread_.unregister_handler(*this, call_->id);
    thread_.load.fetch_sub(1, std::memory_order_relaxed);
    call_->host->on_session_gone();
    intrusive_ptr_release(this);
}

void session::start_timer(runtime::one_shot& timer, std::chrono::milliseconds after,
                          void (session::*expired)() noexcept) {
    timer.start(thread_.context(), after, boost::intrusive_ptr<session>(this), expired);
}

} // namespace zlink::session
