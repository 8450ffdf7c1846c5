// SPDX-License-Identifier: MPL-2.0
#include "codec/inbound.hpp"

#include "base/limits.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace zlink::codec {

using wire::zmtp::frame_head;
using wire::zmtp::head_status;

std::size_t inbound::prepare(std::span<std::byte> scratch, std::span<iovec> parts,
                             std::size_t ahead_bytes_max) {
    scratch_ = scratch.data();
    if (pending_.body != nullptr) {
        grow_pending();
        offered_bytes_ =
            std::min<std::uint64_t>(pending_.body->bytes, pending_.body_bytes) - pending_.filled;
        parts[0] = {pending_.body->data + pending_.filled, offered_bytes_};
        const std::size_t ahead_count = offer_ahead(parts.subspan(1), ahead_bytes_max);
        const std::size_t headers_bytes = ahead_count * large_->header_bytes;
        // If the block has yet to grow, its missing bytes are read at once, and then copied.
        const bool is_small = pending_.body->bytes < pending_.body_bytes &&
                              pending_.body->bytes < limits::unproven_bytes_max * 2;
        parts[2 * ahead_count + 1] = {scratch_ + headers_bytes,
                                      std::min(scratch.size() - headers_bytes,
                                               is_small ? SIZE_MAX : limits::lookahead_bytes)};
        return 2 * ahead_count + 2;
    }
    if (raw_bytes_ == 0 && queue_.restart()) {
        wake_reader_ = true;
    }
    auto& rope = queue_.rope();
    const auto reads_into_segment_alone = [&] {
        return rope.tail_segment_bytes() >= limits::passed_on_bytes_min;
    };
    const std::size_t capacity = rope.tail_capacity();
    if (capacity == 0 && raw_bytes_ == 0 &&
        rope.next_segment_bytes() >= limits::passed_on_bytes_min) {
        rope.roll(limits::segment_bytes_min, 0); // As large as the memory that was passed on.
    } else if (reads_into_segment_alone() && rope.free_bytes() - raw_bytes_ < capacity / 4) {
        rope.roll(raw_bytes_ + capacity / 2, raw_bytes_);
    }
    offered_bytes_ = rope.free_bytes() - raw_bytes_;
    if (reads_into_segment_alone()) { // Once it is full, a larger one follows: nothing is copied.
        parts[0] = {rope.free_begin() + raw_bytes_, offered_bytes_};
        return 1;
    }
    if (offered_bytes_ == 0) {
        // After a large payload another one is likely, which should be read in place.
        const bool expects_large = proven_bytes() != 0 && rope.tail_capacity() == 0;
        parts[0] = {scratch_, expects_large ? std::min(scratch.size(), limits::lookahead_bytes)
                                            : scratch.size()};
        return 1;
    }
    parts[0] = {rope.free_begin() + raw_bytes_, offered_bytes_};
    parts[1] = {scratch_, scratch.size()};
    return 2;
}

/// @return The number of payloads read ahead.
std::size_t inbound::offer_ahead(std::span<iovec> parts, std::size_t bytes_max) {
    if (!large_->is_like_last) {
        return 0;
    }
    // Each of them must be publishable: payloads that wait for credit are copied.
    const std::uint64_t credit = queue_.credit();
    const std::size_t count =
        std::min<std::uint64_t>({read_ahead::count_for(pending_.body_bytes, bytes_max),
                                 (parts.size() - 1) / 2, credit != 0 ? credit - 1 : 0});
    if (count != 0) {
        large_->ahead.offer(count, large_->header_bytes, pending_.body_bytes, scratch_, parts);
    }
    return count;
}

bool inbound::is_far_ahead() {
    return proven_bytes() != 0 && large_->start.holds_back(queue_.untaken().bytes, proven_bytes());
}

result<void> inbound::received(std::size_t bytes) {
    const result<void> taken = take_received(bytes);
    received_nothing(); // Into the unused buffers.
    return taken;
}

result<void> inbound::take_received(std::size_t bytes) {
    const std::size_t direct = std::min(bytes, offered_bytes_);
    if (pending_.body != nullptr) {
        if (const result<void> extended = extend_pending(direct); !extended) {
            return extended.error();
        }
    } else {
        raw_bytes_ += direct;
        if (const result<void> scanned = scan(); !scanned) {
            return scanned.error();
        }
    }
    return take_behind_first(bytes - direct);
}

