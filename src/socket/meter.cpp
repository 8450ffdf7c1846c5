// SPDX-License-Identifier: MPL-2.0
#include "socket/meter.hpp"

#include "base/limits.hpp"
#include "socket/pattern.hpp"
#include "socket/peer.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

namespace zlink::socket {

namespace {

std::int64_t now() noexcept {
    return std::chrono::steady_clock::now().time_since_epoch().count();
}

template<class Array>
void add_each(Array& to, const Array& other) noexcept {
    std::ranges::transform(to, other, to.begin(), std::plus{});
}

void add_connections(connection_totals& to, const connection_totals& other) noexcept {
    to.opened_count += other.opened_count;
    to.ended_count += other.ended_count;
    to.established_count += other.established_count;
    to.reconnected_count += other.reconnected_count;
    to.retry_count += other.retry_count;
    to.accept_failed_count += other.accept_failed_count;
    to.interrupted_count += other.interrupted_count;
    to.lingered_count += other.lingered_count;
    to.malformed_count += other.malformed_count;
    to.unsendable_count += other.unsendable_count;
    add_each(to.failed_counts, other.failed_counts);
    add_each(to.disconnected_counts, other.disconnected_counts);
}

direction_measures measures_of(const pipe::message_queue::totals& totals) noexcept {
    // The announcement of a peer may wait alone, which takes a byte.
    const pipe::queue_backlog waiting =
        totals.waiting.message_count != 0 ? totals.waiting : pipe::queue_backlog{};
    return {totals.sent.message_count, totals.sent.position, waiting, totals.highest_count};
}

measures measures_of(const peer& asked) noexcept {
    const pipe::message_queue::totals out = asked.end().out.measure();
    const pipe::message_queue::totals in = asked.end().in.measure();
    measures made;
    made.sent = measures_of(out);
    made.received = measures_of(in);
    const auto add_drops = [&](const pipe::message_queue::totals& totals) {
        made.drop(totals.conflates ? drop_reason::replaced : drop_reason::full,
                  totals.dropped_count);
    };
    add_drops(out);
    if (!asked.is_inproc()) { // Otherwise the peer, a socket too, counts them.
        add_drops(in);
    }
    made.peer_count = 1;
    return made;
}

void add_counters(measures& to, const connection_counters* counters) noexcept {
    if (counters != nullptr) {
        const connection_totals totals = counters->totals();
        add_connections(to.connections, totals);
        to.drop(drop_reason::interrupted, totals.interrupted_count);
        to.drop(drop_reason::linger, totals.lingered_count);
        to.drop(drop_reason::malformed, totals.malformed_count);
        to.drop(drop_reason::unsendable, totals.unsendable_count);
    }
}

std::string hexadecimal(std::uint32_t id) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (int shift = 28; shift >= 0; shift -= 4) {
        text += digits[(id >> shift) & 15U];
    }
    return text;
}

/// @param of  Null: it belongs to no endpoint.
socket_sample::peer describe(const peer& asked, const endpoint_meter* of, const measures& known) {
    socket_sample::peer told;
    told.number = asked.end().arrival;
    told.endpoint = of != nullptr ? of->address : "";
    const pipe::peer_info* const info = asked.info();
    told.address = asked.address(of != nullptr ? of->via : scheme::tcp);
    if (const std::uint32_t id = asked.stream_id; id != 0) {
        told.routing_id = hexadecimal(id);
    } else if (info != nullptr) {
        told.routing_id = info->routing_id;
    }
    told.of = known;
    return told;
}

/// Raises `value` to what was told before, and remembers it.
void never_decrease(std::uint64_t& value, std::uint64_t& told) noexcept {
    value = told = std::max(value, told);
}

} // namespace

void direction_measures::add(const direction_measures& other) noexcept {
    message_count += other.message_count;
    bytes += other.bytes;
    waiting.message_count += other.waiting.message_count;
    waiting.bytes += other.waiting.bytes;
    highest_count = std::max(highest_count, other.highest_count);
}

void measures::add(const measures& other) noexcept {
    sent.add(other.sent);
    received.add(other.received);
    add_each(dropped_counts, other.dropped_counts);
    peer_count += other.peer_count;
    add_connections(connections, other.connections);
    blocked_count += other.blocked_count;
    blocked_nanoseconds += other.blocked_nanoseconds;
    refused_count += other.refused_count;
}

