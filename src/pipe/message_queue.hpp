// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/copy.hpp"
#include "base/limits.hpp"
#include "base/prefetch_for_writing.hpp"
#include "base/reader_distance.hpp"
#include "base/relaxed.hpp"
#include "pipe/block.hpp"
#include "pipe/frame.hpp"
#include "pipe/layout.hpp"
#include "pipe/message_slot.hpp"
#include "pipe/parked_mark.hpp"
#include "pipe/publication_fence.hpp"
#include "pipe/queue_front.hpp"
#include "pipe/queue_limits.hpp"
#include "pipe/returned_credit.hpp"
#include "pipe/rope.hpp"
#include "pipe/writer_credit.hpp"
#include "wire/zmtp/frame.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <sys/uio.h>
#include <utility>

namespace zlink::tuning {

/// Bytes of a segment that must have been used before an empty queue restarts it.
constexpr std::size_t restart_bytes_min = 1024;

} // namespace zlink::tuning

namespace zlink::pipe {

/// One direction of a pipe: a rope of frames with credit, and a mark for each side that it is
/// parked.
///
/// Frames are those of ZMTP, unless `Layout` says otherwise in each call.
///
/// The writer (producer) may have messages_max messages or bytes_max bytes under way. The reader
/// (consumer) returns credit when it has used up the messages that it saw published, or a batch of
/// them (queue_limits.hpp).
///
/// A side that finds nothing to do marks itself as parked (parked_mark.hpp). Credit is returned in
/// batches, so both of its sides pass a full fence, which the mark includes. A publication passes
/// either kind (publication_fence.hpp).
///
/// A conflating queue (ZMQ_CONFLATE) has no limits, and keeps only the newest message: the writer
/// replaces the one in `newest_`, for which a chunk stands (message_slot.hpp). A message may
/// overtake control objects.
///
/// @threads One writer and one reader, which may be different threads.
template<class Platform>
class basic_message_queue {
public:
    using rope_type = basic_rope<Platform>;
    using cursor = typename rope_type::cursor;
    using chunk = basic_chunk<Platform>;

    explicit basic_message_queue(const queue_limits& allowed) noexcept { set_limits(allowed); }

    /// Changes the writer's limits. Only for the writer, or before the other side exists.
    void set_limits(const queue_limits& allowed) noexcept {
        limits_.set(allowed);
        update_credit();
    }

    /// Keeps only the newest message from now on. Only for the writer, or before the other side
    /// exists.
    void conflate() noexcept {
        conflates_ = true;
        update_credit();
    }
    bool conflates() const noexcept { return conflates_; }

    /// The writer publishes whole batches: each publication passes a full fence, permanently.
    /// Before the other side exists.
    void fence_publications() noexcept { fence_.always_full(); }

    /// Adds the reader's limit to the writer's, as inproc does with both sides' high-water marks.
    /// Only for the reader, or before the other side exists.
    /// @param messages_max  0: no limit.
    void add_reader_limit(std::uint64_t messages_max) noexcept { limits_.add(messages_max); }

    /// Makes `messages_max` the only limit from now on, in place of the writer's, which never
    /// changes. Only for the reader, where add_reader_limit() is not used.
    /// @param messages_max  0: no limit.
    void replace_limit(std::uint64_t messages_max) noexcept { limits_.replace(messages_max); }

    // The writer's side.

    /// Reloads the credit now, before it is used up.
    void renew_credit() noexcept { update_credit(); }

    /// Whether another message may begin.
    bool has_credit() noexcept {
        if (credit_.allows_another(rope_.marked())) [[likely]] {
            return true;
        }
        update_credit();
        return conflates_ || credit_.allows_another(rope_.marked());
    }

    /// Whether the reader has not taken anything yet.
    bool is_untouched() const noexcept { return returned_.is_untouched(); }

    /// How many messages may begin before has_credit() must be asked again.
    std::uint64_t credit() noexcept { return has_credit() ? credit_.left() : 0; }

