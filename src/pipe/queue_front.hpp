// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/inline.hpp"
#include "pipe/frame.hpp"
#include "pipe/returned_credit.hpp"
#include "pipe/rope.hpp"
#include "wire/zmtp/frame.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace zlink::pipe {

/// The front of a queue as its reader sees it: the place in the rope, the messages before it, and
/// the position up to which the reader has seen the rope published.
///
/// A reader that takes frames here does not pass that position: the frames up to there are whole,
/// and are read without another look at the writer's progress (rope's invariant 4). A reader that
/// takes frames out of the rope itself only moves the place.
///
/// @threads The reader's, or a writer's that has taken the reader's mark.
template<class Platform>
class basic_queue_front {
public:
    using rope_type = basic_rope<Platform>;
    using cursor = typename rope_type::cursor;
    using chunk = basic_chunk<Platform>;

    explicit basic_queue_front(const cursor& begin) noexcept : place_(begin) {}

    const cursor& place() const noexcept { return place_; }
    chunk& at() const noexcept { return *place_.at; }

    // The totals before the place.

    std::uint64_t position() const noexcept { return place_.position; }
    std::uint64_t message_count() const noexcept { return message_count_; }
    queue_progress passed() const noexcept { return {message_count_, place_.position}; }

    /// The published position that the reader has seen.
    std::uint64_t visible() const noexcept { return visible_; }
    void see(std::uint64_t published) noexcept { visible_ = published; }

    /// Whether everything that was seen was passed.
    bool is_read_up() const noexcept { return place_.position == visible_; }

    /// Whether the bytes of the chunk are used up, so that settle() is needed.
    bool is_at_end() const noexcept {
        return place_.offset == place_.at->end.load(std::memory_order_relaxed);
    }
    void settle() noexcept { rope_type::settle(place_); }

    /// Reads the frame at the place into `found`, member by member: copying a frame right after its
    /// members were stored would wait for the stores.
    /// @return Whether there is a frame; otherwise the chunk is of kind control or newest.
    template<class Layout>
    ZLINK_HOT bool read(frame& found) const noexcept {
        chunk& in = at();
        std::byte* const begin = in.data() + place_.offset;
        if (in.what >= chunk::kind::control) [[unlikely]] {
            return false;
        }
        const auto head = Layout::read(begin);
        const std::uint64_t wire_bytes = head.header_bytes + head.body_bytes;
        found.body_bytes = head.body_bytes;
        found.wire_bytes = wire_bytes;
        found.flags = head.flags;
        found.control = false;
        if (in.what == chunk::kind::external) [[unlikely]] {
            found.body = in.payload->data;
            found.reference = &in.payload;
        } else {
            found.body = begin + head.header_bytes;
            found.reference = nullptr;
        }
        return true;
    }

    /// Reads a short frame of ZMTP that was copied into the segment at the place.
    /// @return Whether there is such a frame; not where settle() is needed.
    ZLINK_HOT bool read_short(short_frame& found) const noexcept {
        chunk& in = at();
        const std::uint64_t offset = place_.offset;
        if (in.what != chunk::kind::segment || offset == in.end.load(std::memory_order_relaxed))
            [[unlikely]] {
            return false;
        }
        const std::byte* const begin = in.data() + offset;
        const auto flags = std::to_integer<std::uint8_t>(begin[0]);
        if (flags > wire::zmtp::flag_more) [[unlikely]] {
            return false;
        }
        found = {begin + wire::zmtp::header_bytes_min, std::to_integer<std::size_t>(begin[1]),
                 flags != 0};
        return true;
    }

    /// The control object at the place.
    frame control() const noexcept { return {nullptr, 0, 1, 0, &at().payload, true}; }

    /// The message of a conflating queue at the place, where it was filled in.
    frame newest() const noexcept {
        return {at().payload->data, at().payload_bytes, 1, 0, &at().payload, false};
    }

    /// Passes bytes of the chunk.
    void pass(std::uint64_t bytes) noexcept {
        place_.offset += bytes;
        place_.position += bytes;
    }

    /// Counts messages whose last bytes were passed.
    void count(std::uint64_t messages) noexcept { message_count_ += messages; }

    /// Passes the frame that read() has found in a segment, and those that follow it there, each a
    /// whole message.
    /// @param count_max  At least 1.
    /// @param tell       Gets each body, its bytes and flags.
    /// @return Their number.
    template<class Layout, class Tell>
    ZLINK_HOT std::size_t pass_run(std::size_t count_max, Tell&& tell) noexcept {
        const std::uint64_t rest = rope_type::contiguous(place_, visible_);
        std::byte* const begin = at().data() + place_.offset;
        std::uint64_t done = 0;
        std::size_t count = 0;
        do {
            const auto head = Layout::read(begin + done);
            const std::uint64_t frame_bytes = head.header_bytes + head.body_bytes;
            // Further frames with an equal header: their positions do not depend on their contents.
            do {
                tell(begin + done + head.header_bytes, head.body_bytes, head.flags);
                done += frame_bytes;
            } while (++count < count_max && rest - done >= frame_bytes &&
                     Layout::read(begin + done) == head);
        } while (count < count_max && done < rest);
        pass(done);
        message_count_ += count;
        return count;
    }

    /// Moves the place to one that the caller has reached in the rope itself.
    void move_to(const cursor& place, std::uint64_t message_count) noexcept {
        place_ = place;
        message_count_ = message_count;
    }

private:
    cursor place_;
    std::uint64_t visible_ = 0;
    std::uint64_t message_count_ = 0;
};

} // namespace zlink::pipe
