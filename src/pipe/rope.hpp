// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/assert.hpp"
#include "base/fence.hpp"
#include "base/inline.hpp"
#include "base/limits.hpp"
#include "pipe/block.hpp"
#include "pipe/buffer_pool.hpp"
#include "pipe/cell_pool.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <sys/uio.h>
#include <utility>

namespace zlink::tuning {

/// Segments of a rope start small and grow under load, each four times the previous one.
constexpr std::size_t segment_bytes_min = 512;
constexpr std::size_t segment_bytes_max = std::size_t{64} * 1024;

/// The same for data that a STREAM's peer sends: 30 messages of 4 KiB are read at once.
constexpr std::size_t stream_segment_bytes_max = std::size_t{128} * 1024;

/// Memory of a queue that is passed on to the next queue as soon as the first one is empty, where
/// many are filled and emptied in turn. Smaller amounts are not worth it.
constexpr std::size_t passed_on_bytes_min = std::size_t{1} * 1024;

/// The maximum of one gathered write.
constexpr std::size_t gather_count_max = 64;
constexpr std::size_t gather_bytes_max = std::size_t{256} * 1024;

/// Messages that a pipe carries between two wake-ups of its consumer, from which on one heavy fence
/// costs less than a full fence for each of them.
constexpr std::uint32_t flow_messages_min = 512;

} // namespace zlink::tuning

namespace zlink::pipe {

/// The primitives of the lock-free code in this folder. Tests replace them by a model of memory.
struct real_platform {
    template<class T>
    using atomic = std::atomic<T>;
    using fence = asymmetric_fence;
    /// From so many messages between two wake-ups of a reader on, they are a flow: the heavy
    /// fence takes as long as this many full ones.
    static constexpr std::uint32_t flow_messages_min = tuning::flow_messages_min;
    /// Whether queues keep statistics, which would multiply the states that a test explores.
    static constexpr bool keeps_statistics = true;
};

/// One link of a rope.
///
/// Offsets count bytes of the wire image: in a segment they index data(); in an external chunk the
/// first `header_bytes` are in data() and the rest in `payload`; in a borrowed one all of them are
/// in `payload`; a control chunk and a newest one are one byte.
template<class Platform>
struct basic_chunk {
    enum class kind : std::uint8_t {
        segment,  ///< Bytes that were copied in; grows by appending.
        external, ///< One whole frame whose payload is referenced.
        borrowed, ///< Whole frames that stay in another rope's memory.
        control,  ///< Not on the wire: an object handed from one end of the pipe to the other.
        newest,   ///< One whole message of a conflating queue, whose payload the consumer fills in.
        stub,     ///< The empty chunk that every rope starts with.
    };

    static constexpr std::uint64_t open_end = UINT64_MAX;

    basic_chunk* next = nullptr; ///< Valid once `end` is not open.
    /// Bytes in the chunk when its producer moved past it; open_end until then.
    typename Platform::template atomic<std::uint64_t> end{open_end};
    block* payload = nullptr; ///< external, borrowed, control, newest: one reference.
    std::uint64_t payload_bytes = 0;
    std::uint32_t capacity = 0;
    std::uint8_t header_bytes = 0;
    kind what = kind::segment;
    /// Of a segment: its rope, and the borrowers. (Not modelled: the borrower is the segment's
    /// consumer, so it is ordered with the producer already.)
    std::atomic<std::uint16_t> holders{1};

    /// Whether it has borrowers.
    bool is_borrowed() const noexcept { return holders.load(std::memory_order_acquire) != 1; }

    std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

/// A single-producer single-consumer queue of bytes that are already in wire format.
///
/// Invariants
///  1. A frame's header is complete in one chunk. Its payload follows it in the same chunk.
///  2. The consumer sees bytes only up to `published_`, which the producer moves from one message
///     boundary to another with one release store. Rolling back to the last mark is private to the
///     producer.
///  3. A chunk belongs to the producer until the producer has moved past it (`end` is set), then to
///     the consumer, which recycles it when it has moved past it too. If the chunk has borrowers,
///     the last holder frees it. Borrowed bytes do not change.
///  4. `end` and `next` of a chunk are written before any byte behind it is published, so a
///  consumer
///     that has bytes to read finds in `end` either the final value or open_end, and open_end only
///     if all its bytes are in this chunk.
///
/// @threads One producer and one consumer, which may be different threads.
template<class Platform>
class basic_rope {
public:
    using chunk = basic_chunk<Platform>;
    using kind = typename chunk::kind;