// One socket.

void socket_meter::set_name(std::string_view name) {
    std::string copy{name};
    const std::lock_guard guard{mutex_};
    name_.swap(copy);
}

std::string socket_meter::name() const {
    const std::lock_guard guard{mutex_};
    return name_;
}

void socket_meter::reserve_one() {
    const std::lock_guard guard{mutex_};
    forget_undone();
    if (endpoints_.size() == endpoints_.capacity()) {
        endpoints_.reserve(std::max<std::size_t>(1, 2 * endpoints_.size()));
    }
}

void socket_meter::add(endpoint_meter made) noexcept {
    const std::lock_guard guard{mutex_};
    made.is_listed = listed_count_ < limits::metrics_endpoints_max;
    listed_count_ += made.is_listed ? 1 : 0;
    has_others_ |= !made.is_listed;
    endpoints_.push_back(std::move(made));
}

void socket_meter::remove(std::uint64_t call_id) noexcept {
    const std::lock_guard guard{mutex_};
    if (endpoint_meter* const undone = find(call_id); undone != nullptr) {
        undone->is_undone = true;
    }
    forget_undone();
}

endpoint_meter* socket_meter::find(std::uint64_t call_id) noexcept {
    const auto found = std::ranges::lower_bound(endpoints_, call_id, {}, &endpoint_meter::call_id);
    return found != endpoints_.end() && found->call_id == call_id ? &*found : nullptr;
}

/// Adds up undone endpoints whose sessions have ended. Their last peers are without one then.
void socket_meter::forget_undone() noexcept {
    std::erase_if(endpoints_, [&](const endpoint_meter& each) {
        const bool has_ended = each.is_undone && (!each.counters || each.counters.use_count() == 1);
        if (has_ended) {
            forget(each);
        }
        return has_ended;
    });
}

void socket_meter::forget(const endpoint_meter& ended) noexcept {
    measures last = ended.departed;
    add_counters(last, ended.counters.get());
    departed_.add(last);
    if (ended.is_listed) {
        --listed_count_;
    } else {
        departed_others_.add(last);
    }
}

void socket_meter::add_departed(const peer& gone, std::uint64_t lost_count) noexcept {
    measures last = measures_of(gone);
    last.peer_count = 0;
    last.sent.waiting = last.received.waiting = {};
    last.drop(drop_reason::disconnected, lost_count);
    departed_of(gone).add(last);
}

void socket_meter::count_dropped(const peer& of, drop_reason why, std::uint64_t count) noexcept {
    const std::lock_guard guard{mutex_};
    departed_of(of).drop(why, count);
}

/// The totals of departed peers that those of `asked` are added to.
measures& socket_meter::departed_of(const peer& asked) noexcept {
    endpoint_meter* const of = find(asked.end().call_id);
    return of != nullptr ? of->departed : departed_;
}

void socket_meter::close() noexcept {
    const std::lock_guard guard{mutex_};
    for (const auto& each : *peers_) {
        add_departed(*each, 0);
    }
    departed_.drop(drop_reason::unreachable, rules_->undeliverable_count());
    peers_ = nullptr;
    rules_ = nullptr;
    for (endpoint_meter& each : endpoints_) {
        each.is_undone = true;
    }
    forget_undone();
}

web::http_counters_ptr socket_meter::http() {
    const std::lock_guard guard{mutex_};
    if (!http_) {
        http_ = std::make_shared<web::http_counters>();
    }
    return http_;
}

void socket_meter::add_own(measures& to) noexcept {
    std::uint64_t blocked = blocked_nanoseconds_;
    const std::int64_t since = blocked_since_; // Second: if it has just ended, it counts later.
    if (since != 0) {
        blocked += static_cast<std::uint64_t>(std::max<std::int64_t>(now() - since, 0));
    }
    never_decrease(blocked, told_blocked_nanoseconds_);
    to.blocked_nanoseconds += blocked;
    to.blocked_count += blocked_count_;
    to.refused_count += refused_count_;
    if (rules_ != nullptr) {
        to.drop(drop_reason::unreachable, rules_->undeliverable_count());
    }
}

