// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/copy.hpp"
#include "base/endpoint.hpp"
#include "base/inline.hpp"
#include "base/relaxed.hpp"
#include "base/retry.hpp"
#include "base/takeable.hpp"
#include "pipe/idle_memory.hpp"
#include "pipe/message.hpp"
#include "pipe/peer_info.hpp"
#include "pipe/pipe.hpp"
#include "socket/deflater.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace zlink::socket {

class peer;

/// A frame that the application sends to one or more pipes.
///
/// It borrows its payload or takes it over, as it was constructed. share() leaves the payload where
/// it is, so it may follow for other pipes; give() hands over a payload that was taken over.
///
/// @owns  The block that it allocates for a large payload, until that is given or it is destroyed.
class outgoing {
public:
    /// Borrows the bytes.
    outgoing(const std::byte* data, std::size_t bytes, bool more) noexcept
        : data_(data), bytes_(bytes), more_(more) {}
    /// Borrows the payload of `source`, which keeps it.
    outgoing(const pipe::message& source, bool more) noexcept
        : data_(source.data()), bytes_(source.bytes()), more_(more),
          is_lent_(source.payload() != nullptr && source.payload()->is_lent()), source_(&source) {}
    /// Takes over the payload of `source`: give() leaves it without one. Until then, and if that
    /// fails, `source` is unchanged.
    outgoing(takeable<pipe::message> source, bool more) noexcept
        : outgoing(std::as_const(*source), more) {
        giver_ = &*source;
    }
    /// Borrows the first `bytes` bytes of `shared`, which stays with its holder.
    outgoing(pipe::block& shared, std::size_t bytes) noexcept
        : data_(shared.data), bytes_(bytes), more_(false), block_(&shared) {}
    outgoing(const outgoing&) = delete;
    outgoing& operator=(const outgoing&) = delete;
    ~outgoing() {
        if (owns_block_) {
            block_->drop();
        }
    }

    const std::byte* data() const noexcept { return data_; }
    std::size_t bytes() const noexcept { return bytes_; }
    bool more() const noexcept { return more_; }
    std::uint8_t flags() const noexcept { return more_ ? wire::zmtp::flag_more : 0; }

    /// message::routing_id() and message::group_name() of a view of a message.
    std::uint32_t routing_id() const noexcept {
        return source_ != nullptr ? source_->routing_id() : 0;
    }
    std::string_view group() const noexcept {
        return source_ != nullptr ? source_->group_name() : std::string_view{};
    }

    /// Whether the payload is text, for layouts that distinguish it.
    bool is_text() const noexcept { return is_text_ || (source_ != nullptr && source_->is_text()); }
    void mark_text() noexcept { is_text_ = true; }

    /// Whether the payload is the output of deflate.
    bool is_compressed() const noexcept { return is_compressed_; }
    void mark_compressed() noexcept { is_compressed_ = true; }

    /// Whether the application expects a callback when the payload is no longer needed.
    bool is_lent() const noexcept { return is_lent_; }

    /// Makes this the last frame of its message.
    void end_message() noexcept { more_ = false; }

    /// Passes the payload as a block to `append`, which becomes another holder of it.
    /// @param append  Takes over the reference that comes with the block, unless it throws.
    /// @throws std::bad_alloc  As what `append` throws: nothing changed.
    template<class Append>
    void share(Append&& append) {
        pipe::block* const payload = held_block();
        payload->add_reference();
        try {
            append(payload);
        } catch (...) {
            payload->drop();
            throw;
        }
    }

    /// Passes the payload as a block to `append`, which becomes its holder in place of this frame,
    /// or of the message that it was taken over from. A payload that is borrowed is shared.
    /// The frame is empty then.
    /// @param append  As for share().
    /// @throws std::bad_alloc  As what `append` throws: nothing changed.
    template<class Append>
    void give(Append&& append) {
        pipe::block* const payload = held_block();
        if (giver_ == nullptr && !owns_block_) {
            return share(append);
        }
        append(payload);
        if (!std::exchange(owns_block_, false)) {
            giver_->detach_payload();
        }
        block_ = nullptr;
        data_ = nullptr;
        bytes_ = 0;
    }

private:
    /// The payload as a block.
    /// @throws std::bad_alloc
    pipe::block* held_block() {
        if (block_ == nullptr && source_ != nullptr) {
            block_ = source_->payload();
        }
        if (block_ == nullptr) {
            copy_to_block();
        }
        return block_;
    }