    /// Appends a frame by copying its body.
    /// @throws std::bad_alloc  Nothing changed.
    template<class Layout = zmtp_layout>
    ZLINK_HOT void push_copy(const std::byte* body, std::size_t body_bytes, std::uint8_t flags) {
        const std::size_t wire_bytes = Layout::header_bytes(body_bytes) + body_bytes;
        std::byte* const out = rope_.reserve(wire_bytes);
        const std::size_t header = Layout::write_header(out, body_bytes, flags);
        Layout::write_body(out + header, body, body_bytes);
        prefetch_for_writing(out, out + wire_bytes, out + rope_.free_bytes());
        rope_.commit(wire_bytes);
    }

    /// Appends a frame whose body is the first `body_bytes` bytes of `body`.
    /// @param body  Takes over one reference, unless it throws.
    /// @throws std::bad_alloc  Nothing changed.
    /// @param detail  Further data that the layout needs to write a header.
    template<class Layout = zmtp_layout, class... Detail>
    void push_reference(block* body, std::size_t body_bytes, std::uint8_t flags,
                        const Detail&... detail) {
        std::byte header[Layout::header_bytes_max];
        const std::size_t written = Layout::write_header(header, body_bytes, flags, detail...);
        rope_.append_external(header, written, body, body_bytes);
    }

    /// Replaces the message that was pushed last and not taken, if there is one. Only where the
    /// queue conflates; finish_message() must follow.
    /// @param body  Takes over one reference, unless it throws.
    /// @throws std::bad_alloc  Nothing changed.
    void push_newest(block* body, std::size_t body_bytes) {
        if (newest_.put(rope_, body, body_bytes)) {
            count_dropped();
            credit_.uncount(has_unfinished() ? 0 : 1); // Counted with its replacement.
            uncounted_bytes_ -= chunk_stand_in_bytes;  // This one has no chunk of its own.
        }
        uncounted_bytes_ += chunk_stand_in_bytes -
                            static_cast<std::int64_t>(zmtp_layout::header_bytes(body_bytes)) -
                            static_cast<std::int64_t>(body_bytes);
    }

    /// The position of a frame in its message.
    struct frame_place {
        bool is_first = true;
        bool is_last = true; ///< Then the message is published.
    };

    /// Appends a short frame, if there is credit for the message that it begins, and room in the
    /// newest segment; never if the queue conflates.
    /// @param wake_reader  Set if it was appended: whether the caller must wake the reader.
    /// @return Whether it was appended.
    ZLINK_HOT bool push_at_once(const std::byte* body, std::size_t body_bytes, frame_place place,
                                bool& wake_reader) noexcept {
        const std::size_t wire_bytes = wire::zmtp::header_bytes_min + body_bytes;
        const bool may_not =
            place.is_first ? !credit_.allows_another(rope_.marked()) : bool{conflates_};
        if (may_not || body_bytes > wire::zmtp::short_body_bytes_max ||
            rope_.free_bytes() < wire_bytes) [[unlikely]] {
            return false;
        }
        std::byte* const out = rope_.free_begin();
        wire::zmtp::write_short_header(out, body_bytes, place.is_last ? 0 : wire::zmtp::flag_more);
        copy_short(out + wire::zmtp::header_bytes_min, body, body_bytes);
        prefetch_for_writing(out, out + wire_bytes, out + rope_.free_bytes());
        rope_.commit(wire_bytes);
        wake_reader = place.is_last && finish_message();
        return true;
    }

    /// Whether a message may begin whose frame takes `wire_bytes`, and fits into the present
    /// memory.
    bool has_room(std::size_t wire_bytes) noexcept {
        return has_credit() && rope_.free_bytes() >= wire_bytes;
    }

    /// Ends the message whose frames were pushed and publishes it.
    /// @return Whether the caller must wake the reader.
    [[nodiscard]] ZLINK_HOT bool finish_message() noexcept {
        rope_.mark();
        return publish(1);
    }

    /// Appends `count` messages of one frame each, which stay in the segment of another queue, and
    /// ends them; publish_messages() publishes them.
    /// @param segment, bytes  As rope::append_borrowed().
    /// @throws std::bad_alloc  Nothing changed.
    void push_borrowed(chunk* segment, std::span<const std::byte> data, std::uint64_t count) {
        rope_.append_borrowed(segment, data.data(), data.size());
        end_messages(count);
    }

