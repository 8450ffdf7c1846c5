// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"
#include "pipe/message_queue.hpp"
#include "wire/zmtp/frame.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>

namespace zlink::codec {

/// Sends what lies in the outgoing queue of a pipe: offers its bytes for gathered writes and keeps
/// count of how far they went.
///
/// Bytes of a message are let go only when all of it was written, so that after a lost connection
/// the message that was cut off can be sent again from its start: the rope's front. Where messages
/// end is known without looking wherever all that was published is written; elsewhere walk() looks
/// at headers.
///
/// @threads The session's.
class outbound {
public:
    /// @param frames  How they lie in the queue. If not as ZMTP's, visit_frames() must not be used.
    explicit outbound(pipe::message_queue& queue, pipe::layout frames = pipe::layout::zmtp) noexcept
        : queue_(queue), sent_(queue.rope().front()), walked_(sent_), frames_(frames) {}

    /// Describes what is to be written next, up to the next control object. Not for the messages of
    /// a conflating queue, which visit_frames() gives.
    ///
    /// A small rest beyond whole units is left for the next batch, if all that is published would
    /// be written with it: has_left_rest().
    /// @param unit_bytes  stream::unit_bytes(); 0: nothing is left.
    /// @return The number of parts filled in; 0 if there is nothing to write.
    std::size_t gather(std::span<iovec> parts, std::size_t unit_bytes = 0) noexcept;

    /// Whether so many messages wait that more will follow before what gather() may leave is
    /// missed.
    bool has_many() const noexcept {
        // What was counted on the way may be ahead of what the writer has said (progress).
        const std::uint64_t seen = std::max(message_count_, left_.message_count);
        return queue_.rope().published_count() >= seen + limits::many_messages_min;
    }

    /// Whether all that is published is written but for what gather() has left. Then the writer of
    /// the queue should have its turn before the rest is written with what comes, or alone.
    bool has_left_rest() const noexcept {
        return left_.position > sent_.position && left_.position == queue_.rope().published();
    }

    /// Returns credit for the messages that gather() described, before they are written, so that
    /// the next batch can be made meanwhile. Only for one batch at a time: until it is written, but
    /// for a rest that was left, no other is lent.
    /// @return Whether the writer of the queue must be woken.
    [[nodiscard]] bool lend_credit() noexcept;

    /// Notes that the first `bytes` bytes of what gather() described were written.
    /// @return Whether the writer of the queue must be woken.
    [[nodiscard]] bool advance(std::size_t bytes) noexcept;

    /// Returns the credit for messages that were written but not known to be whole.
    /// @return Whether the writer of the queue must be woken.
    [[nodiscard]] bool return_credit() noexcept;

    /// Must be called before anything but has_work() and is_empty() when the queue's reader was
    /// marked asleep and no longer is: its memory may have been given back meanwhile, and what it
    /// held been written past it.
    void on_woken() noexcept;

    /// Whether there is something to write or credit to return. After the heavy fence a reader that
    /// marked itself asleep asks this.
    bool has_work() const noexcept {
        const auto now = queue_.published();
        return now.position != sent_.position || now.message_count != message_count_;
    }

    /// Marks the queue: whoever writes to it next wakes us. Until on_woken(), or unpark(), its
    /// memory is the writer's to give back.
    /// @return Whether the mark counts only behind the heavy fence.
    bool park() noexcept {
        is_parked_ = true;
        return queue_.mark_reader_asleep();
    }
    bool is_parked() const noexcept { return is_parked_; }

    /// Takes the mark back, if there is something to write.
    /// @return Whether that was so; if not, there is nothing to do, or a letter will come.
    bool unpark() noexcept {
        if (!has_work() || !queue_.unmark_reader()) {
            return false;
        }
        on_woken();
        return true;
    }

    /// What comes up to the next control object is stale: discard() it.
    void await_mark() noexcept { awaits_mark_ = true; }
    /// Until take_control().
    bool awaits_mark() const noexcept { return awaits_mark_; }

    /// Whether a control object is next.
    bool is_at_control() noexcept;

    /// The control object that is next, with its reference, or null.
    /// @param wake_writer  Set if the writer of the queue must be woken.
    pipe::block* take_control(bool& wake_writer) noexcept;

    /// Drops all frames up to the next control object, or to the end.
    /// @return Whether the writer of the queue must be woken.
    [[nodiscard]] bool discard() noexcept;

    /// Calls visit(const frame_head&, body) for the frames that are next, up to the next control
    /// object or behind the next message of a conflating queue, until it returns false. Needs
    /// advance() to have stopped at the end of a frame.
    /// @return The bytes of the frames for which it returned true, as advance() needs them.
    template<class Visitor>
    std::uint64_t visit_frames(Visitor&& visit);

    /// Returns the credit for all messages that were written whole.
    /// @return Whether the writer of the queue must be woken.
    [[nodiscard]] bool settle_accounts() noexcept;

    /// Goes back to the start of the message that was not written whole.
    void rewind() noexcept;

    /// Whether part of a message was written.
    bool is_inside_message() noexcept {
        walk();
        return sent_.position != boundary();
    }

    /// Where in the stream of the queue's bytes the next one is. It does not change with time.
    std::uint64_t position() const noexcept { return sent_.position; }

    /// Drops the next message, of which nothing may have been written since rewind().
    /// @param wake_writer  Set if the writer of the queue must be woken.
    /// @return The bytes of its frames.
    std::uint64_t drop_message(bool& wake_writer) noexcept;

    /// Whether everything that was published is written.
    bool is_empty() const noexcept { return sent_.position == queue_.rope().published(); }

    /// Bytes to the end of the frame that was begun; 0 at a frame boundary.
    std::uint64_t frame_rest() noexcept {
        walk();
        return frame_rest_;
    }

    pipe::message_queue& queue() noexcept { return queue_; }

private:
    using rope = pipe::message_queue::rope_type;

    std::size_t leave(std::uint64_t rest, std::span<iovec> parts) noexcept;
    static void pass(rope::cursor& place, std::uint64_t position) noexcept;
    bool come_to_end(std::uint64_t message_count) noexcept;
    void walk() noexcept;
    template<class Layout>
    void walk_as() noexcept;
    static const std::byte* bytes_of(const rope::cursor& place) noexcept;
    bool tell_writer() noexcept;
    /// Up to where whole messages are known to be written.
    std::uint64_t boundary() const noexcept { return queue_.rope().front().position; }

    pipe::message_queue& queue_;
    rope::cursor sent_;
    rope::cursor walked_;                  ///< How far headers were looked at; not beyond sent_.
    std::uint64_t message_count_ = 0;      ///< Messages that were let go, or fewer (progress).
    std::uint64_t lent_count_ = 0;         ///< Messages for which credit was returned.
    pipe::message_queue::progress goal_{}; ///< What was published when gather() looked.
    std::uint64_t frame_rest_ = 0;         ///< Bytes of the frame at walked_ that are not walked.
    pipe::message_queue::progress left_{}; ///< The end of what was written but for a rest.
    std::uint32_t rest_bytes_ = 0;         ///< What gather() left of goal_.
    bool gathered_all_ = false;            ///< It described, or left, all of goal_.
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
            break; // There may be a newer one when this one was sent.
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