    /// In no cold function: there the copy would be made for size, not for speed.
    [[gnu::noinline]] void copy_to_block() {
        block_ = pipe::make_block(bytes_);
        owns_block_ = true;
        copy_bytes(block_->data, data_, bytes_);
    }

    const std::byte* data_;
    std::size_t bytes_;
    bool more_;
    bool is_lent_ = false;
    bool owns_block_ = false;
    bool is_text_ = false;
    bool is_compressed_ = false;
    pipe::block* block_ = nullptr;
    const pipe::message* source_ = nullptr; ///< Null: not a view of a message.
    pipe::message* giver_ = nullptr;        ///< The same, if its payload is taken over.
};

/// The destination of a received frame: a message, or a buffer.
struct incoming {
    pipe::message* into = nullptr; ///< Initialised. If null, `buffer` is used.
    void* buffer = nullptr;
    std::size_t capacity = 0; ///< Of `buffer`; longer frames are truncated.

    std::size_t bytes = 0; ///< Set: the frame's true size.
    bool more = false;     ///< Set: another frame of the same message follows.

    /// Receives bytes by copying them.
    /// @throws std::bad_alloc  Nothing changed.
    void take_copy(const std::byte* data, std::size_t data_bytes, bool more_follow) {
        if (into != nullptr) {
            pipe::message fresh;
            fresh.init_copy(data, data_bytes);
            into->close();
            into->take(fresh);
            into->mark_more(more_follow);
        } else {
            copy_bytes(buffer, data, std::min(data_bytes, capacity));
        }
        bytes = data_bytes;
        more = more_follow;
    }
};

/// Receives the events of peers; the socket.
class peer_owner {
public:
    virtual void on_peer_events(peer& about, std::uint32_t happened) = 0;
    /// The properties of the connection of `about` became known, or changed.
    virtual void on_peer_info(peer& about) = 0;
    /// The other end closed `about`, and all its messages were read.
    virtual void on_peer_drained(peer& about) = 0;
    /// To be held while the properties of a peer change, which other threads may read.
    virtual std::unique_lock<std::mutex> lock_peers() noexcept = 0;

protected:
    ~peer_owner() = default;
};

/// A pipe from the socket's point of view.
///
/// @threads The socket's.
class peer final : public pipe::event_sink {
public:
    static constexpr std::uint32_t nowhere = UINT32_MAX;
    static constexpr std::uint8_t spare_info_count_max = 64;

    peer(peer_owner& owner, pipe::end_ptr end) noexcept
        : owner_(owner), end_(std::move(end)), frames_(end_->frames),
          deflates_(end_->deflation.has_value()), shares_short_(end_->out.conflates()) {
        end_->set_owner(this);
        pipe::count_allocated(tuning::peer_bytes);
    }
    peer(const peer&) = delete;
    peer& operator=(const peer&) = delete;
    ~peer() {
        pipe::count_freed(tuning::peer_bytes);
        if (info_ != nullptr) {
            info_->drop(1U + spare_info_count_);
        }
    }

    /// Leaves its end of the pipe unchanged, for another peer object. Destroy this one then.
    void abandon() noexcept {
        wake_reader();
        end_->set_owner(nullptr);
        end_.leave_open();
    }

    void on_events(std::uint32_t happened) noexcept override {
        is_reader_awake_ |= (happened & pipe::event::readable) != 0;
        try {
            owner_.on_peer_events(*this, happened);
        } catch (const std::bad_alloc&) {
            // For the next check of the mailbox. The reader may have parked again by then.
            const bool looks_again = (happened & pipe::event::readable) != 0;
            end_->deliver((happened & ~pipe::event::readable) |
                          (looks_again ? pipe::event::look_again : 0));
        }
    }

    /// For the next check of the mailbox, which then calls the pattern's on_readable().
    void look_again() noexcept { end_->deliver(pipe::event::look_again); }

    // Receiving.

