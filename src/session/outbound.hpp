// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/message_queue.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>
#include <vector>

namespace zlink::session {

/// Sends what lies in the outgoing queue of a pipe: offers its octets for gathered writes and keeps
/// count of how far they went.
///
/// Octets of a message are let go only when all of it was written, so that after a lost connection
/// the message that was cut off can be sent again from its start. Where messages end is known
/// without looking wherever all that was published is written; elsewhere walk() looks at headers.
///
/// @threads The session's.
class outbound {
public:
    explicit outbound(pipe::message_queue& queue) noexcept
        : queue_(queue), sent_(queue.rope().front()), walked_(sent_), boundary_(sent_) {}

    /// Describes what is to be written next, up to the next control object.
    /// @return The number of parts filled in; 0 if there is nothing to write.
    std::size_t gather(std::span<iovec> parts) noexcept;

    /// Notes that the first `bytes` octets of what gather() described were written.
    /// @return Whether the writer of the queue must be woken.
    [[nodiscard]] bool advance(std::size_t bytes) noexcept;

    /// Returns the credit for messages that were written but not known to be whole.
    /// @return Whether the writer of the queue must be woken.
    [[nodiscard]] bool return_credit() noexcept;

    /// Must be called before anything but has_work() and is_empty() when the queue's reader was
    /// marked asleep and no longer is: its memory may have been given back meanwhile.
    void on_woken() noexcept;

    /// Whether there is something to write or credit to return. After the heavy fence a reader that
    /// marked itself asleep asks this.
    bool has_work() const noexcept {
        const auto now = queue_.published();
        return now.position != sent_.position || now.message_count != message_count_;
    }

    /// The control object that is next, with its reference, or null.
    /// @param wake_writer  Set if the writer of the queue must be woken.
    pipe::block* take_control(bool& wake_writer) noexcept;

    /// Drops all frames up to the next control object, or to the end.
    /// @return Whether the writer of the queue must be woken.
    [[nodiscard]] bool discard() noexcept;

    /// Appends the frames that are next to `out`, with each SUBSCRIBE and CANCEL command turned
    /// into the message that peers of version 3.0 take instead.
    /// @return The octets that advance() needs once all of `out` was written.
    std::size_t copy_subscriptions_as_messages(std::vector<std::byte>& out) const;

    /// Goes back to the start of the message that was not written whole.
    void rewind() noexcept;

    /// Whether everything that was published is written.
    bool is_empty() const noexcept { return sent_.position == queue_.rope().published(); }

    /// Octets to the end of the frame that was begun; 0 at a frame boundary.
    std::uint64_t frame_rest() noexcept {
        walk();
        return frame_rest_;
    }

    pipe::message_queue& queue() noexcept { return queue_; }

private:
    using rope = pipe::message_queue::rope_type;

    void walk() noexcept;
    bool release() noexcept;

    pipe::message_queue& queue_;
    rope::cursor sent_;
    rope::cursor walked_;                  ///< How far headers were looked at; not beyond sent_.
    rope::cursor boundary_;                ///< The last known end of a message.
    std::uint64_t message_count_ = 0;      ///< Messages before boundary_, or fewer (progress).
    pipe::message_queue::progress goal_{}; ///< What was published when gather() looked.
    std::uint64_t frame_rest_ = 0;         ///< Octets of the frame at walked_ that are not walked.
    bool more_ = false; ///< The frame at walked_, or the last one, has more behind it.
};

} // namespace zlink::session
