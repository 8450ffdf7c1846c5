// SPDX-License-Identifier: MPL-2.0
#include "socket/socket.hpp"

#include "base/byte_order.hpp"
#include "base/error_text.hpp"
#include "base/own_descriptors.hpp"
#include "base/retry.hpp"
#include "session/session.hpp"
#include "socket/context.hpp"
#include "transport/address.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <unistd.h>
#include <utility>
#include <vector>

namespace zlink::socket {

using namespace std::chrono_literals;

namespace {

std::uint64_t queue_max(int high_water_mark) noexcept {
    return static_cast<std::uint64_t>(high_water_mark);
}

} // namespace

void socket_mailbox::on_first_letter() noexcept {
    waiting_mailbox::on_first_letter();
    if (runtime::io_thread* const driven = driven_.load(std::memory_order_seq_cst);
        driven != nullptr && !driven->runs_here()) {
        driven->post([] {}); // Ends its wait.
    }
}

socket::socket(context& owner, const socket_options& options, std::chrono::microseconds polls_for)
    : context_(owner), options_(options), mailbox_(new socket_mailbox(polls_for)),
      pattern_(make_pattern(options_)) {}

socket::~socket() = default;

void socket::tell_shut_down() noexcept {
    mailbox_->deliver(*this, pipe::event::stopped);
}

// Sending and receiving.

template<class Attempt>
std::invoke_result_t<Attempt&> socket::until_done(Attempt&& attempt, int timeout, bool dont_wait) {
    if (mailbox_->has_mail()) [[unlikely]] {
        if (const result<void> processed = process_mail(); !processed) {
            return processed.error();
        }
    }
    if (is_terminated_) [[unlikely]] {
        return errc::terminated;
    }
    auto outcome = attempt();
    if (outcome || outcome.error() != errc::again) [[likely]] {
        return outcome;
    }
    if (dont_wait || timeout == 0) {
        context_.poll();
        if (!mailbox_->has_mail() && !mailbox_->is_signalled()) {
            return errc::again;
        }
        if (const result<void> processed = process_mail(); !processed) {
            return processed.error();
        }
        return attempt();
    }
    const pipe::deadline until =
        timeout < 0 ? pipe::deadline{} : pipe::clock::now() + milliseconds(timeout);
    while (true) {
        if (const result<void> waited = context_.wait(*mailbox_, until); !waited) {
            return waited.error();
        }
        if (const result<void> processed = process_mail(); !processed) {
            return processed.error();
        }
        outcome = attempt();
        if (outcome || outcome.error() != errc::again) {
            return outcome;
        }
    }
}

/// Before a large payload: its copy could evict cache lines that the only peer has not read yet.
void socket::stay_close(std::size_t payload_bytes) noexcept {
    if (peers_.size() != 1) {
        return;
    }
    pipe::pipe_end& end = peers_.front()->end();
    const bool is_read_elsewhere = !context_.is_caller_driven() || end.whole().is_inproc;
    while (is_read_elsewhere && head_start_.holds_back(end.out.untaken().bytes, payload_bytes)) {
    }
}

result<void> socket::send_waiting(outgoing& source, bool dont_wait) {
    const result<void> outcome =
        until_done([&] { return pattern_->send(source); }, options_.send_timeout, dont_wait);
    if (!outcome && outcome.error() == errc::again) {
        return pattern_->on_no_room({source.data(), source.bytes()}, true);
    }
    return outcome;
}

/// The caller has stopped waiting for room at the peer of a STREAM.
errc socket::on_no_room(std::uint32_t routing_id) {
    std::array<std::byte, sizeof routing_id> data;
    store_big_endian(data.data(), routing_id);
    return pattern_->on_no_room(data, false);
}

result<void> socket::recv_waiting(incoming& target, bool dont_wait) {
    destroy_departed();
    const result<void> outcome =
        until_done([&] { return pattern_->recv(target); }, options_.recv_timeout, dont_wait);
    if (outcome) {
        receives_more_ = target.more;
    }
    return outcome;
}

result<void> socket::send_to_waiting(std::uint32_t routing_id, outgoing& source, bool dont_wait) {
    const result<void> outcome = until_done([&] { return pattern_->send_to(routing_id, source); },
                                            options_.send_timeout, dont_wait);
    if (!outcome && outcome.error() == errc::again) {
        return on_no_room(routing_id);
    }
    return outcome;
}

result<void> socket::recv_from_waiting(std::uint32_t& routing_id, incoming& target,
                                       bool dont_wait) {
    destroy_departed();
    const result<void> outcome = until_done([&] { return pattern_->recv_from(routing_id, target); },
                                            options_.recv_timeout, dont_wait);
    if (outcome) {
        receives_more_ = target.more;
    }
    return outcome;
}

result<std::size_t> socket::send_batch_waiting(std::span<const stream_message> messages,
                                               bool dont_wait) {
    const result<std::size_t> outcome = until_done([&] { return pattern_->send_batch(messages); },
                                                   options_.send_timeout, dont_wait);
    if (!outcome && outcome.error() == errc::again) {
        return pattern_->on_no_room(messages.front().routing_id, false);
    }
    return outcome;
}

result<std::size_t> socket::recv_batch_waiting(std::span<stream_message> messages, bool dont_wait) {
    destroy_departed();
    return until_done([&] { return pattern_->recv_batch(messages); }, options_.recv_timeout,
                      dont_wait);
}

result<socket::readiness> socket::ready() {
    if (const result<void> processed = process_mail(); !processed) {
        return processed.error();
    }
    readiness now{pattern_->can_recv(), pattern_->can_send()};
    if (context_.is_caller_driven() && !now.can_recv && !now.can_send) {
        context_.poll();
        if (const result<void> processed = process_mail(); !processed) {
            return processed.error();
        }
        now = {pattern_->can_recv(), pattern_->can_send()};
    }
    destroy_departed();
    return now;
}

result<int> socket::descriptor() {
    pattern_->on_watched();
    return mailbox_->descriptor();
}

// Peers.

/// Events that lack memory stay in the mailbox, for the next call.
/// @error terminated
/// @error no_memory
result<void> socket::process_mail() {
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
                    return turn_away(end);
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
    if (end.origin_id == 0 || is_draining_) {
        return false;
    }
    const auto from =
        std::lower_bound(bindings_.begin(), bindings_.end(), end.origin_id,
                         [](const binding& each, std::uint64_t id) { return each.origin_id < id; });
    return from == bindings_.end() || from->origin_id != end.origin_id;
}

/// Closes the connection of a pipe without a peer object: it was never reported.
void socket::turn_away(pipe::pipe_end& end) const noexcept {
    const pipe::end_ptr holder{end}; // Releases it as a peer would.
    set_linger(end);
}

/// @param by  The initiator: ZMQ_CONNECT_ROUTING_ID applies only to outgoing connections.
/// @throws std::bad_alloc  Nothing changed, `end` included.
peer& socket::attach(pipe::pipe_end& end, opener by) {
    if (peers_.size() == peers_.capacity()) {
        peers_.reserve(std::max<std::size_t>(4, 2 * peers_.size()));
    }
    pipe::end_ptr holder{end};
    try {
        peers_.push_back(std::make_unique<peer>(*this, std::move(holder)));
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
    if ((happened & pipe::event::readable) != 0) {
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
        pipe::frame front;
        if (pattern_->reads_after_close(about) && about.peek_any(front)) {
            // It closes once all its messages were received.
            about.keep_reader_awake();
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
        end.change_limits(queue_max(options_.send_hwm), queue_max(options_.recv_hwm));
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
    while (!departed_.empty()) {
        peer* const each = departed_.back();
        if (!pattern_->lets_go(*each)) {
            return;
        }
        departed_.pop_back();
        destroy(*each);
    }
}

void socket::destroy(peer& departed) noexcept {
    pattern_->on_detached(departed);
    departed_dropped_count_ += departed.dropped_count();
    const bool is_lost = !departed.end().has_ended() && !departed.end().peer_receives();
    if (departed.is_closed_by_peer() && is_lost && !only_subscribes()) {
        departed_dropped_count_ += departed.end().out.untaken().message_count;
    }
    const std::size_t index = departed.owner_index;
    peers_[index].swap(peers_.back());
    peers_[index]->owner_index = static_cast<std::uint32_t>(index);
    peers_.pop_back();
}

std::string socket::endpoint_of(peer& asked) const {
    const pipe::peer_info* const info = asked.info();
    const auto origin = std::find_if(bindings_.begin(), bindings_.end(), [&](const binding& each) {
        return each.origin_id == asked.end().origin_id;
    });
    if (origin != bindings_.end() && (!origin->listens || !has_host(origin->via))) {
        return origin->address;
    }
    if (info == nullptr || info->port == 0) {
        return {};
    }
    endpoint found;
    found.via = origin != bindings_.end() ? origin->via : scheme::tcp;
    found.address.host = info->properties.find(pipe::peer_address_property).value_or("");
    found.address.port = info->port;
    return found.text();
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
    peer* const found = pattern_->find_peer(routing_id);
    return found != nullptr ? result<peer_state>{state_of(*found)} : errc::host_unreachable;
}

result<void> socket::close_peer(std::span<const std::byte> routing_id, std::uint16_t code,
                                std::string_view reason) {
    if (const result<void> processed = process_mail(); !processed) {
        return processed.error();
    }
    return pattern_->close_peer(routing_id, code, reason);
}

result<void> socket::cut_off_peer(std::span<const std::byte> routing_id, std::uint16_t code,
                                  std::string_view reason) {
    if (const result<void> processed = process_mail(); !processed) {
        return processed.error();
    }
    return pattern_->cut_off_peer(routing_id, code, reason);
}

result<std::size_t> socket::send_many(std::span<const std::byte> routing_ids, outgoing& source,
                                      int* outcomes) {
    if (const result<void> processed = process_mail(); !processed) {
        return processed.error();
    }
    return pattern_->send_many(routing_ids, source, outcomes);
}

std::uint64_t socket::dropped_count() const noexcept {
    std::uint64_t count = departed_dropped_count_ + pattern_->undeliverable_count() +
                          departures_->dropped_message_count.load(std::memory_order_relaxed);
    for (const auto& each : peers_) {
        count += each->dropped_count();
    }
    return count;
}

// Endpoints.

/// @error protocol_not_supported  It cannot carry raw bytes, or only carries ZMTP patterns.
result<void> socket::check_transport(const endpoint& where) const {
    if (is_web(where.via) && options_.raw) {
        set_error_text("raw bytes do not travel over ws and wss");
        return errc::protocol_not_supported;
    }
    if (options_.has_foreign_peers() && where.via == scheme::inproc) {
        set_error_text("peers over inproc speak ZMTP, and those of this socket do not");
        return errc::protocol_not_supported;
    }
    return {};
}

void socket::note_endpoint(std::string text) noexcept {
    const std::lock_guard lock{last_endpoint_mutex_};
    last_endpoint_ = std::move(text);
}

/// Reports an own certificate that expires soon.
void socket::tell_expiry(const transport::tls_context_ptr& tls,
                         std::string_view endpoint) noexcept {
    constexpr auto expires = connection_event::certificate_expires;
    if (tls && monitored_->watches(expires)) {
        if (const auto rest = tls->take_expiry(transport::tls_context::clock::now())) {
            monitored_->on_connection_event(expires, *rest, endpoint);
        }
    }
}

result<void> socket::bind(std::string_view address) {
    set_error_text({});
    if (const result<void> processed = process_mail(); !processed) {
        return processed.error();
    }
    const result<endpoint> where = decode_endpoint(address, endpoint_use::listen);
    if (!where) {
        return where.error();
    }
    if (const result<void> checked = check_transport(*where); !checked) {
        return checked.error();
    }
    const result<void> bound =
        where->via == scheme::inproc ? bind_inproc(*where, address) : bind_network(*where, address);
    if (bound) {
        mailbox_->signal(); // ZMQ_EVENTS may have changed.
    }
    return bound;
}

result<void> socket::bind_inproc(const endpoint& where, std::string_view address) {
    // Operations that can fail come first: a bound name would stay bound.
    std::string text{address};
    bindings_.reserve(bindings_.size() + 1);
    binding added{text, {}, context_.next_origin_id(), scheme::inproc, true, {}, {}, {}, {}};
    const result<void> bound =
        context_.bind_inproc(where.path, {.binder = this,
                                          .mailbox = mailbox_,
                                          .send_hwm = options_.send_hwm,
                                          .recv_hwm = options_.recv_hwm,
                                          .routing_id = options_.routing_id,
                                          .type = options_.type,
                                          .conflates_sent = options_.conflates_sent(),
                                          .wants_newest = options_.conflates_received()});
    if (!bound) {
        return bound.error();
    }
    note_endpoint(std::move(text));
    bindings_.push_back(std::move(added));
    // Pipes that waited for the name have arrived; memory for one may be lacking until the next
    // call.
    const result<void> processed = process_mail();
    return processed || processed.error() == errc::no_memory ? result<void>{} : processed;
}

/// @error  As transport::tls_context::make().
result<std::shared_ptr<session::session_origin>> socket::make_origin(const endpoint& where,
                                                                     endpoint_use use) {
    auto made = std::make_shared<session::session_origin>();
    made->host = &context_;
    made->socket = mailbox_;
    made->options = std::make_shared<const socket_options>(options_);
    made->observer = monitored_;
    made->departures = departures_;
    made->inflated = inflated_;
    made->where = where;
    if (is_encrypted(where.via)) {
        auto tls = transport::tls_context::make(options_, where, use);
        if (!tls) {
            return tls.error();
        }
        made->tls = std::move(*tls);
    }
    made->id = context_.next_origin_id();
    return made;
}

result<void> socket::bind_network(const endpoint& where, std::string_view address) {
    bindings_.reserve(bindings_.size() + 1); // So that nothing fails once the listener runs.
    const auto tell_failed = [&](errc error) {
        monitored_->on_connection_event(connection_event::bind_failed, static_cast<int>(error),
                                        address.substr(address.find("://") + 3));
        return error;
    };
    const auto made = make_origin(where, endpoint_use::listen);
    if (!made) {
        return tell_failed(made.error());
    }
    const std::shared_ptr<session::session_origin>& origin = *made;
    const transport::listener::accept_handler accept =
        [origin, &owner = context_](int descriptor, transport::counted_connection_ptr who) {
            if (origin->observer->watches(connection_event::accepted)) {
                origin->observer->on_connection_event(
                    connection_event::accepted, descriptor,
                    transport::local_endpoint_text(descriptor, origin->where));
            }
            owner.add_dependant();
            try {
                session::session::accept(owner.choose_thread(origin->options->affinity), origin,
                                         descriptor, std::move(who));
            } catch (...) {
                owner.on_session_gone();
                throw;
            }
        };
    result<transport::listening> opened = transport::open_listening(where, options_, *monitored_);
    if (!opened) {
        return tell_failed(opened.error());
    }
    runtime::io_thread& thread = context_.choose_thread(options_.affinity);
    options_.use_descriptor = -1; // Now owned by the listener.
    boost::intrusive_ptr<transport::listener> listener;
    try {
        listener.reset(new transport::listener(thread.context(), *opened, origin->options,
                                               monitored_, departures_));
    } catch (...) {
        close_descriptor(opened->descriptor);
        throw;
    }
    binding added{
        opened->endpoint_text, {}, origin->id, where.via, true, listener, &thread, {}, origin->tls};
    if (!chooses_place(where)) {
        added.spelling = address;
    }
    // Moved: a copy could fail for lack of memory, and no caller would learn of it.
    const auto start = [listener, accept = transport::listener::accept_handler(accept)]() mutable {
        listener->start(std::move(accept));
    };
    note_endpoint(opened->endpoint_text);
    monitored_->on_connection_event(connection_event::listening, opened->descriptor,
                                    last_endpoint_);
    tell_expiry(origin->tls, last_endpoint_);
    context_.add_dependant();
    thread.post(start);
    bindings_.push_back(std::move(added));
    return {};
}

result<void> socket::connect(std::string_view address) {
    set_error_text({});
    if (const result<void> processed = process_mail(); !processed) {
        return processed.error();
    }
    const result<endpoint> where = decode_endpoint(address, endpoint_use::dial);
    if (!where) {
        return where.error();
    }
    if (const result<void> checked = check_transport(*where); !checked) {
        return checked.error();
    }
    const result<void> connected = where->via == scheme::inproc ? connect_inproc(*where, address)
                                   : is_connected_already(address)
                                       ? result<void>{}
                                       : connect_network(*where, address);
    if (connected) {
        mailbox_->signal(); // ZMQ_EVENTS may have changed.
    }
    return connected;
}

result<void> socket::connect_inproc(const endpoint& where, std::string_view address) {
    const std::uint64_t sends_max = queue_max(options_.send_hwm);
    const std::uint64_t recvs_max = queue_max(options_.recv_hwm);
    // The binder adds its own limits when it is known.
    const pipe::pipe_ptr joined{new pipe::pipe({.messages_max = sends_max}, {})};
    joined->is_inproc = true;
    joined->first.in.add_reader_limit(recvs_max);
    joined->first.conflate(options_.conflates_sent(), false);
    joined->first.wants_newest = options_.conflates_received();
    joined->first.origin_id = context_.next_origin_id();
    joined->first.arrival = joined->second.arrival = context_.next_arrival();
    joined->first.set_home(mailbox_, nullptr);
    joined->first.push_control(pipe::make_peer_info(options_.routing_id));
    std::string text{address};
    bindings_.push_back(
        {text, {}, joined->first.origin_id, scheme::inproc, false, {}, {}, joined, {}});
    peer* added = nullptr;
    try {
        added = &attach(joined->first, opener::us);
        context_.connect_inproc(where.path, joined);
    } catch (...) {
        if (added != nullptr) {
            destroy(*added);
        }
        bindings_.pop_back();
        throw;
    }
    note_endpoint(std::move(text));
    return {};
}

result<void> socket::connect_network(const endpoint& where, std::string_view address) {
    if (options_.lacks_security) {
        set_error_text(lacks_security_text);
        return errc::permission_denied;
    }
    if (!options_.socks_proxy.empty() && !transport::socks_proxy_of(options_)) {
        const std::string why = error_text();
        set_error_text("ZLINK_SOCKS_PROXY \"" + options_.socks_proxy + "\": " + why);
        return errc::invalid_argument;
    }
    runtime::io_thread& thread = context_.choose_thread(options_.affinity);
    auto made = make_origin(where, endpoint_use::dial);
    if (!made) {
        return made.error();
    }
    std::shared_ptr<session::session_origin> origin = std::move(*made);
    origin->target = where.text();
    pipe::end_ptr sessions_end;
    if (!options_.has_pipe_per_connection()) {
        const pipe::pipe_ptr whole{new pipe::pipe({.messages_max = queue_max(options_.send_hwm)},
                                                  {.messages_max = queue_max(options_.recv_hwm)})};
        whole->first.conflate(options_.conflates_sent(), options_.conflates_received());
        sessions_end = pipe::end_ptr(whole->second);
        whole->first.origin_id = origin->id;
        whole->first.arrival = context_.next_arrival();
        whole->first.set_home(mailbox_, nullptr);
        whole->second.set_home(thread.mailbox(), nullptr);
        whole->second.works_in_batches();
        attach(whole->first, opener::us);
    }
    tell_expiry(origin->tls, origin->target);
    std::string text{address};
    bindings_.push_back({text, {}, origin->id, where.via, false, {}, &thread, {}, {}});
    context_.add_dependant();
    try {
        session::session::dial(thread, std::move(origin), where, std::move(sessions_end));
    } catch (...) {
        context_.on_session_gone();
        bindings_.pop_back();
        throw;
    }
    note_endpoint(std::move(text));
    return {};
}

result<void> socket::reload_certificates() {
    set_error_text({});
    if (const result<void> processed = process_mail(); !processed) {
        return processed.error();
    }
    const auto has_none = [](const binding& each) { return !each.tls; };
    if (std::all_of(bindings_.begin(), bindings_.end(), has_none)) {
        set_error_text("ZLINK_TLS_RELOAD: no endpoint is bound with TLS");
        return errc::no_such_endpoint;
    }
    std::vector<transport::tls_rules> read;
    for (const binding& each : bindings_) {
        if (each.tls) {
            result<transport::tls_rules> rules = each.tls->read(options_);
            if (!rules) {
                return rules.error();
            }
            read.push_back(std::move(*rules));
        }
    }
    auto next = read.begin();
    for (const binding& each : bindings_) {
        if (each.tls) {
            each.tls->adopt(std::move(*next++));
            tell_expiry(each.tls, each.address);
        }
    }
    return {};
}

void socket::close() noexcept {
    for (binding& each : bindings_) {
        stop_binding(each, {});
    }
    mailbox_->shut([&](pipe::letter& about, std::uint32_t happened) {
        if (&about != this && (happened & pipe::event::attached) != 0) {
            turn_away(static_cast<pipe::pipe_end&>(about));
        }
    });
    for (const auto& each : peers_) {
        set_linger(each->end());
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

result<void> socket::start_monitor(std::string_view address, unsigned events) {
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
    return monitored_->start(context_, where->path, events);
}

} // namespace zlink::socket