    /// message_queue::is_read_up() and look(), for messages from this peer.
    bool is_read_up() const noexcept { return end_->in.is_read_up(); }
    writer_lead look() noexcept { return end_->in.look(); }

    /// Tells the session at the other end, if any, on which processor this thread waits for it.
    void note_processor() const noexcept {
        if (!is_inproc()) {
            end_->whole().waited_on.store(current_processor(), std::memory_order_relaxed);
        }
    }

    /// Whether the other end belongs to a socket, not to a session.
    bool is_inproc() const noexcept { return end_->whole().is_inproc; }

    /// Checks for a frame at the front.
    template<class Layout = pipe::zmtp_layout>
    ZLINK_HOT bool peek(pipe::frame& front) {
        while (end_->in.has_frame()) {
            end_->in.front<Layout>(front);
            if (!front.control) [[likely]] {
                return true;
            }
            adopt(front);
        }
        return false;
    }

    /// As peek(), in the layout of this pipe.
    bool peek_any(pipe::frame& front) {
        switch (frames_) {
        case pipe::layout::zmtp:
            break;
        case pipe::layout::length:
            return peek<pipe::length_layout>(front);
        case pipe::layout::websocket:
        case pipe::layout::masked_websocket:
            return peek<pipe::websocket_layout>(front);
        }
        return peek(front);
    }

    /// Moves the frame at the front to the application.
    /// @throws std::bad_alloc  Nothing changed.
    ZLINK_HOT void take(const pipe::frame& front, incoming& target) {
        if (target.into != nullptr) {
            take_message(front, *target.into);
        } else {
            copy_bytes(target.buffer, front.body,
                       std::min<std::size_t>(front.body_bytes, target.capacity));
            front.drop_reference();
        }
        target.bytes = front.body_bytes;
        target.more = front.more();
        end_->pop(front);
    }

    /// Takes the frame at the front if it is short.
    /// @param taken  Set to the frame.
    /// @return Whether it was copied to `to`.
    ZLINK_HOT bool take_at_once(void* to, std::size_t capacity,
                                pipe::message_queue::short_frame& taken) noexcept {
        pipe::pipe_end& end = *end_;
        if (!end.in.front_short(taken) || taken.body_bytes > capacity) [[unlikely]] {
            return false;
        }
        copy_short(to, taken.body, taken.body_bytes);
        end.take_short(taken);
        return true;
    }

    /// The same into a message, which reuses its memory if it owns any.
    /// @throws std::bad_alloc  Nothing changed.
    ZLINK_HOT bool take_at_once(pipe::message& into) {
        pipe::pipe_end& end = *end_;
        pipe::message_queue::short_frame taken;
        if (!end.in.front_short(taken)) [[unlikely]] {
            return false;
        }
        copy_short(into.renew(taken.body_bytes), taken.body, taken.body_bytes);
        into.mark_more(taken.more);
        end.take_short(taken);
        if (!into.is_plainly_from(info_)) [[unlikely]] {
            into.detach_origin();
            attach_info(into);
        }
        return true;
    }

    void drop(const pipe::frame& front) noexcept {
        front.drop_reference();
        end_->pop(front);
    }

    /// Delivers bytes that are not on the wire to the application, as from this peer.
    /// @throws std::bad_alloc  Nothing changed.
    void take_bytes(std::span<const std::byte> content, bool more, incoming& target) {
        target.take_copy(content.data(), content.size(), more);
        if (target.into != nullptr) {
            attach_info(*target.into);
        }
    }

    /// @return Whether the mark takes effect only after the heavy fence.
    bool mark_reader_parked() noexcept {
        is_reader_awake_ = false;
        return end_->in.mark_reader_parked();
    }

    /// After the fence: whether there is a message after all. If so the mark is removed.
    bool check_again_to_read() noexcept {
        is_reader_awake_ = end_->in.missed_something() && end_->in.unmark_reader();
        return is_reader_awake_;
    }

    /// Removes the mark, so that messages can be looked at without an event.
    /// @return Whether they can. If not, the other end has just taken the mark: either an event
    /// will
    ///         come, or there is nothing, and the mark is set again.
    bool wake_reader() noexcept {
        is_reader_awake_ = is_reader_awake_ || end_->in.unmark_reader();
        return is_reader_awake_;
    }

