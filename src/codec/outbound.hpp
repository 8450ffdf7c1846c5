// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/message_queue.hpp"
#include "wire/zmtp/frame.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>

namespace zlink::tuning {

/// Where so many messages wait, a gathered write leaves the remainder after whole units of the
/// system (stream::unit_bytes()) for the next write, if it is less than this fraction of a unit.
constexpr std::uint64_t many_messages_min = 64;
constexpr std::size_t units_per_rest = 8;

} // namespace zlink::tuning

namespace zlink::codec {

/// Sends the outgoing queue of a pipe: offers its bytes for gathered writes and tracks how many
/// were written.
///
/// Bytes of a message are released only when the whole message is written, so that after a lost
/// connection the interrupted message can be sent again from its start: the rope's front. If
/// everything published is written, message ends are known without reading headers; otherwise
/// walk() reads headers.
///
/// @threads The session's.
class outbound {
public:
    /// @param frames  Their layout in the queue. visit_frames() requires ZMTP's.
    explicit outbound(pipe::message_queue& queue, pipe::layout frames = pipe::layout::zmtp) noexcept
        : queue_(queue), sent_(queue.rope().front()), walked_(sent_), frames_(frames) {}

    /// Describes the bytes to write next, up to the next control object. Not for the messages of a
    /// conflating queue: use visit_frames().
    ///
    /// A small remainder beyond whole units is left for the next batch, if the write would
    /// otherwise include everything published: has_left_rest().
    /// @param unit_bytes  stream::unit_bytes(); 0: no remainder is left.
    /// @return The number of parts filled in; 0 if there is nothing to write.
    std::size_t gather(std::span<iovec> parts, std::size_t unit_bytes = 0) noexcept;

    /// Whether so many messages are queued that more will follow before the remainder that gather()
    /// may leave is missed.
    bool has_many() const noexcept {
        // The count from headers may be ahead of the producer's published count (progress).
        const std::uint64_t seen = std::max(message_count_, left_.message_count);
        return queue_.rope().published_count() >= seen + tuning::many_messages_min;
    }

    /// Whether everything published is written except the remainder that gather() left. The
    /// producer should then run before the remainder is written with new data, or alone.
    bool has_left_rest() const noexcept {
        return left_.position > sent_.position && left_.position == queue_.rope().published();
    }

    /// Returns credit for the messages that gather() described, before they are written, so that
    /// the producer can prepare the next batch meanwhile. Only for one batch at a time: no other is
    /// lent until it is written, except for a remainder that was left.
    /// @return Whether the writer of the queue must be woken.
    [[nodiscard]] bool lend_credit() noexcept;

    /// Records that the first `bytes` bytes that gather() described were written.
    /// @return Whether the writer of the queue must be woken.
    [[nodiscard]] bool advance(std::size_t bytes) noexcept;

    /// Returns the credit for messages that were written but not known to be complete.
    /// @return Whether the writer of the queue must be woken.
    [[nodiscard]] bool return_credit() noexcept;

    /// Must be called before anything but has_work() and is_empty() when the queue's reader was
    /// marked as parked and no longer is: meanwhile its memory may have been freed, and its content
    /// written by the sender's thread.
    void on_woken() noexcept;

    /// Whether there is something to write or credit to return. A reader that has marked itself as
    /// parked checks this after the heavy fence.
    bool has_work() const noexcept {
        const auto now = queue_.published();
        return now.position != sent_.position || now.message_count != message_count_;
    }

    /// Marks the queue: the next producer wakes this thread. Until on_woken(), or unpark(), the
    /// producer owns its memory and can free it.
    /// @return Whether the mark takes effect only after the heavy fence.
    bool park() noexcept {
        is_parked_ = true;
        return queue_.mark_reader_parked();
    }
    bool is_parked() const noexcept { return is_parked_; }

    /// Removes the mark if there is something to write.
    /// @return Whether it was removed; if not, there is nothing to do, or an event will come.
    bool unpark() noexcept {
        if (!has_work() || !queue_.unmark_reader()) {
            return false;
        }
        on_woken();
        return true;
    }

    /// Everything up to the next control object is stale: discard() it.
    void await_mark() noexcept { awaits_mark_ = true; }
    /// True until take_control().
    bool awaits_mark() const noexcept { return awaits_mark_; }

    /// Whether the next item is a control object.
    bool is_at_control() noexcept;

    /// The next item's control object, with its reference; null if it is none.
    /// @param wake_writer  Set if the writer of the queue must be woken.
    pipe::block* take_control(bool& wake_writer) noexcept;