    /// Appends `count` messages of one frame each by copying `data`, their wire image, and ends
    /// them; publish_messages() publishes them.
    /// @throws std::bad_alloc  Nothing changed.
    void push_frames(std::span<const std::byte> data, std::uint64_t count) {
        copy_bytes(rope_.reserve(data.size()), data.data(), data.size());
        rope_.commit(data.size());
        end_messages(count);
    }

    /// Ends the message whose frames were pushed; publish_messages() publishes it, with others.
    void end_message() noexcept { end_messages(1); }

    /// Publishes the messages that were ended.
    /// @return Whether the caller must wake the reader.
    [[nodiscard]] bool publish_messages() noexcept { return publish(0); }

    /// Puts an object into the queue, behind all finished messages. It takes credit if it counts as
    /// a message.
    /// @param object  Takes over one reference, unless it throws.
    /// @return Whether the caller must wake the reader.
    /// @throws std::bad_alloc  Nothing changed.
    [[nodiscard]] bool push_control(block* object) {
        const std::uint64_t count = object->is_message ? 1 : 0;
        rope_.append_control(object);
        rope_.mark();
        uncounted_bytes_ += chunk_stand_in_bytes;
        return publish(count);
    }

    /// Counts `count` messages that were marked in the rope, and publishes them.
    /// @return Whether the caller must wake the reader.
    [[nodiscard]] bool finish_marked(std::uint64_t count) noexcept { return publish(count); }

    /// Drops the frames of an unfinished message.
    void rollback() noexcept { rope_.rollback(); }

    bool has_unfinished() const noexcept { return rope_.written() != rope_.marked(); }

    /// Lets `write` do the work of the parked reader with the messages that it has not taken. Only
    /// for a writer that is to wake the reader. If all of them were written the wake-up is omitted:
    /// the messages count as taken, and the reader's mark is restored. A reader that was marked
    /// must reload place() and taken_count().
    /// @param write  Gets the bytes as a std::span<const iovec>, and returns the number of bytes
    ///               that were written.
    /// @return The number of bytes that were written of messages that are left for the reader;
    /// nothing if none are left.
    template<class Write>
    std::optional<std::size_t> write_past_reader(Write&& write) {
        cursor place = front_.place();
        const std::uint64_t bytes = rope_.marked() - place.position;
        std::array<iovec, short_gather_count_max> parts;
        const std::size_t count = rope_type::gather(place, rope_.marked(), bytes, parts);
        if (conflates_ || place.position != rope_.marked() || bytes > tuning::gather_bytes_max) {
            return 0;
        }
        const std::size_t written = write(std::span<const iovec>{parts.data(), count});
        if (written != bytes) {
            return written;
        }
        rope_.release_to(place);
        front_.move_to(place, credit_.pushed_count());
        give_back();
        reader_parked_.restore();
        return {};
    }

    void mark_writer_parked() noexcept { writer_parked_.set(); }

    /// Takes the mark back after the fence.
    /// @return Whether it was still set; otherwise a wake-up is on its way.
    bool unmark_writer() noexcept { return writer_parked_.take(); }

    /// Counts a message that was not sent, or replaced by a newer one.
    void count_dropped() noexcept {
        dropped_count_.store(dropped_count() + 1, std::memory_order_relaxed);
    }
    /// @threads any
    std::uint64_t dropped_count() const noexcept {
        return dropped_count_.load(std::memory_order_relaxed);
    }

    rope_type& rope() noexcept { return rope_; }

    // The reader's side.

    /// Whether a frame or control object is at the front.
    bool has_frame() noexcept {
        if (!front_.is_read_up()) [[likely]] {
            return true;
        }
        front_.see(rope_.published());
        return !front_.is_read_up();
    }

    /// Whether the reader has taken everything that it has seen published.
    bool is_read_up() const noexcept { return front_.is_read_up(); }

    /// Reloads the published position.
    writer_lead look() noexcept {
        front_.see(rope_.published());
        const std::uint64_t count = rope_.published_count() - front_.message_count();
        return {front_.visible() - front_.position(), count, count >= limits_.batch()};
    }

    /// The frame at the front. Needs has_frame().
    template<class Layout = zmtp_layout>
    frame front() noexcept {
        frame found;
        front<Layout>(found);
        return found;
    }