/// Takes bytes behind the first part: the next headers and payloads, if predicted correctly.
result<void> inbound::take_behind_first(std::size_t bytes) {
    const std::byte* from = scratch_;
    const std::size_t count = large_ ? large_->ahead.count() : 0;
    for (std::size_t index = 0; index < count && bytes != 0; ++index) {
        const std::size_t header_bytes = std::min(bytes, large_->ahead.header_bytes());
        const std::size_t body_bytes =
            std::min<std::uint64_t>(bytes - header_bytes, large_->ahead.body_bytes());
        large_->ahead.look_at(index);
        if (const result<void> taken = feed({from, header_bytes}); !taken) {
            return taken.error();
        }
        large_->ahead.look_at(read_ahead::count_max);
        const result<void> taken = large_->ahead.is_taken(index)
                                       ? extend_pending(body_bytes)
                                       : feed({large_->ahead.payload(index), body_bytes});
        if (!taken) {
            return taken.error();
        }
        from += header_bytes;
        bytes -= header_bytes + body_bytes;
    }
    return feed({from, bytes});
}

result<void> inbound::feed(std::span<const std::byte> data) {
    auto& rope = queue_.rope();
    // A payload that gets its own block should not also use a segment: more memory is first
    // allocated only for the bytes that show whether one begins there.
    std::size_t rolled_bytes_max = raw_bytes_ < limits::lookahead_bytes && queue_.has_credit()
                                       ? limits::lookahead_bytes
                                       : SIZE_MAX;
    while (!data.empty()) {
        if (pending_.body != nullptr) {
            if (const result<void> filled = fill_pending(data); !filled) {
                return filled.error();
            }
            continue;
        }
        std::size_t taken = data.size();
        if (rope.free_bytes() < raw_bytes_ + taken) {
            taken = std::min(taken, std::exchange(rolled_bytes_max, SIZE_MAX));
            rope.roll(raw_bytes_ + taken, raw_bytes_);
        }
        std::memcpy(rope.free_begin() + raw_bytes_, data.data(), taken);
        raw_bytes_ += taken;
        data = data.subspan(taken);
        if (const result<void> scanned = scan(); !scanned) {
            return scanned.error();
        }
    }
    return check_unfinished();
}

result<void> inbound::scan() {
    if (scanner_ != nullptr) {
        return scanner_->scan(*this);
    }
    auto& rope = queue_.rope();
    std::byte* const begin = rope.free_begin();
    std::size_t position = 0; // Behind the last frame found.
    std::size_t boundary = 0; // Behind the last message found.
    std::size_t gap = 0;      // Bytes of dropped commands: the bytes behind move up by them.
    std::uint64_t count = 0;
    const bool may_take = has_credit();
    const bool begins_inside = queue_.has_unfinished();
    bool begins_pending = false;
    frame_head head;
    errc failure{};

    while (may_take && position + gap < raw_bytes_) {
        // Most messages are single short frames.
        while (gap == 0 && raw_bytes_ - position >= wire::zmtp::header_bytes_min &&
               begin[position] == std::byte{0}) {
            const std::size_t frame_bytes =
                wire::zmtp::header_bytes_min + std::to_integer<std::size_t>(begin[position + 1]);
            if (frame_bytes > raw_bytes_ - position || frame_bytes > short_frame_bytes_max_) {
                break;
            }
            position += frame_bytes;
            boundary = position;
            ++count;
        }
        if (position + gap == raw_bytes_) {
            break;
        }
        std::byte* const frame = begin + position + gap;
        const std::size_t available = raw_bytes_ - position - gap;
        const head_status status = wire::zmtp::read_head(frame, available, body_bytes_max_, head);
        if (status != head_status::complete) [[unlikely]] {
            if (status == head_status::violation) {
                failure = errc::protocol_violation;
            } else if (status == head_status::too_large) {
                failure = errc::message_too_large;
            }
            break;
        }
        const std::uint64_t frame_bytes = head.frame_bytes();
        if (head.command() && head.body_bytes > limits::handshake_command_bytes_max) {
            failure = errc::message_too_large;
            break;
        }
        if (frame_bytes > available) {
            begins_pending = head.body_bytes >= limits::external_bytes_min && !head.command();
            break;
        }
        if (head.command()) [[unlikely]] {
            const auto verdict =
                commands_->on_command({frame + head.header_bytes, head.body_bytes});
            // A kept command is a message, so it cannot come inside another one.
            const bool inside = position != boundary || (count == 0 && begins_inside);
            if (verdict == command_sink::verdict::fail ||
                (verdict == command_sink::verdict::keep && inside)) {
                failure = errc::protocol_violation;
                break;
            }
            if (verdict == command_sink::verdict::drop) {
                gap += frame_bytes;
                continue;
            }
        }
        if (gap != 0) [[unlikely]] {
            std::memmove(begin + position, frame, frame_bytes);
        }
        position += frame_bytes;
        if (!head.more()) {
            boundary = position;
            ++count;
        }
    }
    if (gap != 0) [[unlikely]] {
        raw_bytes_ -= gap;
        std::memmove(begin + position, begin + position + gap, raw_bytes_ - position);
    }

    if (count != 0) {
        rope.commit(boundary);
        rope.mark();
        rope.commit(position - boundary);
        wake_reader_ = queue_.finish_marked(count) || wake_reader_;
    } else {
        rope.commit(position);
    }
    raw_bytes_ -= position;
    update_blocked();
    if (failure != errc{}) {
        return failure;
    }
    if (begins_pending) {
        begin_pending(head, begin + position, raw_bytes_);
        raw_bytes_ = 0;
    }
    return check_unfinished();
}