    basic_rope() noexcept {
        stub_.what = kind::stub;
        stub_.end.store(0, std::memory_order_relaxed);
        tail_ = mark_tail_ = head_ = &stub_;
    }
    basic_rope(const basic_rope&) = delete;
    basic_rope& operator=(const basic_rope&) = delete;

    ~basic_rope() {
        for (chunk* each = head_; each != nullptr;) {
            chunk* const next =
                each->end.load(std::memory_order_relaxed) == chunk::open_end ? nullptr : each->next;
            release(each);
            each = next;
        }
        free_spare();
    }

    // The producer's side.

    /// Room for `bytes` contiguous bytes behind the committed ones. Stays valid until the next call
    /// on this side.
    /// @throws std::bad_alloc  Nothing changed.
    std::byte* reserve(std::size_t bytes) {
        if (free_bytes() < bytes) [[unlikely]] {
            grow(bytes, 0);
        }
        return tail_->data() + write_offset_;
    }

    /// Begins a new segment with room for `bytes`, and copies the `keep_bytes` bytes behind the
    /// committed ones into it.
    /// @throws std::bad_alloc  Nothing changed.
    void roll(std::size_t bytes, std::size_t keep_bytes) { grow(bytes, keep_bytes); }

    /// Lets segments grow to `bytes`, more than tuning::segment_bytes_max. Before anything is
    /// appended.
    void grow_segments_to(std::size_t bytes) noexcept {
        segment_bytes_max_ = static_cast<std::uint32_t>(bytes);
    }

    /// Bytes that fit behind the committed ones without another chunk.
    std::size_t free_bytes() const noexcept { return tail_limit_ - write_offset_; }
    std::byte* free_begin() noexcept { return tail_->data() + write_offset_; }
    /// The capacity of the newest segment; 0 if there is none to append to.
    std::size_t tail_capacity() const noexcept {
        return tail_->what == kind::segment ? tail_->capacity : 0;
    }

    /// Appends the first `bytes` bytes of the room that reserve() returned.
    void commit(std::size_t bytes) noexcept { write_offset_ += bytes; }

    /// Appends a frame whose payload is referenced.
    /// @param payload  Takes over one reference, unless it throws.
    /// @throws std::bad_alloc  Nothing changed.
    void append_external(const std::byte* header, std::size_t header_bytes, block* payload,
                         std::uint64_t payload_bytes) {
        chunk* const added = make_small_chunk(kind::external, header_bytes);
        std::memcpy(added->data(), header, header_bytes);
        added->header_bytes = static_cast<std::uint8_t>(header_bytes);
        added->payload = payload;
        added->payload_bytes = payload_bytes;
        append_sealed(added, header_bytes + payload_bytes);
        segment_bytes_ = tuning::segment_bytes_min;
    }

    /// Appends whole frames that stay in the memory of another rope, or of this one.
    /// @param segment  Contains `data`. The caller is its consumer, and has not released it.
    /// @throws std::bad_alloc  Nothing changed.
    void append_borrowed(chunk* segment, const std::byte* data, std::size_t bytes) {
        block* const held = borrow(segment, data, bytes);
        chunk* added = nullptr;
        try {
            added = make_small_chunk(kind::borrowed, 0);
        } catch (...) {
            held->drop();
            throw;
        }
        added->payload = held;
        added->payload_bytes = bytes;
        append_sealed(added, bytes);
    }

    /// Appends an object for the consumer that is not on the wire.
    /// @param object  Takes over one reference, unless it throws.
    /// @throws std::bad_alloc  Nothing changed.
    void append_control(block* object) {
        chunk* const added = make_small_chunk(kind::control, 0);
        added->payload = object;
        append_sealed(added, 1);
    }

    /// Appends a placeholder for a message that the consumer finds elsewhere.
    /// @throws std::bad_alloc  Nothing changed.
    void append_newest() { append_sealed(make_small_chunk(kind::newest, 0), 1); }

    /// Marks the end of a message: rollback() returns here, publish() publishes up to here.
    ZLINK_HOT void mark() noexcept {
        marked_ = written();
        if (mark_tail_ != tail_) [[unlikely]] {
            note_mark_tail();
        }
    }