    /// Drops all frames up to the next control object, or to the end.
    /// @return Whether the writer of the queue must be woken.
    [[nodiscard]] bool discard() noexcept;

    /// Calls visit(const frame_head&, body) for the next frames, up to the next control object or
    /// behind the next message of a conflating queue, until it returns false. advance() must have
    /// stopped at the end of a frame.
    /// @return The bytes of the frames for which it returned true, as advance() needs them.
    template<class Visitor>
    std::uint64_t visit_frames(Visitor&& visit);

    /// Returns the credit for all messages that were written completely.
    /// @return Whether the writer of the queue must be woken.
    [[nodiscard]] bool return_all_credit() noexcept;

    /// Returns to the start of the incomplete message.
    void rewind() noexcept;

    /// Whether a message is partly written.
    bool is_inside_message() noexcept {
        walk();
        return sent_.position != boundary();
    }

    /// The position of the next byte in the queue's byte stream, stable over time.
    std::uint64_t position() const noexcept { return sent_.position; }

    /// Drops the next message; none of it may have been written since rewind().
    /// @param wake_writer  Set if the writer of the queue must be woken.
    /// @return The bytes of its frames.
    std::uint64_t drop_message(bool& wake_writer) noexcept;

    /// Whether everything published is written.
    bool is_empty() const noexcept { return sent_.position == queue_.rope().published(); }

    /// Bytes to the end of the partly written frame; 0 at a frame boundary.
    std::uint64_t frame_rest() noexcept {
        walk();
        return frame_rest_;
    }

    pipe::message_queue& queue() noexcept { return queue_; }

private:
    using rope = pipe::message_queue::rope_type;

    std::size_t leave(std::uint64_t rest, std::span<iovec> parts) noexcept;
    static void pass(rope::cursor& place, std::uint64_t position) noexcept;
    bool release_written(std::uint64_t message_count) noexcept;
    void walk() noexcept;
    template<class Layout>
    void walk_as() noexcept;
    static const std::byte* bytes_of(const rope::cursor& place) noexcept;
    bool tell_writer() noexcept;
    /// The end of the messages that are known to be written completely.
    std::uint64_t boundary() const noexcept { return queue_.rope().front().position; }

    pipe::message_queue& queue_;
    rope::cursor sent_;
    rope::cursor walked_;                  ///< How far headers were read; not beyond sent_.
    std::uint64_t message_count_ = 0;      ///< Messages that were released, or fewer (progress).
    std::uint64_t lent_count_ = 0;         ///< Messages for which credit was returned.
    pipe::message_queue::progress goal_{}; ///< The published progress at the last gather().
    std::uint64_t frame_rest_ = 0;         ///< Bytes of the frame at walked_ not yet walked.
    pipe::message_queue::progress left_{}; ///< The end of a write that left a remainder.
    std::uint32_t rest_bytes_ = 0;         ///< Bytes of goal_ that gather() left.
    bool gathered_all_ = false;            ///< gather() described, or left, all of goal_.
    bool more_ = false; ///< The frame at walked_, or the last one, has more behind it.
    bool is_parked_ = false;
    bool awaits_mark_ = false;
    pipe::layout frames_;
};

template<class Visitor>
std::uint64_t outbound::visit_frames(Visitor&& visit) {
    goal_ = queue_.published();
    rope::cursor place = sent_;
    while (place.position < goal_.position) {
        rope::settle(place);
        auto& at = *place.at;
        if (at.what == pipe::message_queue::chunk::kind::control) {
            break;
        }
        if (at.what == pipe::message_queue::chunk::kind::newest) {
            const bool is_outdated = queue_.fill_newest(place, goal_.position);
            const wire::zmtp::frame_head head{.body_bytes = at.payload_bytes};
            if (is_outdated || visit(head, std::span{at.payload->data, at.payload_bytes})) {
                ++place.offset;
                ++place.position;
            }
            if (is_outdated) {
                continue;
            }
            break; // A newer one may exist when this one was sent.
        }
        const std::byte* const frame = at.data() + place.offset;
        const wire::zmtp::frame_head head = wire::zmtp::read_head_trusted(frame);
        const bool is_external = at.what == pipe::message_queue::chunk::kind::external;
        const std::byte* const body = is_external ? at.payload->data : frame + head.header_bytes;
        if (!visit(head, std::span<const std::byte>{body, head.body_bytes})) {
            break;
        }
        place.offset += head.frame_bytes();
        place.position += head.frame_bytes();
    }
    return place.position - sent_.position;
}

} // namespace zlink::codec