    /// Reads the connection's properties if they are next, even without a receive call.
    void look_for_info() {
        pipe::frame front;
        if (is_reader_awake_) {
            peek(front);
        }
    }

    // Sending.

    bool has_credit() noexcept { return end_->out.has_credit(); }

    /// Appends a frame to the unfinished message, and takes over its payload if it may.
    /// @throws std::bad_alloc  Nothing changed.
    ZLINK_HOT void push(takeable<outgoing> source) {
        if (is_copied(*source)) [[likely]] {
            end_->out.push_copy(source->data(), source->bytes(), source->flags());
        } else {
            push_given(*source);
        }
    }
    /// The same; the payload stays for other peers.
    ZLINK_HOT void push(outgoing& source) {
        if (is_copied(source)) [[likely]] {
            end_->out.push_copy(source.data(), source.bytes(), source.flags());
        } else {
            push_shared(source);
        }
    }

    /// Sends a short frame if there is credit and room.
    /// @return Whether it was sent.
    ZLINK_HOT bool push_at_once(const std::byte* body, std::size_t bytes,
                                pipe::message_queue::frame_place place) noexcept {
        return end_->push_at_once(body, bytes, place);
    }

    /// From now on keeps only the newest message. An unfinished one is reduced to its last frame.
    void conflate() noexcept {
        end_->out.rollback();
        end_->out.conflate();
        shares_short_ = true;
    }

    void push_bytes(const std::byte* body, std::size_t bytes, unsigned flags) {
        end_->out.push_copy(body, bytes, static_cast<std::uint8_t>(flags));
    }

    /// Before a message: restarts an empty queue's segment, whose memory is still in the caches.
    ZLINK_HOT void restart() noexcept {
        if (end_->out.restart()) [[unlikely]] {
            end_->other().deliver(pipe::event::readable);
        }
    }

    /// Publishes the message to the other end.
    void finish_message() noexcept { end_->finish_message(); }

    /// The number of messages sent to it since the last call.
    std::uint32_t take_sent_count() noexcept {
        const auto count = static_cast<std::uint32_t>(end_->out.published().message_count);
        return count - std::exchange(told_sent_count_, count);
    }

    /// Counts a message that was not sent for lack of credit.
    void count_dropped() noexcept { end_->out.count_dropped(); }

    /// Messages not sent, or replaced by newer ones, in either direction.
    std::uint64_t dropped_count() const noexcept {
        return end_->out.dropped_count() + end_->in.dropped_count();
    }

    void rollback() noexcept { end_->out.rollback(); }

    void mark_writer_parked() noexcept { end_->out.mark_writer_parked(); }

    /// After the mark is set: whether there is credit after all. If so the mark is removed.
    bool check_again_to_write() noexcept {
        return end_->out.has_credit() && end_->out.unmark_writer();
    }

    pipe::pipe_end& end() noexcept { return *end_; }
    const pipe::pipe_end& end() const noexcept { return *end_; }
    pipe::layout frames() const noexcept { return frames_; }
    /// Whether messages to it may be compressed.
    bool deflates() const noexcept { return deflates_; }

    /// Whether its connection was made before that of `other`.
    bool arrived_before(const peer& other) const noexcept {
        return static_cast<std::int32_t>(end_->arrival - other.end_->arrival) < 0;
    }

    /// The connection's properties; null before the first connection.
    const pipe::peer_info* info() const noexcept { return info_; }

    /// The endpoint that the connection comes from or leads to; empty if it has no address.
    /// @throws std::bad_alloc
    std::string address(scheme via) const {
        if (info_ == nullptr || info_->port == 0) {
            return {};
        }
        endpoint found;
        found.via = via;
        found.address.host = info_->properties.find(pipe::peer_address_property).value_or("");
        found.address.port = info_->port;
        return found.text();
    }

    pipe::peer_info_ptr shared_info() const noexcept { return pipe::peer_info_ptr{info_}; }

    bool is_closed_by_peer() const noexcept { return closed_by_peer_; }
    void mark_closed_by_peer() noexcept { closed_by_peer_ = true; }

    void report_drained() { owner_.on_peer_drained(*this); }