    /// Drops all bytes since mark().
    void rollback() noexcept {
        if (tail_ != mark_tail_) {
            chunk* each = mark_tail_->next;
            tail_ = mark_tail_;
            if (tail_->what == kind::segment) {
                tail_->end.store(chunk::open_end, std::memory_order_relaxed);
            }
            while (each != nullptr) {
                chunk* const next = each->end.load(std::memory_order_relaxed) == chunk::open_end
                                        ? nullptr
                                        : each->next;
                release(each);
                each = next;
            }
            tail_->next = nullptr;
        }
        tail_position_ = mark_tail_position_;
        write_offset_ = marked_ - tail_position_;
        tail_limit_ = tail_->what == kind::segment ? tail_->capacity : write_offset_;
    }

    /// Publishes everything up to the last mark, and then the total number of messages, `count`: a
    /// consumer that loads the count first never gets too many.
    ZLINK_HOT void publish(std::uint64_t count) noexcept {
        published_.store(marked_, std::memory_order_release);
        published_count_.store(count, std::memory_order_release);
    }

    /// The total of bytes up to the last mark.
    std::uint64_t marked() const noexcept { return marked_; }
    /// The total of appended bytes.
    std::uint64_t written() const noexcept { return tail_position_ + write_offset_; }

    // The consumer's side.

    /// A position in the rope that only the consumer's thread uses.
    struct cursor {
        chunk* at;
        std::uint64_t offset;   ///< In `at`.
        std::uint64_t position; ///< Total bytes before it.
    };

    /// The total of bytes that the consumer may read.
    std::uint64_t published() const noexcept { return published_.load(std::memory_order_acquire); }

    /// Messages before published(), or fewer while the producer publishes.
    std::uint64_t published_count() const noexcept {
        return published_count_.load(std::memory_order_acquire);
    }
    /// The same for statistics: orders nothing.
    std::uint64_t published_count_hint() const noexcept {
        return published_count_.load(std::memory_order_relaxed);
    }

    /// The oldest position that was not released yet.
    cursor front() const noexcept { return {head_, head_offset_, released_}; }

    /// Steps into the next chunk if the bytes of this one are used up. `place.position` must be
    /// below a value that published() returned.
    static void settle(cursor& place) noexcept {
        while (place.offset == place.at->end.load(std::memory_order_relaxed)) {
            place.at = place.at->next; // Invariant 4.
            place.offset = 0;
        }
    }

    /// Bytes of the chunk from `place` on, at most up to `visible`.
    static std::uint64_t contiguous(const cursor& place, std::uint64_t visible) noexcept {
        const std::uint64_t end = place.at->end.load(std::memory_order_relaxed);
        return std::min(visible - place.position, end - place.offset);
    }

    /// Describes the bytes from `place` on for a gathered write, up to `visible` or the next chunk
    /// that is not on the wire, and moves `place` behind them.
    /// @param bytes_max  No further chunk is begun after so many bytes.
    /// @return The number of parts filled in.
    static std::size_t gather(cursor& place, std::uint64_t visible, std::uint64_t bytes_max,
                              std::span<iovec> parts) noexcept {
        const std::uint64_t begin = place.position;
        std::size_t count = 0;
        // An external chunk takes two parts.
        while (place.position < visible && count + 2 <= parts.size() &&
               place.position - begin < bytes_max) {
            settle(place);
            chunk& at = *place.at;
            if (at.what >= kind::control) {
                break;
            }
            std::uint64_t rest = contiguous(place, visible);
            place.position += rest;
            if (at.what != kind::segment) {
                if (place.offset < at.header_bytes) {
                    const std::uint64_t header = at.header_bytes - place.offset;
                    parts[count++] = {at.data() + place.offset, header};
                    place.offset += header;
                    rest -= header;
                }
                parts[count++] = {at.payload->data + (place.offset - at.header_bytes), rest};
            } else {
                parts[count++] = {at.data() + place.offset, rest};
            }
            place.offset += rest;
        }
        return count;
    }

    /// Releases everything before `place`.
    void release_to(const cursor& place) noexcept {
        while (head_ != place.at) {
            chunk* const done = head_;
            head_ = head_->next;
            recycle(done);
        }
        head_offset_ = place.offset;
        released_ = place.position;
        // The chunk stays until there is a next one, but its payload is dropped now: its owner may
        // be waiting for it.
        if (head_->payload != nullptr &&
            head_offset_ == head_->end.load(std::memory_order_relaxed)) {
            std::exchange(head_->payload, nullptr)->drop();
        }
    }