/// Checks the size of the unfinished message's whole frames.
result<void> inbound::check_unfinished() noexcept {
    const auto& rope = queue_.rope();
    if (rope.written() - rope.marked() > unfinished_bytes_max_) [[unlikely]] {
        return errc::message_too_large;
    }
    return {};
}

void inbound::begin_pending(const frame_head& head, const std::byte* frame, std::size_t available) {
    const std::size_t body_there = available - head.header_bytes;
    const std::uint64_t trusted = std::max<std::uint64_t>(
        {limits::unproven_bytes_max, body_there * limits::unproven_growth, proven_bytes()});
    if (!large_) {
        large_ = std::make_unique<large_payloads>();
    }
    pipe::block* const received =
        body_there == 0 ? large_->ahead.take(head.header_bytes, head.body_bytes) : nullptr;
    pending_.body =
        received != nullptr ? received : pipe::make_block(std::min(head.body_bytes, trusted));
    pending_.body_bytes = head.body_bytes;
    pending_.filled = body_there;
    large_->header_bytes = head.header_bytes;
    large_->is_like_last =
        large_->last_end == queue_.rope().written() && large_->last_bytes == head.body_bytes;
    pending_more_ = head.more();
    std::memcpy(pending_.body->data, frame + head.header_bytes, body_there);
}

/// Passes the payload's new bytes, from `begin` on, to the scanner.
result<void> inbound::look_at_pending(std::size_t begin) noexcept {
    if (scanner_ == nullptr) {
        return {};
    }
    const result<void> taken =
        scanner_->on_body({pending_.body->data + begin, pending_.filled - begin});
    if (!taken) {
        drop_pending(); // A rejected payload is not continued.
    }
    return taken;
}

result<void> inbound::fill_pending(std::span<const std::byte>& data) {
    grow_pending();
    const std::uint64_t room =
        std::min<std::uint64_t>(pending_.body->bytes, pending_.body_bytes) - pending_.filled;
    const std::size_t taken = std::min<std::uint64_t>(room, data.size());
    std::memcpy(pending_.body->data + pending_.filled, data.data(), taken);
    data = data.subspan(taken);
    return extend_pending(taken);
}

/// Another `bytes` bytes of the payload are in place.
result<void> inbound::extend_pending(std::size_t bytes) {
    pending_.filled += bytes;
    if (const result<void> looked = look_at_pending(pending_.filled - bytes); !looked) {
        return looked.error();
    }
    finish_pending_if_whole();
    return {};
}

void inbound::grow_pending() {
    if (pending_.filled < pending_.body->bytes) {
        return;
    }
    pipe::block* const larger =
        pipe::make_block(std::min(pending_.body_bytes, pending_.filled * limits::unproven_growth));
    std::memcpy(larger->data, pending_.body->data, pending_.filled);
    pending_.body->drop();
    pending_.body = larger;
}

void inbound::finish_pending_if_whole() {
    if (pending_.filled != pending_.body_bytes) {
        return;
    }
    std::byte header[pipe::websocket_layout::header_bytes_max]; // The largest of all layouts.
    const std::size_t header_bytes = write_pending_header(header);
    queue_.rope().append_external(header, header_bytes, pending_.body, pending_.body_bytes);
    pending_.body = nullptr;
    large_->proven_bytes = std::max(large_->proven_bytes, pending_.body_bytes);
    large_->last_end = queue_.rope().written();
    large_->last_bytes = pending_.body_bytes;
    finish_external(pending_more_);
}

