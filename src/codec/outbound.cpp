// SPDX-License-Identifier: MPL-2.0
#include "codec/outbound.hpp"

#include <algorithm>
#include <utility>

namespace zlink::codec {

namespace {

using rope = pipe::message_queue::rope_type;
using chunk = pipe::message_queue::chunk;

} // namespace

std::size_t outbound::gather(std::span<iovec> parts, std::size_t unit_bytes) noexcept {
    goal_ = queue_.published();
    rope::cursor place = sent_;
    const std::size_t count = rope::gather(place, goal_.position, tuning::gather_bytes_max, parts);
    gathered_all_ = place.position == goal_.position;
    rest_bytes_ = 0;
    if (unit_bytes == 0) {
        return count;
    }
    const std::uint64_t bytes = place.position - sent_.position;
    const std::uint64_t rest = bytes % unit_bytes;
    const bool is_small = rest < unit_bytes / tuning::units_per_rest;
    return bytes > unit_bytes && is_small ? leave(rest, parts.first(count)) : count;
}

/// Removes the last `rest` bytes from `parts`.
/// @return The number of parts left.
std::size_t outbound::leave(std::uint64_t rest, std::span<iovec> parts) noexcept {
    rest_bytes_ = gathered_all_ ? static_cast<std::uint32_t>(rest) : 0;
    std::size_t count = parts.size();
    for (; rest >= parts[count - 1].iov_len; --count) {
        rest -= parts[count - 1].iov_len;
    }
    parts[count - 1].iov_len -= rest;
    return count;
}

bool outbound::lend_credit() noexcept {
    if (!gathered_all_ || lent_count_ > std::max(message_count_, left_.message_count)) {
        return false;
    }
    lent_count_ = goal_.message_count;
    return queue_.lend_credit(lent_count_);
}

bool outbound::advance(std::size_t bytes) noexcept {
    const std::uint64_t target = sent_.position + bytes;
    if (target == goal_.position) {
        pass(sent_, target);
        return release_written(goal_.message_count);
    }
    bool wake = false;
    if (left_.position > boundary() && left_.position <= target) {
        pass(sent_, left_.position);
        wake = release_written(left_.message_count);
    }
    pass(sent_, target);
    if (goal_.position - target == rest_bytes_) {
        left_ = goal_;
    }
    if (target - boundary() < tuning::gather_bytes_max) {
        return wake;
    }
    walk();
    return tell_writer() || wake;
}

/// Advances `place` to `position`, which is published.
void outbound::pass(rope::cursor& place, std::uint64_t position) noexcept {
    while (place.position < position) {
        rope::settle(place);
        const std::uint64_t step = rope::contiguous(place, position);
        place.position += step;
        place.offset += step;
    }
}

/// Releases everything written, at the end of a batch or at a control object. Only whole messages
/// are published (Invariant 2 of rope.hpp).
bool outbound::release_written(std::uint64_t message_count) noexcept {
    walked_ = sent_;
    frame_rest_ = 0;
    more_ = false;
    message_count_ = std::max(message_count_, message_count);
    queue_.rope().release_to(sent_);
    return tell_writer();
}

/// Reads the headers of written bytes, counts whole messages and releases them.
void outbound::walk() noexcept {
    if (walked_.position == sent_.position) {
        return;
    }
    switch (frames_) {
    case pipe::layout::zmtp:
        return walk_as<pipe::zmtp_layout>();
    case pipe::layout::length:
        return walk_as<pipe::length_layout>();
    case pipe::layout::websocket:
    case pipe::layout::masked_websocket:
        return walk_as<pipe::websocket_layout>();
    }
}

/// The bytes of the chunk at `place`, which is not a message of a conflating queue.
const std::byte* outbound::bytes_of(const rope::cursor& place) noexcept {
    return place.at->what == chunk::kind::borrowed ? place.at->payload->data : place.at->data();
}

template<class Layout>
void outbound::walk_as() noexcept {
    rope::cursor boundary = queue_.rope().front();
    while (walked_.position < sent_.position) {
        rope::settle(walked_);
        const std::uint64_t begin = walked_.offset;
        const std::uint64_t end = begin + rope::contiguous(walked_, sent_.position);
        if (walked_.at->what == chunk::kind::newest) {
            walked_ = boundary = {walked_.at, end, walked_.position + (end - begin)};
            ++message_count_;
            continue;
        }
        const std::byte* const data = bytes_of(walked_);
        std::uint64_t offset = begin;
        while (offset < end) {
            if (frame_rest_ == 0) {
                // A header is whole in its chunk even if only part of it was written.
                const auto head = Layout::read(data + offset);
                frame_rest_ = head.header_bytes + head.body_bytes;
                more_ = (head.flags & wire::zmtp::flag_more) != 0;
            }
            const std::uint64_t step = std::min(frame_rest_, end - offset);
            offset += step;
            frame_rest_ -= step;
            if (frame_rest_ == 0 && !more_) {
                ++message_count_;
                boundary = {walked_.at, offset, walked_.position + (offset - begin)};
            }
        }
        walked_.position += end - begin;
        walked_.offset = end;
    }
    queue_.rope().release_to(boundary);
}

/// Returns the credit for the released messages.
bool outbound::tell_writer() noexcept {
    return queue_.return_credit(message_count_, queue_.rope().front());
}

void outbound::on_woken() noexcept {
    is_parked_ = false;
    if (queue_.place().position >= sent_.position) {
        sent_ = walked_ = queue_.place();
        message_count_ = std::max(message_count_, queue_.taken_count());
    }
}

bool outbound::return_credit() noexcept {
    goal_ = queue_.published();
    const bool is_due = goal_.message_count != message_count_ ||
                        queue_.place().position != sent_.position; // Walked by rewind().
    return goal_.position == sent_.position && is_due && advance(0);
}

bool outbound::return_all_credit() noexcept {
    walk();
    return tell_writer();
}

void outbound::rewind() noexcept {
    walk();
    sent_ = walked_ = queue_.rope().front();
    left_ = {message_count_, sent_.position};
    frame_rest_ = 0;
    more_ = false;
}

std::uint64_t outbound::drop_message(bool& wake_writer) noexcept {
    goal_ = queue_.published();
    rope::cursor place = sent_;
    std::uint64_t bytes = 0;
    bool more = true;
    while (more && place.position < goal_.position) {
        rope::settle(place);
        if (place.at->what == chunk::kind::newest) {
            bytes = place.at->payload_bytes;
            pass(place, place.position + 1);
            break;
        }
        const auto head = wire::zmtp::read_head_trusted(bytes_of(place) + place.offset);
        more = head.more();
        bytes += head.frame_bytes();
        pass(place, place.position + head.frame_bytes());
    }
    wake_writer = advance(place.position - sent_.position);
    wake_writer = return_all_credit() || wake_writer;
    return bytes;
}

bool outbound::is_at_control() noexcept {
    if (is_empty()) {
        return false;
    }
    rope::settle(sent_);
    return sent_.at->what == chunk::kind::control;
}

pipe::block* outbound::take_control(bool& wake_writer) noexcept {
    wake_writer = false;
    if (!is_at_control()) {
        return nullptr;
    }
    walk(); // Counts the messages before it.
    awaits_mark_ = false;
    pipe::block* const object = std::exchange(sent_.at->payload, nullptr);
    sent_.offset += 1;
    sent_.position += 1;
    wake_writer = release_written(message_count_ + (object->is_message ? 1 : 0));
    return object;
}

bool outbound::discard() noexcept {
    bool wake = false;
    iovec parts[tuning::gather_count_max];
    for (std::size_t count = gather(parts); count != 0; count = gather(parts)) {
        std::size_t bytes = 0;
        for (std::size_t index = 0; index < count; ++index) {
            bytes += parts[index].iov_len;
        }
        wake = advance(bytes) || wake;
    }
    return wake;
}

} // namespace zlink::codec
