// SPDX-License-Identifier: MPL-2.0
#include "socket/socket.hpp"

#include "base/error_text.hpp"
#include "base/retry.hpp"
#include "session/session.hpp"
#include "socket/context.hpp"
#include "socket/dish.hpp"
#include "socket/router.hpp"
#include "socket/stream_socket.hpp"
#include "socket/until_done.hpp"
#include "transport/address.hpp"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

namespace zlink::socket {

using namespace std::chrono_literals;

void socket_mailbox::on_first_letter() noexcept {
    waiting_mailbox::on_first_letter();
    if (runtime::io_thread* const driven = driven_.load(std::memory_order_seq_cst);
        driven != nullptr && !driven->runs_here()) {
        driven->post([] {}); // Ends its wait.
    }
}

socket::socket(context& owner, const socket_options& options, std::chrono::microseconds polls_for)
    : context_(owner), options_(options), mailbox_(new socket_mailbox(polls_for)),
      pattern_(make_pattern(options_)) {
    if (options_.type == socket_type::stream) {
        stream_ = std::make_unique<stream_socket>(*this, static_cast<stream&>(*pattern_));
    }
    meter_ = context_.meters().open(options_.type, peers_, *pattern_);
}

socket::~socket() {
    context_.meters().close(meter_); // If it could not be opened; otherwise it is closed already.
}

void socket::tell_shut_down() noexcept {
    mailbox_->deliver(*this, pipe::event::stopped);
}

// Sending and receiving.

/// Before a large payload: its copy could evict cache lines that the only peer has not read yet.
void socket::limit_lead(std::size_t payload_bytes) noexcept {
    if (peers_.size() != 1) {
        return;
    }
    pipe::pipe_end& end = peers_.front()->end();
    const bool is_read_elsewhere = !context_.is_caller_driven() || end.whole().is_inproc;
    while (is_read_elsewhere && head_start_.holds_back(end.out.untaken().bytes, payload_bytes)) {
    }
}

result<void> socket::send_waiting(outgoing& source, bool dont_wait) {
    const result<void> outcome = until_sent(
        *this, [&] { return pattern_->send(source); }, options_.send_timeout, dont_wait,
        awaited::sending);
    if (!outcome && outcome.error() == errc::again && stream_) {
        return stream_->on_no_room({source.data(), source.bytes()});
    }
    return outcome;
}

result<void> socket::recv_waiting(incoming& target, bool dont_wait) {
    destroy_departed();
    const result<void> outcome = until_done(
        *this, [&] { return pattern_->recv(target); }, options_.recv_timeout, dont_wait,
        awaited::receiving);
    if (outcome) {
        receives_more_ = target.more;
    }
    return outcome;
}

void socket::share_among_threads() {
    if (!sharing_) {
        sharing_ = std::make_unique<sharing>(*this);
        pattern_->on_watched(); // Another thread may wait while one sends.
        share();
    }
}

result<void> socket::send_shared(outgoing& source, bool dont_wait) {
    const bool may_send = sharing_->may(awaited::sending);
    if (may_send && !source.more() && !source.is_text() && !source.is_lent() &&
        send_at_once(source.data(), source.bytes(), false)) [[likely]] {
        sharing_->note(awaited::sending, false);
        return {};
    }
    const result<void> outcome =
        may_send ? send(source, dont_wait) : send_waiting(source, dont_wait);
    if (outcome) {
        sharing_->note(awaited::sending, source.more());
    }
    return outcome;
}

result<void> socket::recv_shared(incoming& target, bool dont_wait) {
    const bool may_recv = sharing_->may(awaited::receiving);
    if (may_recv && target.into != nullptr && recv_message_at_once(*target.into)) [[likely]] {
        target.bytes = target.into->bytes();
        target.more = target.into->more();
        sharing_->note(awaited::receiving, target.more);
        return {};
    }
    const result<void> outcome =
        may_recv ? recv(target, dont_wait) : recv_waiting(target, dont_wait);
    if (outcome) {
        sharing_->note(awaited::receiving, target.more);
    }
    return outcome;
}

void socket::drop_rest() noexcept {
    while (receives_more_) {
        incoming rest{};
        receives_more_ = false;
        try {
            receives_more_ = pattern_->recv(rest) && rest.more;
        } catch (const std::bad_alloc&) {
            receives_more_ = true; // Tried again: a part of a message must not stay.
        }
    }
}

result<void> socket::wait_for_mail(pipe::deadline until, awaited what) {
    return sharing_ ? sharing_->wait(until, what) : context_.wait(*mailbox_, until);
}

result<socket::readiness> socket::ready() {
    mailbox_->arm();
    if (const result<void> processed = process_mail(); !processed) {
        return processed.error();
    }
    const auto look = [this] {
        return readiness{may(awaited::receiving) && pattern_->can_recv(),
                         may(awaited::sending) && pattern_->can_send()};
    };
    readiness now = look();
    if (context_.is_caller_driven() && !now.can_recv && !now.can_send) {
        context_.poll();
        if (const result<void> processed = process_mail(); !processed) {
            return processed.error();
        }
        now = look();
    }
    destroy_departed();
    return now;
}

result<int> socket::descriptor() {
    pattern_->on_watched();
    if (sharing_) {
        sharing_->note_watched();
    }
    return mailbox_->descriptor();
}

void socket::set_notified(pipe::notifier::function* called, void* hint) {
    if (called != nullptr) {
        pattern_->on_watched();
        if (sharing_) {
            sharing_->note_watched();
        }
    }
    mailbox_->set_notified(called, hint);
}

// Peers.

/// Events that lack memory stay in the mailbox, for the next call.
/// @error terminated
/// @error no_memory
result<void> socket::process_mail() {
    if (sharing_) {
        if (sharing_->is_closing()) {
            return errc::not_a_socket;
        }
        sharing_->note_collected(mailbox_->has_mail(), mailbox_->is_signalled());
    }
    pattern_->begin_turn();
    bool has_memory = true;
    mailbox_->collect([&](pipe::letter& about, std::uint32_t happened) {
        if (&about == this) {
            is_terminated_ = true;
            monitored_->stop();
            return;
        }
        if ((happened & pipe::event::arrived) != 0) {
            return; // From a countdown.
        }
        auto& end = static_cast<pipe::pipe_end&>(about);
        try {
            if ((happened & pipe::event::attached) != 0) {
                if (is_undone(end)) {
                    return reject_pipe(end);
                }
                attach(end, opener::them);
                happened &= ~pipe::event::attached;
            }
            if (pipe::event_sink* const owner = end.owner(); owner != nullptr) {
                owner->on_events(happened);
            }
        } catch (const std::bad_alloc&) {
            has_memory = false;
            mailbox_->deliver(about, happened);
        }
    });
    destroy_departed();
    if (is_terminated_) {
        return errc::terminated;
    }
    return has_memory ? result<void>{} : result<void>{errc::no_memory};
}

/// Whether the bind or connect call of the connection was undone while the connection was made.
bool socket::is_undone(const pipe::pipe_end& end) const noexcept {
    return end.call_id != 0 && !is_draining_ && bindings_.find(end.call_id) == nullptr;
}

/// Closes the connection of a pipe without a peer object: it was never reported.
void socket::reject_pipe(pipe::pipe_end& end) const noexcept {
    const pipe::end_ptr holder{end}; // Releases it as a peer would.
    set_linger(end);
}

/// @param by  The initiator: ZMQ_CONNECT_ROUTING_ID applies only to outgoing connections.
/// @throws std::bad_alloc  Nothing changed, `end` included.
peer& socket::attach(pipe::pipe_end& end, opener by) {
    if (peers_.size() == peers_.capacity()) {
        const auto lock = meter_->lock();
        peers_.reserve(std::max<std::size_t>(4, 2 * peers_.size()));
    }
    pipe::end_ptr holder{end};
    try {
        auto made = std::make_unique<peer>(*this, std::move(holder));
        const auto lock = meter_->lock();
        peers_.push_back(std::move(made));
    } catch (...) {
        holder.leave_open();
        throw;
    }
    peer& added = *peers_.back();
    added.owner_index = static_cast<std::uint32_t>(peers_.size() - 1);
    end.out.renew_credit(); // An inproc peer may have changed its high-water mark.
    const bool names_peers =
        options_.type == socket_type::router || options_.type == socket_type::raw_stream;
    const bool is_named = by == opener::us && names_peers && !options_.connect_routing_id.empty();
    try {
        if (is_named) {
            added.routing_id = options_.connect_routing_id;
        }
        pattern_->on_attached(added);
        if (options_.type == socket_type::raw_stream && !is_named) {
            // As in libzmq: the connecting application reads the peer's id there.
            options_.routing_id = added.routing_id;
        }
    } catch (...) {
        pattern_->on_detached(added);
        added.abandon(); // It may be attached again.
        const auto lock = meter_->lock();
        peers_.pop_back();
        throw;
    }
    if (is_named) {
        options_.connect_routing_id.clear();
    }
    return added;
}

void socket::on_peer_events(peer& about, std::uint32_t happened) {
    if ((happened & pipe::event::conflated) != 0 && options_.may_conflate_sent()) {
        about.conflate();
        pattern_->on_writable(about); // Always, from now on.
    }
    if ((happened & pipe::event::limited) != 0) {
        about.end().out.renew_credit();
    }
    if ((happened & pipe::event::readable) != 0 ||
        ((happened & pipe::event::look_again) != 0 && about.wake_reader())) {
        pattern_->on_readable(about);
    }
    if ((happened & pipe::event::writable) != 0) {
        pattern_->on_writable(about);
    }
    if ((happened & pipe::event::restarted) != 0) {
        pattern_->on_restarted(about);
    }
    if ((happened & pipe::event::written) != 0) {
        about.end().pass_on_memory();
    }
    if ((happened & pipe::event::idle) != 0) {
        about.end().trim();
    }
    if ((happened & pipe::event::closed) != 0) {
        about.mark_closed_by_peer();
        if (about.is_held) {
            return pattern_->on_closed(about); // The pattern repeats this event.
        }
        const bool may_have_more = pattern_->reads_after_close(about);
        if (may_have_more && !about.wake_reader()) {
            return; // Its other end, which is still there, will end, or send an event.
        }
        pipe::frame front;
        if (may_have_more && about.peek_any(front)) {
            // It closes once all its messages were received.
            pattern_->on_closed(about);
            pattern_->on_readable(about);
        } else {
            on_peer_drained(about);
        }
    }
}

/// As in libzmq, a peer that was found full stays so until it has read something.
void socket::on_high_water_marks_changed() {
    for (const auto& each : peers_) {
        pipe::pipe_end& end = each->end();
        end.change_limits(pipe::messages_max_of(options_.send_hwm),
                          pipe::messages_max_of(options_.recv_hwm));
        if (!each->is_held) {
            each->look_for_info();
        }
        // A pipe to an unbound name has no other owner to notify.
        if (!each->is_inproc() || each->info() != nullptr) {
            end.other().deliver(pipe::event::limited);
        }
    }
}

void socket::on_peer_info(peer& about) {
    pattern_->on_peer_info(about);
}

void socket::on_peer_drained(peer& about) {
    if (!about.departing) {
        about.departing = true;
        pattern_->on_drained(about);
        retry_allocation([&] { departed_.push_back(&about); });
    }
}

void socket::destroy_departed() noexcept {
    if (rest_from_ != nullptr && !(receives_more_ && pattern_->receiving() == rest_from_)) {
        on_peer_drained(*std::exchange(rest_from_, nullptr));
    }
    while (!departed_.empty()) {
        peer* const each = departed_.back();
        if (!pattern_->try_detach(*each)) {
            return;
        }
        departed_.pop_back();
        destroy(*each);
    }
}

void socket::destroy(peer& departed) noexcept {
    if (rest_from_ == &departed) {
        rest_from_ = nullptr;
    }
    pattern_->on_detached(departed);
    departed_dropped_count_ += departed.dropped_count();
    const bool is_lost = !departed.end().has_ended() && !departed.end().peer_receives();
    std::uint64_t lost_count = 0;
    if (departed.is_closed_by_peer() && is_lost && !options_.subscribes()) {
        lost_count = departed.end().out.untaken().message_count;
        departed_dropped_count_ += lost_count;
    }
    const std::size_t index = departed.owner_index;
    std::unique_ptr<peer> removed; // Destroyed without the lock: it may call the application.
    const auto lock = meter_->lock();
    meter_->add_departed(departed, lost_count);
    peers_[index].swap(peers_.back());
    peers_[index]->owner_index = static_cast<std::uint32_t>(index);
    removed = std::move(peers_.back());
    peers_.pop_back();
}

std::string socket::endpoint_of(peer& asked) const {
    const binding* const call = bindings_.find(asked.end().call_id);
    if (call != nullptr && (!call->listens || !has_host(call->via))) {
        return call->address;
    }
    return asked.address(call != nullptr ? call->via : scheme::tcp);
}

result<std::vector<socket::peer_state>> socket::peers() {
    if (const result<void> processed = process_mail(); !processed) {
        return processed.error();
    }
    std::vector<peer_state> found;
    found.reserve(peers_.size());
    for (const auto& each : peers_) {
        if (each->departing) {
            continue;
        }
        if (!each->is_held) {
            each->look_for_info();
        }
        found.push_back(state_of(*each));
    }
    return found;
}

socket::peer_state socket::state_of(peer& asked) const {
    const bool is_announced = asked.routing_id.empty() && asked.info() != nullptr;
    return {.endpoint = endpoint_of(asked),
            .routing_id = is_announced ? asked.info()->routing_id : asked.routing_id,
            .unsent = asked.end().out.untaken(),
            .dropped_count = asked.dropped_count()};
}

result<socket::peer_state> socket::peer_of(std::span<const std::byte> routing_id) {
    if (const result<void> processed = process_mail(); !processed) {
        return processed.error();
    }
    peer* const found = stream_ ? stream_->rules().find_peer(routing_id) : nullptr;
    return found != nullptr ? result<peer_state>{state_of(*found)} : errc::host_unreachable;
}

result<void> socket::change_group(std::string_view group, bool join) {
    if (options_.type != socket_type::dish) {
        set_error_text("only a ZLINK_DISH joins groups");
        return errc::not_supported;
    }
    if (const result<void> processed = process_mail(); !processed) {
        return processed.error();
    }
    auto& rules = static_cast<dish&>(*pattern_);
    const result<void> changed = join ? rules.join(group) : rules.leave(group);
    if (changed) {
        mailbox_->signal(); // ZMQ_EVENTS may have changed.
    }
    return changed;
}

result<bool> socket::has_room_for(std::string_view routing_id) {
    if (options_.type != socket_type::router) {
        return errc::not_supported;
    }
    if (const result<void> processed = process_mail(); !processed) {
        return processed.error();
    }
    peer* const asked = static_cast<router&>(*pattern_).find_peer(routing_id);
    return asked != nullptr ? result<bool>{asked->has_credit()} : errc::host_unreachable;
}

std::uint64_t socket::dropped_count() const noexcept {
    std::uint64_t count = departed_dropped_count_ + pattern_->undeliverable_count() +
                          departures_->dropped_message_count.load(std::memory_order_relaxed);
    for (const auto& each : peers_) {
        count += each->dropped_count();
    }
    return count;
}

void socket::close() noexcept {
    mailbox_->set_notified(nullptr, nullptr);
    for (binding& each : bindings_) {
        stop_binding(each, {});
    }
    mailbox_->shut([&](pipe::letter& about, std::uint32_t happened) {
        if (&about != this && (happened & pipe::event::attached) != 0) {
            reject_pipe(static_cast<pipe::pipe_end&>(about));
        }
    });
    context_.meters().close(meter_);
    for (const auto& each : peers_) {
        set_linger(each->end());
        send_disconnect_message(*each);
        pattern_->on_detached(*each);
    }
    peers_.clear();
    for (const binding& each : bindings_) {
        if (!each.listener) {
            tell_sessions(each, {});
        }
    }
    monitored_->stop();
    context_.forget_socket(*this);
}

result<void> socket::start_monitor(std::string_view address, const monitor_rules& rules) {
    if (const result<void> processed = process_mail(); !processed) {
        return processed.error();
    }
    const result<endpoint> where = decode_endpoint(address, endpoint_use::listen);
    if (!where) {
        return where.error();
    }
    if (where->via != scheme::inproc) {
        return errc::protocol_not_supported;
    }
    return monitored_->start(context_, where->path, rules);
}

result<void> socket::report_statistics() {
    if (!monitored_->watches(connection_event::pipe_statistics)) {
        return errc::invalid_argument;
    }
    if (const result<void> processed = process_mail(); !processed) {
        return processed.error();
    }
    if (peers_.empty()) {
        return errc::again;
    }
    for (const auto& each : peers_) {
        if (!each->is_held) {
            each->look_for_info();
        }
        const binding* const call = bindings_.find(each->end().call_id);
        const std::string other = endpoint_of(*each);
        const std::string local = call != nullptr && call->listens ? call->address : std::string{};
        monitored_->on_statistics(each->end().out.measure().waiting.message_count,
                                  each->end().in.measure().waiting.message_count,
                                  {other, local, other});
    }
    return {};
}

} // namespace zlink::socket