std::size_t inbound::write_pending_header(std::byte* out) noexcept {
    return scanner_ != nullptr
               ? scanner_->write_header(out, pending_.body_bytes)
               : wire::zmtp::write_header(out, pending_.body_bytes,
                                          pending_more_ ? wire::zmtp::flag_more : 0);
}

/// Completes a frame with a block, after it was appended.
void inbound::finish_external(bool more) noexcept {
    if (!more) {
        queue_.rope().mark();
        wake_reader_ = queue_.finish_marked(1) || wake_reader_;
        update_blocked();
    }
}

std::span<std::byte> inbound::make_room(std::size_t bytes) {
    auto& rope = queue_.rope();
    if (rope.free_bytes() - raw_bytes_ < bytes) {
        rope.roll(raw_bytes_ + bytes, raw_bytes_);
    }
    return {rope.free_begin() + raw_bytes_, rope.free_bytes() - raw_bytes_};
}

result<void> inbound::received_in_room(std::size_t bytes) {
    raw_bytes_ += bytes;
    return scan();
}

bool inbound::may_append() noexcept {
    blocked_ = raw_bytes_ != 0 || queue_.credit() == 0;
    return !blocked_;
}

result<void> inbound::append(pipe::block* payload, std::uint64_t payload_bytes, bool more) {
    std::byte header[wire::zmtp::header_bytes_max];
    const std::size_t header_bytes =
        wire::zmtp::write_header(header, payload_bytes, more ? wire::zmtp::flag_more : 0);
    try {
        queue_.rope().append_external(header, header_bytes, payload, payload_bytes);
    } catch (...) {
        payload->drop();
        throw;
    }
    finish_external(more);
    return check_unfinished();
}

void inbound::publish(std::size_t bytes, std::uint64_t count) noexcept {
    if (count != 0) {
        queue_.rope().commit(bytes);
        queue_.rope().mark();
        wake_reader_ = queue_.finish_marked(count) || wake_reader_;
        raw_bytes_ -= bytes;
    }
    update_blocked();
}

/// Credit that returned after bytes were left unscanned for lack of it does not count: nothing
/// would scan those bytes.
void inbound::update_blocked() noexcept {
    blocked_ = std::exchange(lacked_credit_, false) || !queue_.has_credit();
}

void inbound::remove(std::size_t offset, std::size_t bytes) noexcept {
    std::byte* const gap = queue_.rope().free_begin() + offset;
    raw_bytes_ -= bytes;
    std::memmove(gap, gap + bytes, raw_bytes_ - offset);
}

void inbound::insert(std::span<const std::byte> header, pipe::block* body,
                     std::uint64_t body_bytes) {
    auto& rope = queue_.rope();
    // The reader does not move past these bytes until more is published.
    const std::byte* const rest = rope.free_begin();
    try {
        rope.append_external(header.data(), header.size(), body, body_bytes);
    } catch (...) {
        body->drop();
        throw;
    }
    rope.mark();
    if (raw_bytes_ != 0) {
        std::memcpy(rope.reserve(raw_bytes_), rest, raw_bytes_);
    }
    wake_reader_ = queue_.finish_marked(1) || wake_reader_;
    update_blocked();
}

void inbound::append(std::span<const std::byte> first, std::span<const std::byte> rest,
                     std::uint64_t count) {
    auto& rope = queue_.rope();
    std::byte* const out = rope.reserve(first.size() + rest.size());
    std::copy(rest.begin(), rest.end(), std::copy(first.begin(), first.end(), out));
    rope.commit(first.size() + rest.size());
    rope.mark();
    wake_reader_ = queue_.finish_marked(count) || wake_reader_;
    update_blocked();
}

result<void> inbound::begin_body(std::size_t header_bytes, std::uint64_t body_bytes) {
    frame_head head;
    head.header_bytes = static_cast<std::uint8_t>(header_bytes);
    head.body_bytes = body_bytes;
    begin_pending(head, queue_.rope().free_begin(), raw_bytes_);
    raw_bytes_ = 0;
    return look_at_pending(0);
}

void inbound::reset() noexcept {
    drop_pending();
    received_nothing();
    if (large_) {
        large_->last_end = UINT64_MAX;
    }
    queue_.rollback();
    raw_bytes_ = 0;
    blocked_ = false;
    lacked_credit_ = false;
}

void inbound::drop_pending() noexcept {
    if (pending_.body != nullptr) {
        pending_.body->drop();
        pending_.body = nullptr;
    }
}

} // namespace zlink::codec
