// SPDX-License-Identifier: MPL-2.0
#include "socket/stream.hpp"

#include "base/byte_order.hpp"
#include "base/retry.hpp"
#include "files/sent_file.hpp"
#include "pipe/close_request.hpp"
#include "socket/stream_encoding.hpp"
#include "wire/websocket/close.hpp"

#include <algorithm>
#include <utility>

namespace zlink::socket {

std::uint32_t stream::make_id() noexcept {
    while (next_id_ == 0 || peers_by_id_.find(next_id_) != nullptr || http_clients_.has(next_id_)) {
        ++next_id_;
    }
    return next_id_++;
}

void stream::on_attached(peer& added) {
    added.stream_id = make_id();
    const std::array<std::byte, id_bytes> id = routing_id_bytes(added.stream_id);
    added.routing_id.assign(reinterpret_cast<const char*>(id.data()), id.size());
    queue_.attach(added);
    added.carries_http = added.end().carries_http;
    if (added.carries_http) {
        http_clients_.add(added);
    } else {
        peers_by_id_.insert(added.stream_id, added);
    }
    if (reconnections_.add(added)) {
        return queue_.deactivate(added);
    }
    queue_.look_at(added);
}

void stream::on_readable(peer& woken) {
    if (!woken.is_held) {
        queue_.activate(woken);
    }
}

void stream::on_detached(peer& removed) {
    queue_.detach(removed);
    forget(removed);
    http_clients_.remove(removed);
    leaving_.erase(removed.stream_id);
    reconnections_.remove(removed);
    if (receiving_ == &removed) {
        receiving_ = nullptr;
    }
}

/// Not only in on_detached(): by then the next connection may have been announced.
void stream::on_drained(peer& gone) {
    forget(gone);
    const bool was_announced =
        gone.carries_http ? http_clients_.is_owed(gone) : gone.info() != nullptr;
    if (options_.stream_events && was_announced) {
        retry_allocation([&] { events_.push(gone.stream_id, false, gone.info()); });
    }
    reconnections_.remove(gone);
}

/// Nothing more can be sent to the peer.
void stream::forget(peer& gone) noexcept {
    peers_by_id_.erase(gone.stream_id);
    if (gone.carries_http) {
        http_clients_.forget(gone);
    }
    if (sending_ == &gone) {
        sending_ = nullptr;
        expected_ = expected::rest;
        ++undeliverable_count_;
    }
}

void stream::on_peer_info(peer& about) {
    const bool has_gone = about.info()->properties.find(pipe::reason_property).has_value();
    if (about.carries_http) {
        if (!about.info()->properties.find(pipe::detail_property)) {
            return;
        }
        peers_by_id_.insert(about.stream_id, about); // First: it may throw, and is tried again.
        about.carries_http = false;                  // It speaks WebSocket from now on.
        http_clients_.remove(about);
    }
    if (options_.stream_events && !has_gone) {
        retry_allocation([&] { events_.push(about.stream_id, true, about.info()); });
    }
}

void stream::on_closed(peer& gone) {
    forget(gone);
}

result<void> stream::close_peer(std::span<const std::byte> routing_id, std::uint16_t code,
                                std::string_view reason) {
    if (routing_id.size() != id_bytes) {
        return errc::invalid_argument;
    }
    peer* const found = reach(load_big_endian<std::uint32_t>(routing_id.data()));
    if (found == nullptr) {
        return errc::host_unreachable;
    }
    const std::chrono::milliseconds linger{options_.linger};
    leaving_.emplace(found->stream_id, found);
    pipe::close_request& asked = set_requested_close(
        *found, code, reason,
        linger.count() > 0 ? std::min(linger, limits::closing_max) : limits::closing_max);
    asked.add_reference();
    found->end().push_control(&asked);
    found->end().other().deliver(pipe::event::leaving);
    forget(*found);
    return {};
}

/// Sets the close request that the session reads outside the queue, unless one is set already.
/// @param longest  The remaining time of the connection, enforced by the session.
pipe::close_request& stream::set_requested_close(peer& leaving, std::uint16_t code,
                                                 std::string_view reason,
                                                 std::chrono::milliseconds longest) {
    std::atomic<pipe::block*>& place = leaving.end().whole().requested_close;
    if (place.load(std::memory_order_relaxed) == nullptr) {
        place.store(new pipe::close_request(code, reason, longest), std::memory_order_release);
    }
    return static_cast<pipe::close_request&>(*place.load(std::memory_order_relaxed));
}

/// The peer, or HTTP client, whose connection stands.
peer* stream::reach(std::uint32_t id) const noexcept {
    peer* const found = peers_by_id_.find(id);
    return found != nullptr ? found : http_clients_.find(id);
}

peer* stream::find_peer(std::span<const std::byte> routing_id) noexcept {
    if (routing_id.size() != id_bytes) {
        return nullptr;
    }
    const auto id = load_big_endian<std::uint32_t>(routing_id.data());
    if (peer* const found = reach(id); found != nullptr) {
        return found;
    }
    const auto found = leaving_.find(id);
    return found != leaving_.end() && !found->second->is_closed_by_peer() ? found->second : nullptr;
}

result<void> stream::cut_off_peer(std::span<const std::byte> routing_id, std::uint16_t code,
                                  std::string_view reason) {
    if (routing_id.size() != id_bytes) {
        return errc::invalid_argument;
    }
    peer* const found = find_peer(routing_id);
    if (found == nullptr) {
        return errc::host_unreachable;
    }
    cut_off(*found, code, reason);
    return {};
}

void stream::cut_off(peer& leaving, std::uint16_t code, std::string_view reason) {
    set_requested_close(leaving, code, reason, {});
    leaving.end().other().deliver(pipe::event::cut_off);
    forget(leaving);
    leaving_.erase(leaving.stream_id);
}

/// Closes the connection to a full peer, if the application has enabled that.
/// @return Whether it is enabled.
bool stream::cut_off_full(peer& full) {
    if (options_.full_close_code == 0) {
        return false;
    }
    cut_off(full, static_cast<std::uint16_t>(options_.full_close_code), "queue full");
    return true;
}

errc stream::on_no_room(std::span<const std::byte> routing_id, bool was_chosen) {
    peer* const full = find_peer(routing_id);
    if (full == nullptr || !cut_off_full(*full)) {
        return errc::again;
    }
    if (was_chosen) {
        expected_ = expected::rest;
    }
    ++undeliverable_count_;
    return errc::host_unreachable;
}

result<void> stream::reply(std::uint32_t routing_id, std::unique_ptr<web::reply>& part) {
    peer* const client = http_clients_.find(routing_id);
    if (client == nullptr) {
        return errc::host_unreachable;
    }
    if (!http_clients_.expects(*client, part->what)) {
        return errc::wrong_state;
    }
    if (!has_credit(*client)) {
        return errc::again;
    }
    const http_clients::state next = http_clients::state_after(*part);
    part->counted_bytes = part->content.size();
    pipe::count_allocated(part->counted_bytes);
    client->end().push_control(part.release());
    http_clients_.change(*client, next);
    return {};
}

void stream::close_gracefully(peer& leaving) {
    constexpr auto code = static_cast<std::uint16_t>(wire::websocket::close_code::going_away);
    leaving.end().push_control(new pipe::close_request(code, "going away"));
    forget(leaving);
}

// Sending.

result<void> stream::send(outgoing& source) {
    if (expected_ == expected::payload) [[likely]] {
        return send_payload(source);
    }
    if (expected_ == expected::rest && !source.more()) {
        expected_ = expected::routing_id;
        return {};
    }
    return choose(source);
}

/// Finds the peer that `routing_id` names.
result<void> stream::choose(const outgoing& routing_id) {
    if (!routing_id.more()) {
        return errc::invalid_argument;
    }
    expected_ = expected::rest;
    if (routing_id.bytes() != id_bytes) {
        return errc::invalid_argument;
    }
    peer* const target = peers_by_id_.find(load_big_endian<std::uint32_t>(routing_id.data()));
    if (target == nullptr) {
        ++undeliverable_count_;
        return errc::host_unreachable;
    }
    if (!has_credit(*target)) [[unlikely]] {
        expected_ = expected::routing_id; // It will be sent again.
        return errc::again;
    }
    sending_ = target;
    expected_ = expected::payload;
    return {};
}

/// Whether a message may be sent there. If not, a writable event will follow.
bool stream::has_credit(peer& target) {
    if (target.has_credit()) [[likely]] {
        target.restart();
        return true;
    }
    target.mark_writer_parked();
    return target.check_again_to_write();
}

result<void> stream::send_to(std::uint32_t routing_id, outgoing& source) {
    if (expected_ == expected::payload) [[unlikely]] {
        return errc::wrong_state;
    }
    peer* const target = peers_by_id_.find(routing_id);
    if (target == nullptr) [[unlikely]] {
        ++undeliverable_count_;
        return errc::host_unreachable;
    }
    if (!has_credit(*target)) [[unlikely]] {
        return errc::again;
    }
    if (source.bytes() > body_bytes_max(*target)) [[unlikely]] {
        return errc::message_too_large;
    }
    if (!is_valid_text(source)) [[unlikely]] {
        return errc::invalid_argument;
    }
    expected_ = expected::routing_id;
    deflation_.push(*target, takeable{source});
    target->finish_message();
    return {};
}

result<void> stream::send_payload(outgoing& source) {
    if (source.more()) {
        return errc::invalid_argument;
    }
    if (source.bytes() > body_bytes_max(*sending_)) {
        return errc::message_too_large;
    }
    if (!is_valid_text(source)) {
        return errc::invalid_argument;
    }
    deflation_.push(*sending_, takeable{source});
    sending_->finish_message();
    sending_ = nullptr;
    expected_ = expected::routing_id;
    return {};
}

result<std::size_t> stream::send_many(std::span<const std::byte> routing_ids, outgoing& source,
                                      int* outcomes) {
    if (expected_ == expected::payload) {
        return errc::wrong_state;
    }
    if (source.bytes() > wire::length::body_bytes_limit) {
        return errc::message_too_large;
    }
    if (!is_valid_text(source)) {
        return errc::invalid_argument;
    }
    const std::size_t count = routing_ids.size() / id_bytes;
    if (outcomes != nullptr) {
        std::fill_n(outcomes, count, static_cast<int>(errc::no_memory)); // For those not reached.
    }
    expected_ = expected::routing_id;
    deflation::broadcast compressed{deflation_, source};
    std::size_t sent_count = 0;
    for (std::size_t index = 0; index < count; ++index) {
        const std::byte* const id = routing_ids.data() + index * id_bytes;
        peer* const target = peers_by_id_.find(load_big_endian<std::uint32_t>(id));
        errc outcome{};
        if (target == nullptr) {
            ++undeliverable_count_;
            outcome = errc::host_unreachable;
        } else if (!target->has_credit()) {
            target->count_dropped();
            outcome = errc::again;
            cut_off_full(*target);
        } else {
            outgoing* const smaller = compressed.for_peer(*target);
            push_payload(*target, smaller != nullptr ? *smaller : source,
                         tuning::broadcast_external_bytes_min);
            target->finish_message();
            ++sent_count;
        }
        if (outcomes != nullptr) {
            outcomes[index] = static_cast<int>(outcome);
        }
    }
    return sent_count;
}

/// Sends the leading `messages` that are for `to`, as many as possible.
result<std::size_t> stream::send_run(peer& to, std::span<const stream_message> messages) {
    if ((messages.front().flags & ~stream_message::text) != 0) {
        return errc::invalid_argument;
    }
    if (!has_credit(to)) {
        return errc::again;
    }
    std::size_t count = 0;
    std::size_t copied_count = 0; // Up to this index messages are copied.
    errc refused{};
    try {
        do {
            pipe::block* payload = nullptr; // The block that holds it, if any.
            if (!lending_.is_empty() && count >= copied_count) {
                const stream_lending::frames lent = lending_.find(messages.subspan(count));
                if (stream_lending::push(to, lent)) {
                    count += lent.count;
                    continue;
                }
                copied_count = count + lent.count;
                payload = lent.in != nullptr ? lent.in->payload : nullptr;
            }
            const stream_message& each = messages[count];
            if ((each.flags & ~stream_message::text) != 0) [[unlikely]] {
                refused = errc::invalid_argument;
                break;
            }
            if (each.bytes > body_bytes_max(to)) [[unlikely]] {
                refused = errc::message_too_large;
                break;
            }
            outgoing source = payload != nullptr ? outgoing{*payload, each.bytes}
                                                 : outgoing{each.data, each.bytes, false};
            if (each.flags != 0) {
                source.mark_text();
                if (!is_valid_text(source)) {
                    refused = errc::invalid_argument;
                    break;
                }
            }
            deflation_.push(to, takeable{source});
            to.end().out.end_message();
            ++count;
        } while (count < messages.size() && peer_of(messages[count]) == peer_of(messages.front()) &&
                 to.has_credit());
    } catch (const std::bad_alloc&) {
        refused = errc::no_memory;
    }
    if (count == 0) {
        return refused;
    }
    to.end().publish_messages();
    return count;
}

result<std::size_t> stream::send_batch(std::span<const stream_message> messages) {
    if (expected_ == expected::payload) {
        return errc::wrong_state;
    }
    std::size_t sent_count = 0;
    while (sent_count < messages.size()) {
        const std::span rest = messages.subspan(sent_count);
        peer* const target =
            peers_by_id_.find(load_big_endian<std::uint32_t>(rest.front().routing_id.data()));
        const result<std::size_t> sent = target != nullptr
                                             ? send_run(*target, rest)
                                             : result<std::size_t>{errc::host_unreachable};
        if (!sent && sent_count == 0) {
            undeliverable_count_ += target == nullptr ? 1 : 0;
            return sent;
        }
        if (!sent) {
            break;
        }
        sent_count += *sent;
    }
    expected_ = expected::routing_id;
    return sent_count;
}

result<void> stream::send_file(std::uint32_t routing_id, const files::file_region& region) {
    if (expected_ == expected::payload) {
        return errc::wrong_state;
    }
    peer* const target = peers_by_id_.find(routing_id);
    if (target == nullptr) {
        ++undeliverable_count_;
        return errc::host_unreachable;
    }
    if (!has_credit(*target)) {
        return errc::again;
    }
    if (region.bytes > body_bytes_max(*target)) {
        return errc::message_too_large;
    }
    if (region.bytes == 0 || target->frames() == pipe::layout::masked_websocket) {
        if (const result<void> sent = send_read(*target, region); !sent) {
            return sent;
        }
    } else {
        target->end().push_control(new files::sent_file(region));
    }
    expected_ = expected::routing_id;
    return {};
}

/// Sends a copy of the region.
result<void> stream::send_read(peer& to, const files::file_region& region) {
    pipe::message payload;
    payload.init_bytes(region.bytes);
    const int failed = region.file->read(payload.data(), region.bytes, region.offset);
    if (failed == 0) {
        outgoing source{std::move(payload), false};
        push_payload(to, takeable{source}, tuning::external_bytes_min);
        to.finish_message();
    }
    payload.close();
    return failed == 0 ? result<void>{} : static_cast<errc>(failed);
}

bool stream::send_at_once(const std::byte* body, std::size_t bytes, bool more) noexcept {
    if (more || expected_ != expected::payload || bytes >= tuning::external_bytes_min)
        [[unlikely]] {
        return false;
    }
    peer& target = *sending_;
    if (deflation_.is_for(target, bytes) ||
        !target.end().out.has_room(wire_bytes_max(target, bytes))) [[unlikely]] {
        return false;
    }
    push_short_payload(target, body, bytes);
    target.finish_message();
    sending_ = nullptr;
    expected_ = expected::routing_id;
    return true;
}

// Receiving.

result<void> stream::recv(incoming& target) {
    lending_.end(events_);
    switch (awaited_) {
    case awaited::routing_id:
        return recv_routing_id(target);
    case awaited::payload:
        return recv_payload(target);
    case awaited::event:
    case awaited::detail:
        break;
    }
    return recv_event(target);
}

result<void> stream::recv_routing_id(incoming& target) {
    pipe::frame front;
    // Peeking at a peer may produce an event, which comes first.
    peer* const from = events_.empty() ? queue_.next(front) : nullptr;
    if (!events_.empty()) [[unlikely]] {
        target.take_copy(routing_id_bytes(events_.front().id).data(), id_bytes, true);
        awaited_ = awaited::event;
        return {};
    }
    if (from == nullptr) {
        return errc::again;
    }
    target.take_copy(routing_id_bytes(from->stream_id).data(), id_bytes, true);
    receiving_ = from;
    awaited_ = awaited::payload;
    return {};
}

result<void> stream::recv_payload(incoming& target) {
    if (receiving_ == nullptr) {
        target.take_copy(routing_id_bytes(0).data(), 0,
                         false); // The payload of the announced peer is no longer available.
        awaited_ = awaited::routing_id;
        return {};
    }
    peer& from = *receiving_;
    pipe::frame front;
    stream_peek::look(from, front);
    take(from, front, target);
    queue_.took_in_turn();
    receiving_ = nullptr;
    awaited_ = awaited::routing_id;
    return {};
}

result<void> stream::recv_from(std::uint32_t& routing_id, incoming& target) {
    if (awaited_ != awaited::routing_id) [[unlikely]] {
        return errc::wrong_state;
    }
    lending_.end(events_);
    pipe::frame front;
    // Peeking at a peer may produce an event, which comes first.
    peer* const from = events_.empty() ? queue_.next(front) : nullptr;
    if (!events_.empty()) [[unlikely]] {
        routing_id = events_.front().id;
        awaited_ = awaited::event;
        try {
            return recv_event(target);
        } catch (...) {
            awaited_ = awaited::routing_id;
            throw;
        }
    }
    if (from == nullptr) [[unlikely]] {
        return errc::again;
    }
    take(*from, front, target);
    routing_id = from->stream_id;
    queue_.took_in_turn();
    return {};
}

result<std::size_t> stream::recv_batch(std::span<stream_message> messages) {
    if (awaited_ != awaited::routing_id) {
        return errc::wrong_state;
    }
    lending_.end(events_);
    lending_.begin(messages.size());
    pipe::frame front;
    // Peeking at a peer may produce an event, which comes first.
    peer* from = events_.empty() ? queue_.next(front) : nullptr;
    if (!events_.empty()) {
        return lending_.lend(events_, messages);
    }
    if (from == nullptr) {
        return errc::again;
    }
    std::size_t count = 0;
    do {
        const std::size_t taken =
            std::min<std::size_t>(messages.size() - count, queue_.turn_rest());
        const std::size_t lent = lending_.lend(*from, front, messages.subspan(count, taken));
        if (from->carries_http) [[unlikely]] { // It sends one request, and waits for the reply.
            http_clients_.on_request(*from);
            messages[count].flags = stream_message::request;
        }
        queue_.took_in_turn(static_cast<unsigned>(lent));
        count += lent;
        if (count == messages.size() || lending_.is_full()) {
            break;
        }
        from = queue_.next_without_parking(front);
    } while (from != nullptr && events_.empty());
    return count;
}

void stream::take(peer& from, const pipe::frame& front, incoming& target) {
    from.take(front, target);
    if (target.into != nullptr && (front.flags & pipe::flag_text) != 0) {
        target.into->mark_text();
    }
    if (from.carries_http) [[unlikely]] {
        http_clients_.on_request(from);
        if (target.into != nullptr) {
            target.into->mark_request();
        }
    }
}

std::size_t stream::recv_id_at_once(void* to, std::size_t capacity) noexcept {
    pipe::frame front;
    if (capacity < id_bytes || !events_.empty()) [[unlikely]] {
        return pipe::message_queue::nothing;
    }
    peer* const from = queue_.next_at_once(front);
    if (from == nullptr || !events_.empty()) [[unlikely]] {
        return pipe::message_queue::nothing;
    }
    store_big_endian(static_cast<std::byte*>(to), std::uint32_t{from->stream_id});
    receiving_ = from;
    awaited_ = awaited::payload;
    return id_bytes + pipe::message_queue::more_follows;
}

std::size_t stream::recv_at_once(void* to, std::size_t capacity) noexcept {
    lending_.end(events_);
    if (awaited_ == awaited::routing_id) {
        return recv_id_at_once(to, capacity);
    }
    if (awaited_ != awaited::payload || receiving_ == nullptr) {
        return pipe::message_queue::nothing;
    }
    peer& from = *receiving_;
    pipe::frame front;
    stream_peek::look(from, front); // There is one, with no control object before it.
    if (front.reference != nullptr || front.body_bytes > capacity || from.carries_http) {
        return pipe::message_queue::nothing;
    }
    copy_bytes(to, front.body, front.body_bytes);
    from.end().pop(front);
    queue_.took_in_turn();
    receiving_ = nullptr;
    awaited_ = awaited::routing_id;
    return front.body_bytes;
}

result<void> stream::recv_event(incoming& target) {
    const stream_events::event& about = events_.front();
    if (awaited_ == awaited::event) {
        const std::byte event{about.is_connect};
        target.take_copy(&event, 1, true);
        awaited_ = awaited::detail;
        return {};
    }
    const auto text = std::as_bytes(std::span{about.text()});
    target.take_copy(text.data(), text.size(), false);
    if (target.into != nullptr) {
        about.info->add_reference();
        target.into->attach_peer(about.info);
    }
    events_.pop();
    awaited_ = awaited::routing_id;
    return {};
}

bool stream::can_recv() {
    lending_.end(events_);
    pipe::frame front;
    return awaited_ != awaited::routing_id || !events_.empty() || queue_.next(front) != nullptr ||
           !events_.empty();
}

} // namespace zlink::socket
