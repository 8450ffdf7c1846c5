// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/head_start.hpp"
#include "base/limits.hpp"
#include "base/prefetch.hpp"
#include "base/result.hpp"
#include "codec/read_ahead.hpp"
#include "codec/scanner.hpp"
#include "pipe/message_queue.hpp"
#include "wire/zmtp/frame.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <sys/uio.h>

namespace zlink::codec {

/// Is given the commands that arrive between messages.
class command_sink {
public:
    enum class verdict : std::uint8_t {
        keep, ///< The socket wants it: it counts as a message.
        drop, ///< Done with it.
        fail, ///< It breaks the protocol.
    };

    /// @param body  Of the command frame; valid during the call.
    virtual verdict on_command(std::span<const std::byte> body) noexcept = 0;

protected:
    ~command_sink() = default;
};

/// Fills the incoming queue of a pipe with what a peer sends: offers memory to read into, finds the
/// frames, and publishes whole messages.
///
/// Without credit nothing is read. What one read brought is published in a few pieces, each of them
/// whole, however many messages it is: they have left the peer and the system already. The next
/// piece, or read, waits until there is credit again. So besides the queue's limits there may be as
/// much as prepare() offers.
///
/// Bytes are read straight into the queue's rope. While its segments are still small, what does
/// not fit lands in a scratch block and is copied behind; a payload too large for a segment gets a
/// block of its own, which grows no faster than bytes arrive. (Invariants 1 and 2 of rope.hpp.)
/// Behind two of one size more of them are expected, whose blocks are read into as well.
///
/// Frames are those of ZMTP, unless a scanner finds others.
///
/// @threads The session's.
class inbound {
public:
    /// @param body_bytes_max        Largest frame body accepted, in bytes.
    /// @param unfinished_bytes_max  Bytes, headers included, that the frames of one message may
    ///                              have together while more are to follow.
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
        queue_.rope().grow_segments_to(limits::stream_segment_bytes_max);
    }
    inbound(const inbound&) = delete;
    inbound& operator=(const inbound&) = delete;
    /// Drops what is no whole message.
    ~inbound() { reset(); }

    /// Describes where to read to.
    /// @param scratch  Memory that is free until received().
    /// @param parts    Two are enough; with read_ahead::parts_max several large payloads of one
    ///                 size are received at once.
    /// @param ahead_bytes_max  Of payloads behind the one that is under way.
    /// @return The parts filled in.
    /// @throws std::bad_alloc
    std::size_t prepare(std::span<std::byte> scratch, std::span<iovec> parts,
                        std::size_t ahead_bytes_max = limits::read_ahead_bytes_max);

    /// Nothing came, or nothing more, into what prepare() offered.
    void received_nothing() noexcept {
        if (large_) {
            large_->ahead.drop();
        }
    }

    /// Takes the first `bytes` bytes of what prepare() offered.
    /// @error protocol_violation  A frame or command breaks the rules.
    /// @error message_too_large   A frame is larger than body_bytes_max, or a message without an
    ///                            end larger than unfinished_bytes_max.
    /// @throws std::bad_alloc
    result<void> received(std::size_t bytes);

    /// Takes bytes that came from elsewhere.
    /// @error  As received().
    result<void> feed(std::span<const std::byte> data);

    /// Memory in a row behind what was received, for frames that somebody else puts there.
    /// @param bytes  At least this much.
    /// @throws std::bad_alloc
    std::span<std::byte> make_room(std::size_t bytes);

    /// Takes the first `bytes` bytes, whole frames, of what make_room() gave.
    /// @error  As received().
    result<void> received_in_room(std::size_t bytes);

    /// Whether a frame may be appended: all others were taken, and there is credit. If not, it is
    /// blocked.
    bool may_append() noexcept;

    /// Takes a frame whose payload has a block of its own; only after may_append().
    /// @param payload  Takes over one reference.
    /// @error message_too_large  As received().
    /// @throws std::bad_alloc
    result<void> append(pipe::block* payload, std::uint64_t payload_bytes, bool more);

    /// Whether there is no credit to read on: call scan() when it came back.
    bool is_blocked() const noexcept { return blocked_; }

    /// Whether a payload that has a block of its own is there in part.
    bool is_within_payload() const noexcept { return pending_.body != nullptr; }

    /// Looks on for frames in what was received already.
    /// @error  As received().
    result<void> scan();

    /// Whether messages were published whose reader sleeps; reset by the call.
    bool take_wake() noexcept { return std::exchange(wake_reader_, false); }

    /// Whether it is better to look again soon than to receive more now.
    /// @throws std::bad_alloc
    bool is_far_ahead();