    // Both sides at once, for a caller that knows that the other side is inactive.

    /// Frees the memory of an empty rope. Does nothing if it is not empty.
    /// @param next_segment_bytes  The size of the next first segment, at most the maximum size of
    ///                            segments.
    void trim(std::size_t next_segment_bytes = tuning::segment_bytes_min) noexcept {
        if (written() == released_ && tail_ != &stub_) {
            release_to({tail_, write_offset_, released_});
            release(tail_);
            stub_.next = nullptr;
            tail_ = head_ = &stub_;
            begin_again();
            tail_limit_ = 0;
            segment_bytes_ = static_cast<std::uint32_t>(next_segment_bytes);
        }
        free_spare();
    }

    /// Restarts the newest segment of an empty rope at its beginning, so that the next bytes are
    /// written to memory that is still in the caches.
    void restart() noexcept {
        if (tail_->what == kind::segment && written() == released_ && !tail_->is_borrowed()) {
            release_to({tail_, write_offset_, released_});
            begin_again();
        }
    }

    /// The size of the newest segment, with its header; 0 if there is none to append to.
    std::size_t tail_segment_bytes() const noexcept {
        return tail_->what == kind::segment ? sizeof(chunk) + tail_->capacity : 0;
    }

    /// Whether the newest chunk is neither a segment nor the stub: then a cell is its only memory.
    bool ends_in_cell() const noexcept {
        return tail_->what != kind::segment && tail_->what != kind::stub;
    }

    /// A segment size that would have held the bytes written into the present segment, and at least
    /// half of its size; the maximum if segments before it were used lately. If there is no segment
    /// to append to: the size that applies anyway.
    std::size_t worthwhile_segment_bytes() const noexcept {
        if (tail_->what != kind::segment) {
            return segment_bytes_;
        }
        if (spare_.load(std::memory_order_relaxed) != nullptr) {
            return segment_bytes_max_;
        }
        const std::size_t used =
            std::max(sizeof(chunk) + write_offset_, std::bit_floor(tail_segment_bytes()) / 2);
        return std::clamp<std::size_t>(std::bit_ceil(used), tuning::passed_on_bytes_min,
                                       segment_bytes_max_);
    }

    /// The size of the next segment, with its header.
    std::size_t next_segment_bytes() const noexcept { return segment_bytes_; }

    /// Bytes of the newest chunk that were written.
    std::uint64_t tail_bytes() const noexcept { return write_offset_; }

    /// Frees the segment that is kept for reuse. Either side's.
    void free_spare() noexcept {
        if (chunk* const spare = spare_.exchange(nullptr, std::memory_order_acquire);
            spare != nullptr) {
            release(spare);
        }
    }

    bool holds_memory() const noexcept {
        return tail_ != &stub_ || spare_.load(std::memory_order_relaxed) != nullptr;
    }

private:
    /// The data of a chunk that is not a segment, within its cell.
    static constexpr std::size_t small_data_bytes = 16;
    static_assert(sizeof(chunk) + small_data_bytes <= cell_bytes);

    void note_mark_tail() noexcept {
        mark_tail_ = tail_;
        mark_tail_position_ = tail_position_;
    }

    /// Makes the next write start at the beginning of the newest chunk, of an empty rope.
    void begin_again() noexcept {
        tail_position_ = released_;
        write_offset_ = head_offset_ = 0;
        note_mark_tail();
    }

    void grow(std::size_t bytes, std::size_t keep_bytes) {
        const std::byte* const kept = tail_->data() + write_offset_;
        chunk* const added = take_segment(bytes);
        if (keep_bytes != 0) {
            std::memcpy(added->data(), kept, keep_bytes);
        }
        append(added);
    }

    /// A segment of a size for the present load, at least `bytes`.
    chunk* take_segment(std::size_t bytes) {
        const std::size_t bytes_min = std::max<std::size_t>(sizeof(chunk) + bytes, segment_bytes_);
        if (chunk* const spare = spare_.load(std::memory_order_relaxed); spare != nullptr) {
            chunk* const reused = spare_.exchange(nullptr, std::memory_order_acquire);
            if (reused != nullptr && sizeof(chunk) + reused->capacity >= bytes_min) {
                reused->end.store(chunk::open_end, std::memory_order_relaxed);
                reused->next = nullptr;
                return reused;
            }
            if (reused != nullptr) {
                release(reused);
            }
        }
        const pooled_buffer buffer = take_buffer(bytes_min);
        chunk* const made = new (buffer.memory) chunk;
        made->capacity = static_cast<std::uint32_t>(buffer.bytes - sizeof(chunk));
        segment_bytes_ = std::min(segment_bytes_ * 4, segment_bytes_max_);
        return made;
    }