socket_sample socket_meter::sample(bool with_peers) {
    const std::lock_guard guard{mutex_};
    forget_undone();
    socket_sample made{number_, type_, name_, {}, {}, {}, {}, {}};
    std::vector<measures> by_endpoint(endpoints_.size());
    measures without_endpoint;
    const endpoint_meter* of = nullptr;
    for (std::size_t index = 0; peers_ != nullptr && index < peers_->size(); ++index) {
        const peer& each = *(*peers_)[index];
        const std::uint64_t call_id = each.end().call_id;
        if (of == nullptr || of->call_id != call_id) { // Those of one endpoint mostly follow
            of = find(call_id);                        // each other.
        }
        const measures known = measures_of(each);
        (of != nullptr ? by_endpoint[static_cast<std::size_t>(of - endpoints_.data())]
                       : without_endpoint)
            .add(known);
        if (with_peers) {
            made.peers.push_back(describe(each, of, known));
        }
    }
    made.of = departed_;
    made.of.add(without_endpoint);
    measures others = departed_others_;
    for (std::size_t index = 0; index < endpoints_.size(); ++index) {
        endpoint_meter& each = endpoints_[index];
        measures& sum = by_endpoint[index];
        sum.add(each.departed);
        add_counters(sum, each.counters.get());
        never_decrease(sum.sent.bytes, each.told_sent_bytes);
        never_decrease(sum.received.bytes, each.told_received_bytes);
        made.of.add(sum);
        if (!each.is_listed) {
            others.add(sum);
        } else if (!each.is_undone) {
            made.endpoints.push_back({each.address, each.listens, sum});
        }
    }
    if (has_others_) {
        made.others = {"", false, others};
    }
    add_own(made.of);
    if (http_) {
        made.http = http_->totals();
    }
    return made;
}

std::optional<measures> socket_meter::final_measures() noexcept {
    const std::lock_guard guard{mutex_};
    forget_undone();
    if (!endpoints_.empty()) {
        return {};
    }
    measures made = departed_;
    add_own(made);
    return made;
}

void socket_meter::begin_blocking() noexcept {
    ++blocked_count_;
    if (blocked_call_count_++ == 0) {
        blocked_since_ = now();
    }
}

void socket_meter::end_blocking() noexcept {
    if (--blocked_call_count_ != 0) {
        return; // Another thread waits, too: the time counts once.
    }
    const std::int64_t since = blocked_since_;
    blocked_since_ = 0;
    blocked_nanoseconds_ += static_cast<std::uint64_t>(now() - since);
}

// All sockets of a context.

socket_meter_ptr meter_registry::open(socket_type type, const socket_meter::peer_list& peers,
                                      const pattern& rules) {
    const std::lock_guard guard{mutex_};
    forget_closed();
    // Room for all in the list of closed ones, so that close() cannot fail.
    if (const std::size_t count = closed_.size() + open_.size() + 1; count > closed_.capacity()) {
        closed_.reserve(2 * count);
    }
    auto made = std::make_shared<socket_meter>(opened_count_ + 1, type, peers, rules);
    open_.push_back(made);
    ++opened_count_;
    return made;
}

void meter_registry::close(const socket_meter_ptr& closed) noexcept {
    const std::lock_guard guard{mutex_};
    if (std::erase(open_, closed) == 0) {
        return;
    }
    closed->close();
    closed_.push_back(closed);
    forget_closed();
}

void meter_registry::forget_closed() noexcept {
    std::erase_if(closed_, [&](const socket_meter_ptr& each) {
        const std::optional<measures> last = each->final_measures();
        if (last) {
            forgotten_.add(*last);
        }
        return last.has_value();
    });
}

context_sample meter_registry::sample(bool with_peers) {
    context_sample made;
    std::vector<socket_meter_ptr> open;
    std::vector<socket_meter_ptr> closed;
    {
        const std::lock_guard guard{mutex_};
        forget_closed();
        open = open_;
        closed = closed_;
        made.of = forgotten_;
        made.opened_count = opened_count_;
    }
    made.sockets.reserve(open.size());
    for (const socket_meter_ptr& each : open) {
        made.sockets.push_back(each->sample(with_peers));
        made.of.add(made.sockets.back().of);
    }
    for (const socket_meter_ptr& each : closed) {
        made.of.add(each->sample(false).of);
    }
    return made;
}

} // namespace zlink::socket
