// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/head_start.hpp"
#include "base/limits.hpp"
#include "base/result.hpp"
#include "codec/growing_block.hpp"
#include "codec/scanner.hpp"
#include "pipe/message_queue.hpp"
#include "wire/zmtp/frame.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <sys/uio.h>

namespace zlink::tuning {

/// Bytes that are read beyond the end of a large payload, so that the next header comes with it.
constexpr std::size_t lookahead_bytes = 1024;

} // namespace zlink::tuning

namespace zlink::codec {

/// Receives the commands that arrive between messages.
class command_sink {
public:
    enum class verdict : std::uint8_t {
        keep, ///< Passed to the socket, where it counts as a message.
        drop, ///< Handled.
        fail, ///< It breaks the protocol.
    };

    /// @param body  Of the command frame; valid during the call.
    virtual verdict on_command(std::span<const std::byte> body) noexcept = 0;

protected:
    ~command_sink() = default;
};

/// Fills the incoming queue of a pipe with the data of a peer: offers memory to read into, finds
/// the frames, and publishes whole messages.
///
/// Without credit nothing is read. The data of one read is published in a few pieces, each of them
/// completely, however many messages it holds: the peer and the system no longer store it. The next
/// piece, or read, waits for credit. So the queue may exceed its limits by as much as prepare()
/// offers; and by the rest of a connection that ends, which take_rest() announces.
///
/// Bytes are read directly into the queue's rope. While its segments are still small, excess bytes
/// go to a scratch block and are copied; a payload too large for a segment gets its own block,
/// which grows no faster than bytes arrive. (Invariants 1 and 2 of rope.hpp.)
///
/// Frames are ZMTP frames, unless a scanner is given.
///
/// @threads The session's.
class inbound {
public:
    /// @param body_bytes_max        Largest frame body accepted, in bytes.
    /// @param unfinished_bytes_max  The maximum size, headers included, of an unfinished message's
    ///                              frames.
    inbound(pipe::message_queue& queue, std::uint64_t body_bytes_max, command_sink& commands,
            std::uint64_t unfinished_bytes_max = UINT64_MAX) noexcept
        : queue_(queue), commands_(&commands), body_bytes_max_(body_bytes_max),
          unfinished_bytes_max_(unfinished_bytes_max),
          short_frame_bytes_max_(static_cast<std::uint32_t>(
              wire::zmtp::header_bytes_min +
              std::min<std::uint64_t>(body_bytes_max, wire::zmtp::short_body_bytes_max))) {}
    /// @param frames  Finds the frames.
    inbound(pipe::message_queue& queue, std::unique_ptr<scanner> frames) noexcept
        : queue_(queue), commands_(nullptr), scanner_(std::move(frames)), body_bytes_max_(0),
          unfinished_bytes_max_(UINT64_MAX), short_frame_bytes_max_(0) {
        queue_.rope().grow_segments_to(tuning::stream_segment_bytes_max);
    }
    inbound(const inbound&) = delete;
    inbound& operator=(const inbound&) = delete;
    /// Drops an incomplete message.
    ~inbound() { reset(); }

    /// Describes the buffers to read into.
    /// @param scratch  Memory that is free until received().
    /// @return The number of parts filled in.
    /// @throws std::bad_alloc
    std::size_t prepare(std::span<std::byte> scratch, std::span<iovec, 2> parts);

    /// Takes the first `bytes` bytes of the buffers from prepare().
    /// @error protocol_violation  A frame or command breaks the rules.
    /// @error message_too_large   A frame is larger than body_bytes_max, or an unfinished message
    ///                            larger than unfinished_bytes_max.
    /// @throws std::bad_alloc
    result<void> received(std::size_t bytes);

    /// Takes bytes from another source.
    /// @error  As received().
    result<void> feed(std::span<const std::byte> data);

    /// Contiguous memory behind the received bytes, for frames that the caller writes there.
    /// @param bytes  The minimum.
    /// @throws std::bad_alloc
    std::span<std::byte> make_room(std::size_t bytes);

    /// Takes the first `bytes` bytes, whole frames, of the memory from make_room().
    /// @error  As received().
    result<void> received_in_room(std::size_t bytes);

    /// Whether a frame may be appended: all earlier bytes are processed, and there is credit. If
    /// not, this is blocked.
    bool may_append() noexcept;

    /// Takes a frame whose payload has its own block; only after may_append().
    /// @param payload  Takes over one reference.
    /// @error message_too_large  As received().
    /// @throws std::bad_alloc
    result<void> append(pipe::block* payload, std::uint64_t payload_bytes, bool more);

    /// Whether reading is blocked for lack of credit: call scan() when there is credit again.
    bool is_blocked() const noexcept { return blocked_; }