    /// Drops everything that is not a whole message. The connection was lost.
    void reset() noexcept;

    /// Fetches into the caches what finds the frames.
    void fetch_ahead() const noexcept { prefetch_to_read(scanner_.get()); }

    // For a scanner.

    /// What was received and is not published.
    std::span<std::byte> unscanned() noexcept { return {queue_.rope().free_begin(), raw_bytes_}; }
    bool has_credit() noexcept {
        lacked_credit_ = !queue_.has_credit();
        return !lacked_credit_;
    }

    /// Publishes the first `bytes` bytes of unscanned(), which are `count` messages.
    void publish(std::size_t bytes, std::uint64_t count) noexcept;

    /// Takes `bytes` bytes out of unscanned(), at `offset`. What is behind them moves up.
    void remove(std::size_t offset, std::size_t bytes) noexcept;

    /// Publishes a message of one frame before unscanned().
    /// @param body  Takes over one reference, also if it throws.
    /// @throws std::bad_alloc
    void insert(std::span<const std::byte> header, pipe::block* body, std::uint64_t body_bytes);

    /// Publishes `count` messages, which are `first` and `rest`. Only while unscanned() is empty.
    /// @throws std::bad_alloc
    void append(std::span<const std::byte> first, std::span<const std::byte> rest,
                std::uint64_t count);

    /// Lets others have their turn: as if there were no credit, until scan() is called again.
    void pause() noexcept { blocked_ = true; }

    /// Receives the payload of the frame that all of unscanned() is the beginning of into a block
    /// of its own.
    /// @error  As scanner::on_body().
    /// @throws std::bad_alloc
    result<void> begin_body(std::size_t header_bytes, std::uint64_t body_bytes);

    /// Whether nothing is held but whole messages.
    bool is_idle() const noexcept {
        return raw_bytes_ == 0 && pending_.body == nullptr &&
               (scanner_ == nullptr || scanner_->is_idle());
    }

private:
    /// A payload that is being received into its own block.
    struct pending_frame {
        pipe::block* body = nullptr;
        std::uint64_t body_bytes = 0;
        std::uint64_t filled = 0;
    };
    /// What is known of payloads that get a block of their own. Most peers never send one.
    struct large_payloads {
        std::uint64_t proven_bytes = 0;      ///< The largest that this peer has completed.
        std::uint64_t last_end = UINT64_MAX; ///< In the rope, of the last one.
        std::uint64_t last_bytes = 0;
        std::size_t header_bytes = 0; ///< As it came, before the one that is under way.
        bool is_like_last = false;    ///< Right behind a payload of the same size.
        read_ahead ahead;
        head_start start;
    };

    std::uint64_t proven_bytes() const noexcept { return large_ ? large_->proven_bytes : 0; }
    void begin_pending(const wire::zmtp::frame_head& head, const std::byte* frame,
                       std::size_t available);
    std::size_t offer_ahead(std::span<iovec> parts, std::size_t bytes_max);
    result<void> take_received(std::size_t bytes);
    result<void> take_behind_first(std::size_t bytes);
    result<void> extend_pending(std::size_t bytes);
    result<void> fill_pending(std::span<const std::byte>& data);
    result<void> look_at_pending(std::size_t begin) noexcept;
    std::size_t write_pending_header(std::byte* out) noexcept;
    void grow_pending();
    void finish_pending_if_whole();
    void finish_external(bool more) noexcept;
    void update_blocked() noexcept;
    void drop_pending() noexcept;
    result<void> check_unfinished() noexcept;

    pipe::message_queue& queue_;
    command_sink* commands_;           ///< Null where frames are not ZMTP's.
    std::unique_ptr<scanner> scanner_; ///< Null: frames are ZMTP's.
    std::uint64_t body_bytes_max_;
    std::uint64_t unfinished_bytes_max_;
    pending_frame pending_;
    std::byte* scratch_ = nullptr;
    std::size_t offered_bytes_ = 0; ///< Of the first part that prepare() described.
    std::size_t raw_bytes_ = 0;     ///< Behind what is committed in the rope, not scanned yet.
    std::unique_ptr<large_payloads> large_; ///< Null until one comes.
    std::uint32_t short_frame_bytes_max_;   ///< body_bytes_max_, of a frame with a short header.
    bool pending_more_ = false;             ///< Of the frame that pending_ is.
    bool blocked_ = false;
    bool lacked_credit_ = false; ///< When last asked: what was left is to be looked at again.
    bool wake_reader_ = false;
};

} // namespace zlink::codec