    /// The same into `found`, which is not copied.
    template<class Layout = zmtp_layout>
    ZLINK_HOT void front(frame& found) noexcept {
        if (front_.is_at_end()) [[unlikely]] {
            front_.settle();
            if (!lends_) [[likely]] {
                rope_.release_to(front_.place());
                returned_.give_bytes(front_.position());
            }
        }
        if (!front_.template read<Layout>(found)) [[unlikely]] {
            found = front_.at().what == chunk::kind::newest ? front_newest() : front_.control();
        }
    }

    /// Results of calls that take a short frame at once: `nothing` if there was none;
    /// `more_follows` is added to the frame's bytes if another frame of the same message follows.
    static constexpr std::size_t nothing = SIZE_MAX;
    static constexpr std::size_t more_follows = ~(~std::size_t{0} >> 1);

    using short_frame = pipe::short_frame;

    /// @return Whether a short frame is at the front.
    ZLINK_HOT bool front_short(short_frame& found) noexcept {
        if (!has_frame()) [[unlikely]] {
            return false;
        }
        return front_.read_short(found);
    }

    /// Removes the frame that front_short() found.
    /// @return Whether the caller must wake the writer.
    [[nodiscard]] ZLINK_HOT bool take_short(const short_frame& taken) noexcept {
        front_.pass(wire::zmtp::header_bytes_min + taken.body_bytes);
        if (taken.more) {
            return false;
        }
        front_.count(1);
        return return_due_credit();
    }

    /// Returns credit if enough messages were removed or there are no more.
    /// @return Whether the caller must wake the writer.
    [[nodiscard]] ZLINK_HOT bool return_due_credit() noexcept {
        if (!front_.is_read_up() &&
            front_.message_count() - returned_.given_count() < limits_.batch()) [[likely]] {
            return false;
        }
        return return_credit();
    }

    /// Removes the frame at the front.
    /// @return Whether the caller must wake the writer.
    [[nodiscard]] bool pop(const frame& done) noexcept {
        front_.pass(done.wire_bytes);
        if (done.more()) {
            return false;
        }
        front_.count(done.control ? 0 : 1); // Its bytes count, so credit for them goes back.
        return return_due_credit();
    }

    /// From now on the frames that lend() takes stay unchanged until end_lending(). Until then the
    /// reader must not be marked as parked.
    void begin_lending() noexcept { lends_ = true; }
    bool is_lending() const noexcept { return lends_; }

    /// The segment of the frame at the front, if it was copied into one; else null.
    chunk* front_segment() const noexcept {
        return front_.at().what == chunk::kind::segment ? &front_.at() : nullptr;
    }

    /// Removes the frame at the front, a whole message, but keeps its memory.
    void lend(const frame& lent) noexcept {
        front_.pass(lent.wire_bytes);
        front_.count(1);
    }

    /// The same for the frame that front() has found in a segment, and those that follow it there.
    /// @param count_max  At least 1.
    /// @param tell       Gets each body, its bytes and flags.
    /// @return Their number.
    template<class Layout, class Tell>
    ZLINK_HOT std::size_t lend_run(std::size_t count_max, Tell&& tell) noexcept {
        return front_.template pass_run<Layout>(count_max, tell);
    }

    /// Frees the memory of the lent frames. return_due_credit() must follow.
    void end_lending() noexcept {
        lends_ = false;
        rope_.release_to(front_.place());
    }

    /// Tells the writer the total that was taken out of the rope, for a reader that takes frames
    /// out itself.
    /// @param place  The position up to which the rope was released.
    /// @return Whether the caller must wake the writer.
    [[nodiscard]] bool return_credit(std::uint64_t message_count, const cursor& place) noexcept {
        front_.move_to(place, message_count);
        return return_credit();
    }

    /// Returns credit for messages that the reader will take soon, but not for their bytes.
    /// @param message_count  Of all messages so far: those taken, and these.
    /// @return Whether the caller must wake the writer.
    [[nodiscard]] bool lend_credit(std::uint64_t message_count) noexcept {
        returned_.lend(message_count);
        return writer_parked_.take_after_fence();
    }

    /// The reader's position. Its `position` is changed only by the reader; the other members also
    /// by trim(), restart() and write_past_reader(), while the reader is marked as parked.
    const cursor& place() const noexcept { return front_.place(); }