    static chunk* make_small_chunk(kind what, [[maybe_unused]] std::size_t data_bytes) {
        ZLINK_DEBUG_ASSERT(data_bytes <= small_data_bytes);
        chunk* const made = new (take_cell()) chunk;
        made->what = what;
        return made;
    }

    void append(chunk* added) noexcept {
        tail_->next = added;
        tail_->end.store(write_offset_, std::memory_order_relaxed); // Invariant 4.
        tail_ = added;
        tail_position_ += write_offset_;
        write_offset_ = 0;
        tail_limit_ = added->capacity;
    }

    void append_sealed(chunk* added, std::uint64_t bytes) noexcept {
        append(added);
        added->end.store(bytes, std::memory_order_relaxed);
        write_offset_ = tail_limit_ = bytes;
    }

    void recycle(chunk* done) noexcept {
        if (done->what == kind::segment && !done->is_borrowed() &&
            done->capacity + sizeof(chunk) >= tuning::segment_bytes_max) {
            chunk* none = nullptr;
            if (spare_.compare_exchange_strong(none, done, std::memory_order_release,
                                               std::memory_order_relaxed)) {
                return;
            }
        }
        release(done);
    }

    void release(chunk* done) noexcept {
        if (done == &stub_) {
            return;
        }
        if (done->what == kind::segment) {
            return let_go(done);
        }
        if (done->payload != nullptr) {
            done->payload->drop();
        }
        done->~chunk();
        give_cell(done);
    }

    /// The last holder frees the segment.
    static void let_go(chunk* segment) noexcept {
        if (!segment->is_borrowed() ||
            segment->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            const std::size_t segment_bytes = sizeof(chunk) + segment->capacity;
            segment->~chunk();
            give_buffer({segment, segment_bytes});
        }
    }

    /// Holds a reference to a segment.
    struct loan : block {
        chunk* segment;
    };
    static_assert(sizeof(loan) <= cell_bytes);

    static block* borrow(chunk* segment, const std::byte* data, std::size_t bytes) {
        auto* const made = new (take_cell()) loan;
        made->kind = block::origin::object;
        made->data = const_cast<std::byte*>(data);
        made->bytes = bytes;
        made->destroy = [](block* self) {
            auto* const done = static_cast<loan*>(self);
            let_go(done->segment);
            done->~loan();
            give_cell(done);
        };
        made->segment = segment;
        segment->holders.fetch_add(1, std::memory_order_relaxed);
        return made;
    }

    template<class T>
    using atomic = typename Platform::template atomic<T>;

    // The consumer's.
    alignas(limits::cache_line_bytes) chunk* head_;
    std::uint64_t head_offset_ = 0; ///< In head_.
    std::uint64_t released_ = 0;
    chunk stub_;

    // The producer's.
    alignas(limits::cache_line_bytes) chunk* tail_;
    std::uint64_t write_offset_ = 0;  ///< In tail_.
    std::uint64_t tail_limit_ = 0;    ///< Offset up to which tail_ can be appended to.
    std::uint64_t tail_position_ = 0; ///< Total bytes before tail_.
    std::uint64_t marked_ = 0;
    chunk* mark_tail_;                                        ///< Contains the last mark.
    std::uint64_t mark_tail_position_ = 0;                    ///< Total bytes before it.
    std::uint32_t segment_bytes_ = tuning::segment_bytes_min; ///< The size of the next one.
    std::uint32_t segment_bytes_max_ = tuning::segment_bytes_max;

    // Written by the producer, read by the consumer. Last: message_queue puts members that it
    // writes at the same time on the rest of this line.
    alignas(limits::cache_line_bytes) atomic<std::uint64_t> published_{0};
    atomic<std::uint64_t> published_count_{0}; ///< For message_queue, which the same stores dirty.
    atomic<chunk*> spare_{nullptr};
};

using rope = basic_rope<real_platform>;

} // namespace zlink::pipe
