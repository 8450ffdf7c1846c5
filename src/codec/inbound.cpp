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

std::size_t inbound::prepare(std::span<std::byte> scratch, std::span<iovec, 2> parts) {
    scratch_ = scratch.data();
    if (pending_.is_begun()) {
        const std::span<std::byte> room = pending_.room();
        offered_bytes_ = room.size();
        parts[0] = {room.data(), room.size()};
        // If the block has yet to grow, its missing bytes are read at once, and then copied.
        const bool is_small = pending_.capacity() < pending_.bytes() &&
                              pending_.capacity() < limits::unproven_bytes_max * 2;
        parts[1] = {scratch_,
                    std::min(scratch.size(), is_small ? SIZE_MAX : tuning::lookahead_bytes)};
        return 2;
    }
    if (raw_bytes_ == 0 && queue_.restart()) {
        wake_reader_ = true;
    }
    auto& rope = queue_.rope();
    const auto reads_into_segment_alone = [&] {
        return rope.tail_segment_bytes() >= tuning::passed_on_bytes_min;
    };
    const std::size_t capacity = rope.tail_capacity();
    if (capacity == 0 && raw_bytes_ == 0 &&
        rope.next_segment_bytes() >= tuning::passed_on_bytes_min) {
        rope.roll(tuning::segment_bytes_min, 0); // As large as the memory that was passed on.
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
        parts[0] = {scratch_, expects_large ? std::min(scratch.size(), tuning::lookahead_bytes)
                                            : scratch.size()};
        return 1;
    }
    parts[0] = {rope.free_begin() + raw_bytes_, offered_bytes_};
    parts[1] = {scratch_, scratch.size()};
    return 2;
}

bool inbound::is_far_ahead() {
    return proven_bytes() != 0 && large_->start.holds_back(queue_.untaken().bytes, proven_bytes());
}

result<void> inbound::received(std::size_t bytes) {
    const std::size_t direct = std::min(bytes, offered_bytes_);
    if (pending_.is_begun()) {
        if (const result<void> extended = extend_pending(direct); !extended) {
            return extended.error();
        }
    } else {
        raw_bytes_ += direct;
        if (const result<void> scanned = scan(); !scanned) {
            return scanned.error();
        }
    }
    return feed({scratch_, bytes - direct});
}

result<void> inbound::feed(std::span<const std::byte> data) {
    auto& rope = queue_.rope();
    // A payload that gets its own block should not also use a segment: more memory is first
    // allocated only for the bytes that show whether one begins there.
    std::size_t rolled_bytes_max =
        raw_bytes_ < tuning::lookahead_bytes && has_room() ? tuning::lookahead_bytes : SIZE_MAX;
    while (!data.empty()) {
        if (pending_.is_begun()) {
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
            begins_pending = head.body_bytes >= tuning::external_bytes_min && !head.command();
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
    const std::span body_there{frame + head.header_bytes, available - head.header_bytes};
    if (!large_) {
        large_ = std::make_unique<large_payloads>();
    }
    pending_.begin(head.body_bytes, body_there, proven_bytes());
    pending_more_ = head.more();
}

/// Passes the payload's new bytes, from `begin` on, to the scanner.
result<void> inbound::look_at_pending(std::size_t begin) noexcept {
    if (scanner_ == nullptr) {
        return {};
    }
    const result<void> taken =
        scanner_->on_body({pending_.data() + begin, pending_.filled_bytes() - begin});
    if (!taken) {
        pending_.drop(); // A rejected payload is not continued.
    }
    return taken;
}

result<void> inbound::fill_pending(std::span<const std::byte>& data) {
    return on_pending_extended(pending_.fill(data));
}

/// Another `bytes` bytes of the payload are in place.
result<void> inbound::extend_pending(std::size_t bytes) {
    pending_.advance(bytes);
    return on_pending_extended(bytes);
}

/// The last `bytes` bytes of the payload have just come.
result<void> inbound::on_pending_extended(std::size_t bytes) {
    if (const result<void> looked = look_at_pending(pending_.filled_bytes() - bytes); !looked) {
        return looked.error();
    }
    finish_pending_if_whole();
    return {};
}

void inbound::finish_pending_if_whole() {
    if (!pending_.is_whole()) {
        return;
    }
    const std::uint64_t body_bytes = pending_.bytes();
    std::byte header[pipe::websocket_layout::header_bytes_max]; // The largest of all layouts.
    const std::size_t header_bytes = write_pending_header(header);
    queue_.rope().append_external(header, header_bytes, pending_.block(), body_bytes);
    pending_.take(); // Now: append_external() may have been refused memory.
    large_->proven_bytes = std::max(large_->proven_bytes, body_bytes);
    finish_external(pending_more_);
}

std::size_t inbound::write_pending_header(std::byte* out) noexcept {
    return scanner_ != nullptr
               ? scanner_->write_header(out, pending_.bytes())
               : wire::zmtp::write_header(out, pending_.bytes(),
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
    blocked_ = raw_bytes_ != 0 || !has_room();
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
    blocked_ = std::exchange(lacked_credit_, false) || !has_room();
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
    pending_.drop();
    queue_.rollback();
    raw_bytes_ = 0;
    blocked_ = false;
    lacked_credit_ = false;
}

} // namespace zlink::codec