    /// The messages that were taken before place().
    std::uint64_t taken_count() const noexcept { return front_.message_count(); }

    /// message_slot::fill(), for a reader that takes frames out itself.
    bool fill_newest(const cursor& place, std::uint64_t visible) noexcept {
        return newest_.fill(place, visible);
    }

    using progress = queue_progress;

    /// The writer's progress. Slightly low unless the writer is idle.
    progress published() const noexcept {
        const std::uint64_t count = rope_.published_count();
        return {count, rope_.published()};
    }

    /// Whether the reader has taken everything that was published before `position`, as far as the
    /// writer can know.
    bool has_taken(std::uint64_t position) const noexcept { return returned_.has_taken(position); }

    using backlog = queue_backlog;

    /// Data that was published and, as far as the writer can know, not taken yet. Approximate from
    /// a third thread.
    backlog untaken() const noexcept {
        // In this order, the published totals include everything that was taken.
        const progress taken = returned_.taken();
        return published().since(taken);
    }

    /// Totals of a queue, for statistics.
    struct totals {
        queue_progress sent;         ///< Messages, and bytes of their frames with the headers.
        queue_backlog waiting;       ///< untaken().
        std::uint64_t highest_count; ///< The largest number of messages that were untaken.
        std::uint64_t dropped_count; ///< Replaced by newer ones if `conflates`.
        bool conflates;
    };

    /// The bytes may once be one too few for each control object that is being pushed.
    /// @threads any
    totals measure() const noexcept {
        const std::int64_t uncounted = uncounted_bytes_; // First: it is never ahead of `now`.
        const queue_progress taken = returned_.taken();
        const queue_progress now = published();
        const bool is_conflating = conflates_;
        const std::uint64_t replaced = is_conflating ? dropped_count() : 0;
        const queue_backlog waiting = now.since(taken);
        return {
            {now.message_count + replaced, now.position - static_cast<std::uint64_t>(uncounted)},
            waiting,
            std::max<std::uint64_t>(highest_count_, waiting.message_count),
            dropped_count(),
            is_conflating};
    }

    /// @return Whether the mark counts only after the heavy fence.
    bool mark_reader_parked() noexcept {
        reader_parked_.set_and_share();
        return fence_.needs_heavy();
    }

    /// Takes the mark back after the fence.
    /// @return Whether it was still set; otherwise a wake-up is on its way.
    bool unmark_reader() noexcept { return reader_parked_.take(); }

    /// Whether data was published that the reader has not seen. Only for a reader that marked
    /// itself as parked and passed the fence.
    bool missed_something() const noexcept { return rope_.published() != front_.visible(); }

    /// Frees the memory of an empty queue, if the reader is parked. Only for the writer.
    /// @return Whether the caller must wake the reader.
    [[nodiscard]] bool trim() noexcept {
        return rope_.holds_memory() && change_empty([this] { rope_.trim(); });
    }

    /// Reuses the memory of an empty queue from its beginning, if the reader is parked. Only for
    /// the writer.
    /// @param used_bytes_min  Does nothing if less of it was used.
    /// @return Whether the caller must wake the reader.
    [[nodiscard]] bool restart(std::uint64_t used_bytes_min = tuning::restart_bytes_min) noexcept {
        return reader_parked_.is_set() && rope_.tail_bytes() >= used_bytes_min &&
               change_empty([this] { rope_.restart(); });
    }

    /// As trim(), and begins with as much memory as it had when something is sent again: for queues
    /// that are filled and emptied in turn, so that all of them use memory that is still in the
    /// caches. Does nothing where the memory is a small segment. A cell is passed on: it would have
    /// left the caches when something is appended to it.
    /// @return Whether the caller must wake the reader.
    [[nodiscard]] bool pass_on_memory() noexcept {
        return reader_parked_.is_set() &&
               (rope_.tail_segment_bytes() >= tuning::passed_on_bytes_min ||
                rope_.ends_in_cell()) &&
               change_empty([this] { rope_.trim(rope_.worthwhile_segment_bytes()); });
    }

    bool holds_memory() const noexcept { return rope_.holds_memory(); }

private:
    /// A control object, and a chunk for the newest message, take one position.
    static constexpr std::int64_t chunk_stand_in_bytes = 1;

