// SPDX-License-Identifier: MPL-2.0
#include "socket/stream.hpp"

#include "base/byte_order.hpp"
#include "base/retry.hpp"
#include "pipe/close_request.hpp"
#include "wire/websocket/close.hpp"
#include "wire/websocket/utf8.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <type_traits>
#include <utility>

namespace zlink::socket {

namespace {

using bytes_of_id = std::array<std::byte, 4>;

bytes_of_id bytes_of(std::uint32_t id) noexcept {
    bytes_of_id data;
    store_big_endian(data.data(), id);
    return data;
}

std::uint64_t wire_bytes_max(const peer& to, std::size_t body_bytes) noexcept {
    return body_bytes + (to.frames() == pipe::layout::length
                             ? pipe::length_layout::header_bytes_max
                             : pipe::websocket_layout::header_bytes_max);
}

std::uint64_t body_bytes_max(const peer& to) noexcept {
    return to.frames() == pipe::layout::length ? wire::length::body_bytes_limit
                                               : wire::websocket::payload_bytes_limit;
}

std::uint8_t flags_of(const outgoing& source) noexcept {
    return static_cast<std::uint8_t>((source.is_text() ? pipe::flag_text : 0) |
                                     (source.is_compressed() ? pipe::flag_compressed : 0));
}

/// Whether a payload that is marked as text is UTF-8: otherwise a peer over ws or wss would close
/// its connection.
bool is_what_it_says(const outgoing& source) noexcept {
    return !source.is_text() ||
           wire::websocket::is_utf8({reinterpret_cast<const char*>(source.data()), source.bytes()});
}

/// Fills in `out` member by member: a processor stalls when it loads a whole that was just stored
/// in parts.
void tell_lent(stream_message& out, const bytes_of_id& from, const std::byte* body,
               std::size_t bytes, std::uint8_t flags) noexcept {
    out.routing_id = from;
    out.flags = (flags & pipe::flag_text) != 0 ? stream_message::text : 0;
    out.data = body;
    out.bytes = bytes;
}

/// The routing id as one number: a byte array is compared byte by byte.
std::uint32_t peer_of(const stream_message& message) noexcept {
    return std::bit_cast<std::uint32_t>(message.routing_id);
}

/// Whether a message has no flags, and the same peer as `other`.
bool is_plain_to(const stream_message& message, const stream_message& other) noexcept {
    return (static_cast<std::uint32_t>(message.flags) | (peer_of(message) ^ peer_of(other))) == 0;
}

/// Appends a payload whose bytes are not changed.
template<class Layout>
void push_plain(pipe::message_queue& out, outgoing& source, std::size_t referenced_bytes_min) {
    if (source.bytes() < referenced_bytes_min) {
        return out.push_copy<Layout>(source.data(), source.bytes(), flags_of(source));
    }
    pipe::block* const shared = source.share();
    try {
        out.push_reference<Layout>(shared, source.bytes(), flags_of(source));
    } catch (...) {
        source.take_back(shared);
        throw;
    }
}

/// Appends a masked payload. A large one is copied, too, into its own block.
void push_masked(pipe::message_queue& out, const outgoing& source) {
    const std::uint8_t flags = flags_of(source);
    if (source.bytes() < limits::external_bytes_min) {
        return out.push_copy<pipe::masked_websocket_layout>(source.data(), source.bytes(), flags);
    }
    pipe::block* const masked = pipe::make_block(source.bytes());
    try {
        const wire::websocket::mask_key key = random_bytes();
        wire::websocket::copy_masked(masked->data, {source.data(), source.bytes()}, key);
        out.push_reference<pipe::masked_websocket_layout>(masked, source.bytes(), flags, key);
    } catch (...) {
        masked->drop();
        throw;
    }
}

/// Appends a payload for a peer that has credit. The caller must end the message.
/// @param referenced_bytes_min  Shorter payloads are copied.
void push(peer& to, outgoing& source, std::size_t referenced_bytes_min) {
    pipe::message_queue& out = to.end().out;
    switch (to.frames()) {
    case pipe::layout::length:
        push_plain<pipe::length_layout>(out, source, referenced_bytes_min);
        break;
    case pipe::layout::masked_websocket:
        push_masked(out, source);
        break;
    case pipe::layout::zmtp:
    case pipe::layout::websocket:
        push_plain<pipe::websocket_layout>(out, source, referenced_bytes_min);
        break;
    }
}

} // namespace

// Events.

stream::news_list::~news_list() {
    while (!waiting_.empty()) {
        pop();
    }
}

/// @throws std::bad_alloc  Nothing changed.
void stream::news_list::push(std::uint32_t id, bool has_come, const pipe::peer_info* info) {
    auto* const held = const_cast<pipe::peer_info*>(info);
    waiting_.push_back({id, has_come, held});
    if (held != nullptr) {
        held->add_reference();
    }
}

std::string_view stream::text_of(const news& about) noexcept {
    const auto name = about.has_come ? pipe::detail_property : pipe::reason_property;
    return about.info->properties.find(name).value_or(about.has_come ? "" : "1001 unbound");
}

void stream::news_list::pop() noexcept {
    if (pipe::peer_info* const info = waiting_.front().info) {
        pipe::departure::tell(*info);
        info->drop();
    }
    waiting_.pop_front();
}

// Peers.

std::uint32_t stream::make_id() noexcept {
    while (next_id_ == 0 || peers_by_id_.find(next_id_) != nullptr) {
        ++next_id_;
    }
    return next_id_++;
}

void stream::on_attached(peer& added) {
    added.stream_id = make_id();
    const bytes_of_id id = bytes_of(added.stream_id);
    added.routing_id.assign(reinterpret_cast<const char*>(id.data()), id.size());
    queue_.attach(added);
    peers_by_id_.insert(added.stream_id, added);
    if (added.end().replaces_lost && queue_behind_lost(added)) {
        return queue_.deactivate(added);
    }
    queue_.look_at(added);
}

/// @return Whether another connection precedes it.
bool stream::queue_behind_lost(peer& added) {
    std::vector<peer*>& line = lines_[added.end().origin_id];
    line.push_back(&added);
    added.is_held = line.size() > 1;
    return added.is_held;
}

/// Releases the next connection in the list.
void stream::leave_line(peer& gone) noexcept {
    const auto found = gone.end().replaces_lost ? lines_.find(gone.end().origin_id) : lines_.end();
    if (found == lines_.end() || std::erase(found->second, &gone) == 0) {
        return;
    }
    if (found->second.empty()) {
        lines_.erase(found);
        return;
    }
    peer& next = *found->second.front();
    if (std::exchange(next.is_held, false)) {
        next.end().deliver(pipe::event::readable |
                           (next.is_closed_by_peer() ? pipe::event::closed : 0));
    }
}

void stream::on_readable(peer& woken) {
    if (!woken.is_held) {
        queue_.activate(woken);
    }
}

void stream::on_detached(peer& removed) {
    queue_.detach(removed);
    forget(removed);
    leaving_.erase(removed.stream_id);
    leave_line(removed);
    if (receiving_ == &removed) {
        receiving_ = nullptr;
    }
}

/// Not only in on_detached(): by then the next connection may have been announced.
void stream::on_drained(peer& gone) {
    forget(gone);
    const bool has_come = gone.info() != nullptr;
    if (options_.stream_events && has_come) {
        retry_allocation([&] { news_.push(gone.stream_id, false, gone.info()); });
    }
    leave_line(gone);
}

/// Nothing more can be sent to the peer.
void stream::forget(peer& gone) noexcept {
    peers_by_id_.erase(gone.stream_id);
    if (sending_ == &gone) {
        sending_ = nullptr;
        expected_ = expected::rest;
        ++undeliverable_count_;
    }
}

void stream::on_peer_info(peer& about) {
    const bool has_gone = about.info()->properties.find(pipe::reason_property).has_value();
    if (options_.stream_events && !has_gone) {
        retry_allocation([&] { news_.push(about.stream_id, true, about.info()); });
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
    peer* const found = peers_by_id_.find(load_big_endian<std::uint32_t>(routing_id.data()));
    if (found == nullptr) {
        return errc::host_unreachable;
    }
    const std::chrono::milliseconds linger{options_.linger};
    leaving_.emplace(found->stream_id, found);
    pipe::close_request& asked = set_last_word(
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
pipe::close_request& stream::set_last_word(peer& leaving, std::uint16_t code,
                                           std::string_view reason,
                                           std::chrono::milliseconds longest) {
    std::atomic<pipe::block*>& place = leaving.end().whole().last_word;
    if (place.load(std::memory_order_relaxed) == nullptr) {
        place.store(new pipe::close_request(code, reason, longest), std::memory_order_release);
    }
    return static_cast<pipe::close_request&>(*place.load(std::memory_order_relaxed));
}

peer* stream::find_peer(std::span<const std::byte> routing_id) noexcept {
    if (routing_id.size() != id_bytes) {
        return nullptr;
    }
    const auto id = load_big_endian<std::uint32_t>(routing_id.data());
    if (peer* const found = peers_by_id_.find(id); found != nullptr) {
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
    set_last_word(leaving, code, reason, {});
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

bool stream::part_from(peer& leaving) {
    constexpr auto code = static_cast<std::uint16_t>(wire::websocket::close_code::going_away);
    leaving.end().push_control(new pipe::close_request(code, "going away"));
    forget(leaving);
    return true;
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
    target.mark_writer_asleep();
    return target.look_again_to_write();
}

/// Appends a payload for a peer that has credit. The caller must end the message.
void stream::push_one(peer& to, outgoing& source) {
    if (deflation_.is_for(to, source.bytes())) [[unlikely]] {
        return push_deflated(to, source);
    }
    push(to, source, limits::external_bytes_min);
}

void stream::push_deflated(peer& to, outgoing& source) {
    try {
        deflated made = deflation_.for_one(to, source);
        if (made.compressed() != nullptr) {
            return push(to, *made.compressed(), limits::external_bytes_min);
        }
    } catch (...) {
        deflation::forget(to);
        throw;
    }
    deflation::forget(to);
    push(to, source, limits::external_bytes_min);
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
    if (!is_what_it_says(source)) [[unlikely]] {
        return errc::invalid_argument;
    }
    expected_ = expected::routing_id;
    push_one(*target, source);
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
    if (!is_what_it_says(source)) {
        return errc::invalid_argument;
    }
    push_one(*sending_, source);
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
    if (!is_what_it_says(source)) {
        return errc::invalid_argument;
    }
    const std::size_t count = routing_ids.size() / id_bytes;
    if (outcomes != nullptr) {
        std::fill_n(outcomes, count, static_cast<int>(errc::no_memory)); // For those not reached.
    }
    expected_ = expected::routing_id;
    source.keep();
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
            push(*target, smaller != nullptr ? *smaller : source,
                 limits::broadcast_external_bytes_min);
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
            if (lends_ && count >= copied_count) {
                const lent_frames lent = find_lent(messages.subspan(count));
                if (push_lent(to, lent)) {
                    count += lent.count;
                    continue;
                }
                copied_count = count + lent.count;
                payload = lent.run != nullptr ? lent.run->payload : nullptr;
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
                if (!is_what_it_says(source)) {
                    refused = errc::invalid_argument;
                    break;
                }
            }
            push_one(to, source);
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
    to.end().show_messages();
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

bool stream::send_at_once(const std::byte* body, std::size_t bytes, bool more) noexcept {
    if (more || expected_ != expected::payload || bytes >= limits::external_bytes_min)
        [[unlikely]] {
        return false;
    }
    peer& target = *sending_;
    pipe::message_queue& out = target.end().out;
    if (deflation_.is_for(target, bytes) || !out.has_room(wire_bytes_max(target, bytes)))
        [[unlikely]] {
        return false;
    }
    switch (target.frames()) {
    case pipe::layout::length:
        out.push_copy<pipe::length_layout>(body, bytes, 0);
        break;
    case pipe::layout::masked_websocket:
        out.push_copy<pipe::masked_websocket_layout>(body, bytes, 0);
        break;
    case pipe::layout::zmtp:
    case pipe::layout::websocket:
        out.push_copy<pipe::websocket_layout>(body, bytes, 0);
        break;
    }
    target.finish_message();
    sending_ = nullptr;
    expected_ = expected::routing_id;
    return true;
}

// Receiving.

result<void> stream::recv(incoming& target) {
    end_lending();
    switch (awaited_) {
    case awaited::routing_id:
        return recv_routing_id(target);
    case awaited::payload:
        return recv_payload(target);
    case awaited::event:
    case awaited::detail:
        break;
    }
    return recv_news(target);
}

result<void> stream::recv_routing_id(incoming& target) {
    pipe::frame front;
    // Peeking at a peer may produce an event, which comes first.
    peer* const from = news_.empty() ? queue_.next(front) : nullptr;
    if (!news_.empty()) [[unlikely]] {
        target.take_copy(bytes_of(news_.front().id).data(), id_bytes, true);
        awaited_ = awaited::event;
        return {};
    }
    if (from == nullptr) {
        return errc::again;
    }
    target.take_copy(bytes_of(from->stream_id).data(), id_bytes, true);
    receiving_ = from;
    awaited_ = awaited::payload;
    return {};
}

result<void> stream::recv_payload(incoming& target) {
    if (receiving_ == nullptr) {
        target.take_copy(bytes_of(0).data(), 0,
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
    end_lending();
    pipe::frame front;
    // Peeking at a peer may produce an event, which comes first.
    peer* const from = news_.empty() ? queue_.next(front) : nullptr;
    if (!news_.empty()) [[unlikely]] {
        routing_id = news_.front().id;
        awaited_ = awaited::event;
        try {
            return recv_news(target);
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
    end_lending();
    lenders_.reserve(std::min(messages.size(), limits::batch_peers_max));
    lent_runs_.reserve(std::min(messages.size(), limits::batch_peers_max));
    pipe::frame front;
    // Peeking at a peer may produce an event, which comes first.
    peer* from = news_.empty() ? queue_.next(front) : nullptr;
    if (!news_.empty()) {
        return lend_news(messages);
    }
    if (from == nullptr) {
        return errc::again;
    }
    std::size_t count = 0;
    do {
        const std::size_t taken =
            std::min<std::size_t>(messages.size() - count, queue_.turn_rest());
        const std::size_t lent = lend_of(*from, front, messages.subspan(count, taken));
        queue_.took_in_turn(static_cast<unsigned>(lent));
        count += lent;
        if (count == messages.size() || lenders_.size() == limits::batch_peers_max) {
            break;
        }
        from = queue_.next_awake(front);
    } while (from != nullptr && news_.empty());
    return count;
}

/// Fills in messages of a peer, from its front on, and keeps them until end_lending().
/// @return The number: adjacent messages, as many as fit.
std::size_t stream::lend_of(peer& from, const pipe::frame& front,
                            std::span<stream_message> messages) {
    pipe::pipe_end& end = from.end();
    if (!end.in.is_lending()) {
        lenders_.push_back({pipe::pipe_ptr(&end.whole()), &end});
        end.in.begin_lending();
        lends_ = true;
    }
    if (front.reference == nullptr) {
        return from.frames() == pipe::layout::length
                   ? lend_run<pipe::length_layout>(from, messages)
                   : lend_run<pipe::websocket_layout>(from, messages);
    }
    note_lent({nullptr, *front.reference, front.body, front.body + front.body_bytes});
    tell_lent(messages.front(), bytes_of(from.stream_id), front.body, front.body_bytes,
              front.flags);
    end.in.lend(front);
    return 1;
}

/// The same for messages in a segment.
template<class Layout>
std::size_t stream::lend_run(peer& from, std::span<stream_message> messages) noexcept {
    pipe::message_queue& in = from.end().in;
    pipe::message_queue::chunk* const segment = in.front_segment();
    const bytes_of_id id = bytes_of(from.stream_id);
    auto to = messages.begin();
    const std::size_t count = in.lend_run<Layout>(
        messages.size(), [&](const std::byte* body, std::size_t bytes, std::uint8_t flags) {
            tell_lent(*to++, id, body, bytes, flags);
        });
    if constexpr (std::is_same_v<Layout, pipe::length_layout>) {
        const std::byte* const begin = messages.front().data - wire::length::header_bytes;
        const std::byte* const end = to[-1].data + to[-1].bytes;
        if (!lent_runs_.empty() && lent_runs_.back().end == begin) {
            lent_runs_.back().end = end;
        } else {
            note_lent({segment, nullptr, begin, end});
        }
    }
    return count;
}

/// Runs beyond the capacity are not recorded: their messages are copied when forwarded.
void stream::note_lent(const lent_run& added) noexcept {
    if (lent_runs_.size() < lent_runs_.capacity()) {
        lent_runs_.push_back(added);
    }
}

/// Finds the leading `messages` that are adjacent lent frames. Checks only the run that was used
/// last and the next one: messages are usually forwarded in order.
stream::lent_frames stream::find_lent(std::span<const stream_message> messages) noexcept {
    const stream_message& first = messages.front();
    const std::less_equal<const std::byte*> is_up_to{};
    for (std::size_t index = lent_run_sent_;
         index < lent_runs_.size() && index <= lent_run_sent_ + 1; ++index) {
        const lent_run& run = lent_runs_[index];
        if (run.payload != nullptr && run.begin == first.data &&
            first.bytes == static_cast<std::size_t>(run.end - run.begin)) {
            lent_run_sent_ = index;
            return {&run, 1, {first.data, first.bytes}};
        }
        if (run.segment == nullptr ||
            !is_up_to(run.begin + wire::length::header_bytes, first.data) ||
            !is_up_to(first.data, run.end)) {
            continue;
        }
        lent_run_sent_ = index;
        const std::byte* const begin = first.data - wire::length::header_bytes;
        const std::byte* end = begin;
        std::size_t count = 0;
        for (const stream_message& each : messages) {
            const auto rest = static_cast<std::size_t>(run.end - end);
            if (each.data != end + wire::length::header_bytes || !is_plain_to(each, first) ||
                rest < wire::length::header_bytes ||
                wire::length::read_head_trusted(end).body_bytes != each.bytes ||
                each.bytes > rest - wire::length::header_bytes) {
                break;
            }
            end = each.data + each.bytes;
            ++count;
        }
        return {&run, count, {begin, end}};
    }
    return {nullptr, 1, {}};
}

/// Whether frames are forwarded in place, in a lent segment.
bool stream::is_to_be_borrowed(const lent_frames& lent) noexcept {
    const pipe::rope::chunk& segment = *lent.run->segment;
    return lent.data.size() >= limits::borrowed_bytes_min &&
           lent.data.size() >= segment.capacity / 4 &&
           segment.holders.load(std::memory_order_relaxed) < limits::segment_holders_max;
}

/// Appends frames of a lent segment, all at once, if possible.
/// @return Whether they were appended and ended.
bool stream::push_lent(peer& to, const lent_frames& lent) {
    pipe::message_queue& out = to.end().out;
    if (lent.run == nullptr || lent.run->segment == nullptr || lent.count == 0 ||
        to.frames() != pipe::layout::length || lent.count > out.credit()) {
        return false;
    }
    if (is_to_be_borrowed(lent)) {
        out.push_borrowed(lent.run->segment, lent.data, lent.count);
    } else {
        out.push_frames(lent.data, lent.count);
    }
    return true;
}

std::size_t stream::lend_news(std::span<stream_message> messages) noexcept {
    std::size_t count = 0;
    for (; count < messages.size() && count < news_.size(); ++count) {
        const news& about = news_[count];
        const std::string_view text = text_of(about);
        messages[count] = {bytes_of(about.id),
                           about.has_come ? stream_message::came : stream_message::went,
                           reinterpret_cast<const std::byte*>(text.data()), text.size()};
    }
    lent_news_count_ = count;
    lends_ = true;
    return count;
}

void stream::give_back() noexcept {
    lends_ = false;
    for (const lender& each : lenders_) {
        each.end->end_lending();
    }
    lenders_.clear();
    lent_runs_.clear();
    lent_run_sent_ = 0;
    for (; lent_news_count_ != 0; --lent_news_count_) {
        news_.pop();
    }
}

void stream::take(peer& from, const pipe::frame& front, incoming& target) {
    from.take(front, target);
    if (target.into != nullptr && (front.flags & pipe::flag_text) != 0) {
        target.into->mark_text();
    }
}

std::size_t stream::recv_id_at_once(void* to, std::size_t capacity) noexcept {
    pipe::frame front;
    if (capacity < id_bytes || !news_.empty()) [[unlikely]] {
        return pipe::message_queue::nothing;
    }
    peer* const from = queue_.next_at_once(front);
    if (from == nullptr || !news_.empty()) [[unlikely]] {
        return pipe::message_queue::nothing;
    }
    store_big_endian(static_cast<std::byte*>(to), from->stream_id);
    receiving_ = from;
    awaited_ = awaited::payload;
    return id_bytes + pipe::message_queue::more_follows;
}

std::size_t stream::recv_at_once(void* to, std::size_t capacity) noexcept {
    end_lending();
    if (awaited_ == awaited::routing_id) {
        return recv_id_at_once(to, capacity);
    }
    if (awaited_ != awaited::payload || receiving_ == nullptr) {
        return pipe::message_queue::nothing;
    }
    peer& from = *receiving_;
    pipe::frame front;
    stream_peek::look(from, front); // There is one, with no control object before it.
    if (front.reference != nullptr || front.body_bytes > capacity) {
        return pipe::message_queue::nothing;
    }
    copy_bytes(to, front.body, front.body_bytes);
    from.end().pop(front);
    queue_.took_in_turn();
    receiving_ = nullptr;
    awaited_ = awaited::routing_id;
    return front.body_bytes;
}

result<void> stream::recv_news(incoming& target) {
    const news& about = news_.front();
    if (awaited_ == awaited::event) {
        const std::byte event{about.has_come};
        target.take_copy(&event, 1, true);
        awaited_ = awaited::detail;
        return {};
    }
    const auto text = std::as_bytes(std::span{text_of(about)});
    target.take_copy(text.data(), text.size(), false);
    if (target.into != nullptr) {
        about.info->add_reference();
        target.into->attach_peer(about.info);
    }
    news_.pop();
    awaited_ = awaited::routing_id;
    return {};
}

bool stream::can_recv() {
    end_lending();
    pipe::frame front;
    return awaited_ != awaited::routing_id || !news_.empty() || queue_.next(front) != nullptr ||
           !news_.empty();
}

} // namespace zlink::socket