    /// From now on only limits::pipe_bytes_max counts, whatever limits the queue has: an end was
    /// seen behind the bytes that the system still holds. scan() must follow.
    void take_rest() noexcept { takes_rest_ = true; }
    bool takes_rest() const noexcept { return takes_rest_; }

    /// Whether another message may be published.
    bool has_room() noexcept {
        return queue_.has_credit() ||
               (takes_rest_ && queue_.untaken().bytes < limits::pipe_bytes_max);
    }

    /// Whether a payload with its own block is partly received.
    bool is_within_payload() const noexcept { return pending_.is_begun(); }

    /// Continues to scan bytes that were received earlier.
    /// @error  As received().
    result<void> scan();

    /// Whether messages were published for a parked reader; reset by the call.
    bool take_wake() noexcept { return std::exchange(wake_reader_, false); }

    /// Whether to check again soon instead of receiving more now.
    /// @throws std::bad_alloc
    bool is_far_ahead();

    /// Drops everything but whole messages. The connection was lost.
    void reset() noexcept;

    // For a scanner.

    /// The received bytes that are not published.
    std::span<std::byte> unscanned() noexcept { return {queue_.rope().free_begin(), raw_bytes_}; }
    bool has_credit() noexcept {
        lacked_credit_ = !has_room();
        return !lacked_credit_;
    }

    /// Publishes the first `bytes` bytes of unscanned(), which hold `count` messages.
    void publish(std::size_t bytes, std::uint64_t count) noexcept;

    /// Removes `bytes` bytes from unscanned(), at `offset`. The bytes behind them move up.
    void remove(std::size_t offset, std::size_t bytes) noexcept;

    /// Publishes a message of one frame before unscanned().
    /// @param body  Takes over one reference, also if it throws.
    /// @throws std::bad_alloc
    void insert(std::span<const std::byte> header, pipe::block* body, std::uint64_t body_bytes);

    /// Publishes `count` messages, `first` and `rest` together. Only while unscanned() is empty.
    /// @throws std::bad_alloc
    void append(std::span<const std::byte> first, std::span<const std::byte> rest,
                std::uint64_t count);

    /// Yields to others: as if there were no credit, until scan() is called again.
    void pause() noexcept { blocked_ = true; }

    /// Receives the payload of the frame whose beginning is all of unscanned() into its own block.
    /// @error  As scanner::on_body().
    /// @throws std::bad_alloc
    result<void> begin_body(std::size_t header_bytes, std::uint64_t body_bytes);

    /// Whether only whole messages are held.
    bool is_idle() const noexcept {
        return raw_bytes_ == 0 && !pending_.is_begun() &&
               (scanner_ == nullptr || scanner_->is_idle());
    }

private:
    /// State of payloads with their own block. Most peers never send one.
    struct large_payloads {
        std::uint64_t proven_bytes = 0; ///< The largest that this peer has completed.
        head_start start;
    };

    std::uint64_t proven_bytes() const noexcept { return large_ ? large_->proven_bytes : 0; }
    void begin_pending(const wire::zmtp::frame_head& head, const std::byte* frame,
                       std::size_t available);
    result<void> extend_pending(std::size_t bytes);
    result<void> on_pending_extended(std::size_t bytes);
    result<void> fill_pending(std::span<const std::byte>& data);
    result<void> look_at_pending(std::size_t begin) noexcept;
    std::size_t write_pending_header(std::byte* out) noexcept;
    void finish_pending_if_whole();
    void finish_external(bool more) noexcept;
    void update_blocked() noexcept;
    result<void> check_unfinished() noexcept;

    pipe::message_queue& queue_;
    command_sink* commands_;           ///< Null if the frames are not ZMTP.
    std::unique_ptr<scanner> scanner_; ///< Null: ZMTP frames.
    std::uint64_t body_bytes_max_;
    std::uint64_t unfinished_bytes_max_;
    growing_block pending_; ///< A payload that is received into a block of its own.
    std::byte* scratch_ = nullptr;
    std::size_t offered_bytes_ = 0;         ///< Of the first part that prepare() described.
    std::size_t raw_bytes_ = 0;             ///< Behind the rope's committed bytes, not scanned yet.
    std::unique_ptr<large_payloads> large_; ///< Null until one arrives.
    std::uint32_t short_frame_bytes_max_;   ///< The size limit of a frame with a short header.
    bool pending_more_ : 1 = false;         ///< Of the frame in pending_.
    bool takes_rest_ : 1 = false;           ///< Here: it costs a connection no memory.
    bool blocked_ = false;
    bool lacked_credit_ = false; ///< At the last check: unscanned bytes must be scanned again.
    bool wake_reader_ = false;
};

} // namespace zlink::codec