    /// The maximum of parts that write_past_reader() writes.
    static constexpr std::size_t short_gather_count_max = 8;

    /// Calls `change`, which needs exclusive access, if the reader is parked and the rope is empty.
    /// @return Whether the caller must wake the reader.
    template<class Change>
    bool change_empty(Change&& change) noexcept {
        if (has_unfinished() || !reader_parked_.take()) {
            return false;
        }
        // The writer has taken the mark and so must wake the reader; until then the reader touches
        // neither its place nor the rope. If the queue is empty, the mark is restored instead.
        if (front_.position() != rope_.marked() ||
            returned_.given_count() != credit_.pushed_count()) {
            return true;
        }
        rope_.release_to(front_.place());
        change();
        front_.move_to(rope_.front(), front_.message_count());
        reader_parked_.restore();
        return false;
    }

    ZLINK_COLD frame front_newest() noexcept {
        front_.see(rope_.published());
        if (newest_.fill(front_.place(), front_.visible())) {
            std::exchange(front_.at().payload, nullptr)->drop();
            front_.pass(1);
            front_.count(1);
            return front();
        }
        return front_.newest();
    }

    void end_messages(std::uint64_t count) noexcept {
        rope_.mark();
        credit_.count(count);
    }

    [[nodiscard]] ZLINK_HOT bool publish(std::uint64_t count) noexcept {
        credit_.count(count);
        rope_.publish(credit_.pushed_count());
        fence_.pass();
        return reader_parked_.is_set() && take_readers_mark();
    }

    ZLINK_COLD bool take_readers_mark() noexcept {
        if (!reader_parked_.take()) {
            return false;
        }
        fence_.on_wake(credit_.pushed_count());
        update_credit();
        return true;
    }

    [[nodiscard]] bool return_credit() noexcept {
        give_back();
        return writer_parked_.take_after_fence();
    }

    /// Returns credit for everything that was passed, and notes how much was untaken until now: at
    /// no other time is it a maximum.
    void give_back() noexcept {
        if constexpr (Platform::keeps_statistics) {
            // A reader right behind the writer does not touch the line that the writer stores to:
            // what it has not seen yet is untaken next time, too. The published count may be behind
            // what the reader has seen.
            const std::uint64_t count =
                front_.is_read_up() ? front_.message_count() : rope_.published_count_hint();
            if (count > returned_.given_count() + highest_count_) {
                highest_count_ = static_cast<std::uint32_t>(
                    std::min<std::uint64_t>(count - returned_.given_count(), UINT32_MAX));
            }
        }
        returned_.give(front_.passed());
    }

    void update_credit() noexcept {
        if (conflates_) {
            credit_.close(); // For push_at_once().
        } else {
            credit_.renew(returned_, limits_, fence_);
        }
    }

    [[no_unique_address]] rope_type rope_;

    // The writer's, on the cache line of the rope that each message writes to anyway.
    basic_writer_credit<Platform> credit_;
    basic_publication_fence<Platform> fence_;
    std::atomic<std::uint64_t> dropped_count_{0}; ///< Not modelled: it orders no other memory.

    // The marks, each written rarely and by both sides, and members that the writer seldom needs.
    alignas(limits::cache_line_bytes) basic_parked_mark<Platform> reader_parked_;
    basic_parked_mark<Platform> writer_parked_;
    bool lends_ = false;             ///< The reader's. (Placed here, it fills padding.)
    relaxed<bool> conflates_{false}; ///< The reader does not need it once both sides exist.
    relaxed<std::uint32_t> highest_count_{0}; ///< The reader's. Not modelled, as dropped_count_.
    basic_credit_limits<Platform> limits_;
    basic_message_slot<Platform> newest_;
    /// Positions that stand for no bytes of frames, less bytes without a position. The writer's,
    /// which changes it for control objects and where the queue conflates.
    relaxed<std::int64_t> uncounted_bytes_{0};

    // Written by the reader, read by the writer when it is out of credit.
    alignas(limits::cache_line_bytes) basic_returned_credit<Platform> returned_;

    // The reader's.
    basic_queue_front<Platform> front_{rope_.front()};
};

using message_queue = basic_message_queue<real_platform>;
static_assert(sizeof(message_queue) == 5 * limits::cache_line_bytes);

} // namespace zlink::pipe
