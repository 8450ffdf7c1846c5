// SPDX-License-Identifier: MPL-2.0
#include "session/outbound.hpp"

#include "base/limits.hpp"

#include <algorithm>
#include <utility>

namespace zlink::session {

namespace {

using rope = pipe::message_queue::rope_type;
using chunk = pipe::message_queue::chunk;

} // namespace

std::size_t outbound::gather(std::span<iovec> parts) noexcept {
    goal_ = queue_.published();
    rope::cursor place = sent_;
    const std::size_t count = rope::gather(place, goal_.position, limits::gather_bytes_max, parts);
    gathered_all_ = place.position == goal_.position;
    return count;
}

bool outbound::lend_credit() noexcept {
    if (!gathered_all_ || lent_count_ > message_count_) {
        return false;
    }
    lent_count_ = goal_.message_count;
    return queue_.lend_credit(lent_count_);
}

bool outbound::advance(std::size_t bytes) noexcept {
    const std::uint64_t target = sent_.position + bytes;
    while (sent_.position < target) {
        rope::settle(sent_);
        const std::uint64_t step = rope::contiguous(sent_, target);
        sent_.position += step;
        sent_.offset += step;
    }
    if (sent_.position == goal_.position) {
        // Only whole messages are published (Invariant 2 of rope.hpp).
        walked_ = boundary_ = sent_;
        frame_rest_ = 0;
        more_ = false;
        message_count_ = std::max(message_count_, goal_.message_count);
        return release();
    }
    if (sent_.position - boundary_.position < limits::gather_bytes_max) {
        return false;
    }
    walk();
    return release();
}

/// Looks at the headers of what was written, and counts whole messages.
void outbound::walk() noexcept {
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

template<class Layout>
void outbound::walk_as() noexcept {
    while (walked_.position < sent_.position) {
        rope::settle(walked_);
        const std::uint64_t begin = walked_.offset;
        const std::uint64_t end = begin + rope::contiguous(walked_, sent_.position);
        if (walked_.at->what == chunk::kind::newest) {
            walked_ = boundary_ = {walked_.at, end, walked_.position + (end - begin)};
            ++message_count_;
            continue;
        }
        const std::byte* const octets = walked_.at->what == chunk::kind::borrowed
                                            ? walked_.at->payload->data
                                            : walked_.at->data();
        std::uint64_t offset = begin;
        while (offset < end) {
            if (frame_rest_ == 0) {
                // A header is whole in its chunk even where only part of it was written.
                const auto head = Layout::read(octets + offset);
                frame_rest_ = head.header_bytes + head.body_bytes;
                more_ = (head.flags & wire::zmtp::flag_more) != 0;
            }
            const std::uint64_t step = std::min(frame_rest_, end - offset);
            offset += step;
            frame_rest_ -= step;
            if (frame_rest_ == 0 && !more_) {
                ++message_count_;
                boundary_ = {walked_.at, offset, walked_.position + (offset - begin)};
            }
        }
        walked_.position += end - begin;
        walked_.offset = end;
    }
}

/// Lets go of the messages before boundary_.
bool outbound::release() noexcept {
    queue_.rope().release_to(boundary_);
    return queue_.return_credit(message_count_, boundary_);
}

void outbound::on_woken() noexcept {
    if (queue_.place().position >= sent_.position) {
        sent_ = walked_ = boundary_ = queue_.place();
        message_count_ = std::max(message_count_, queue_.taken_count());
    }
}

bool outbound::return_credit() noexcept {
    goal_ = queue_.published();
    const bool is_due = goal_.message_count != message_count_ ||
                        queue_.rope().front().position != sent_.position; // Walked by rewind().
    return goal_.position == sent_.position && is_due && advance(0);
}

bool outbound::settle_accounts() noexcept {
    walk();
    return release();
}

void outbound::rewind() noexcept {
    walk();
    sent_ = walked_ = boundary_;
    frame_rest_ = 0;
    more_ = false;
}

pipe::block* outbound::take_control(bool& wake_writer) noexcept {
    wake_writer = false;
    if (is_empty()) {
        return nullptr;
    }
    rope::settle(sent_);
    if (sent_.at->what != chunk::kind::control) {
        return nullptr;
    }
    walk(); // To count the messages before it.
    pipe::block* const object = std::exchange(sent_.at->payload, nullptr);
    sent_.offset += 1;
    sent_.position += 1;
    walked_ = boundary_ = sent_;
    wake_writer = release();
    return object;
}

bool outbound::discard() noexcept {
    bool wake = false;
    iovec parts[limits::gather_count_max];
    for (std::size_t count = gather(parts); count != 0; count = gather(parts)) {
        std::size_t bytes = 0;
        for (std::size_t index = 0; index < count; ++index) {
            bytes += parts[index].iov_len;
        }
        wake = advance(bytes) || wake;
    }
    return wake;
}

} // namespace zlink::session