    // Positions in the pattern's data structures, which maintain them.
    std::uint32_t recv_index = nowhere;
    std::uint32_t send_index = nowhere;
    std::uint32_t owner_index = nowhere;
    relaxed<std::uint32_t> stream_id{0}; ///< Its id in a STREAM; 0: none. Reading: any thread.
    std::uint64_t match_serial = 0;

    /// For a STREAM's peer whose messages share a window; null before the first message.
    std::unique_ptr<deflater> own_deflater;

    std::string routing_id; ///< Its id in a ROUTER; empty: none yet.

private:
    ZLINK_COLD void adopt(const pipe::frame& control) {
        auto* const told = static_cast<pipe::peer_info*>(control.take_reference());
        pipe::peer_info* former = told->take_newest();
        {
            const std::unique_lock<std::mutex> lock = owner_.lock_peers();
            std::swap(former, info_);
        }
        end_->pop(control);
        if (former != nullptr) {
            former->drop(1U + std::exchange(spare_info_count_, 0));
        }
        // The popped frame was the only copy of these properties.
        retry_allocation([this] { owner_.on_peer_info(*this); });
    }

    [[gnu::noinline]] void take_message(const pipe::frame& front, pipe::message& into) {
        if (front.reference != nullptr) {
            into.close();
            into.init_block(front.take_reference(), front.body_bytes);
        } else if (front.body_bytes <= pipe::message::inline_bytes_max) {
            into.close();
            into.init_copy(front.body, front.body_bytes);
        } else {
            pipe::block* const copy = pipe::make_block(front.body_bytes);
            std::memcpy(copy->data, front.body, front.body_bytes);
            into.close();
            into.init_block(copy, front.body_bytes);
        }
        into.mark_more(front.more());
        attach_info(into);
    }

    /// Adds references in batches, to save atomic operations.
    void attach_info(pipe::message& into) noexcept {
        if (info_ != nullptr) {
            if (spare_info_count_ == 0) {
                spare_info_count_ = spare_info_count_max;
                info_->add_reference(spare_info_count_);
            }
            --spare_info_count_;
            into.attach_peer(info_);
        }
    }

    /// A copy is faster to send. But before the consumer has read from the queue, copies only use
    /// memory, and the payload's owner may not expect its release yet.
    bool stays_lent(const outgoing& source) const noexcept {
        return source.is_lent() && end_->out.is_untouched();
    }

    bool is_copied(const outgoing& source) const noexcept {
        return source.bytes() < tuning::external_bytes_min && !shares_short_ && !stays_lent(source);
    }

    ZLINK_COLD void push_given(outgoing& source) {
        source.give([&](pipe::block* payload) { append(payload, source); });
    }
    ZLINK_COLD void push_shared(outgoing& source) {
        source.share([&](pipe::block* payload) { append(payload, source); });
    }
    /// Takes over a reference to `payload`, that of `source`.
    /// @throws std::bad_alloc  Nothing changed.
    void append(pipe::block* payload, const outgoing& source) {
        if (!end_->out.conflates()) {
            end_->out.push_reference(payload, source.bytes(), source.flags());
        } else if (source.more()) {
            payload->drop(); // As in libzmq, only the last frame is kept.
        } else {
            end_->out.push_newest(payload, source.bytes());
        }
    }

    peer_owner& owner_;
    pipe::end_ptr end_;
    pipe::peer_info* info_ = nullptr;
    std::uint32_t told_sent_count_ = 0; ///< At the last take_sent_count(), modulo 2^32.
    pipe::layout frames_;
    std::uint8_t spare_info_count_ = 0; ///< References to `info_` for future messages.
    bool deflates_ : 1;
    bool shares_short_ : 1; ///< Short frames are not copied: only the newest message is kept.
    bool closed_by_peer_ : 1 = false;
    bool is_reader_awake_ : 1 = true; ///< Not marked as parked, as far as known.

public:
    // Placed here they use padding; a server has many peers.
    bool departing : 1 = false; ///< In the socket's list of peers to destroy.
    bool closes_when_drained : 1 = false;
    bool carries_http : 1 = false; ///< A STREAM's: its messages are HTTP requests.
    bool is_held : 1 = false;      ///< Neither read nor closed until its pattern allows it.
};

} // namespace zlink::socket
