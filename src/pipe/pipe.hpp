// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/inline.hpp"
#include "base/processor.hpp"
#include "base/ref_counted.hpp"
#include "pipe/inline_writer.hpp"
#include "pipe/mailbox.hpp"
#include "pipe/message_queue.hpp"
#include "wire/websocket/deflate_negotiation.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace zlink::pipe {

class pipe;
using pipe_ptr = boost::intrusive_ptr<pipe>;
using mailbox_ptr = boost::intrusive_ptr<mailbox>;

/// Receives the events of a pipe end. The owner's side of pipe_end.
class event_sink {
public:
    /// @param happened  Bits of `event`.
    virtual void on_events(std::uint32_t happened) noexcept = 0;

protected:
    ~event_sink() = default;
};

/// The side of a pipe that one owner, a socket or a session, holds.
///
/// @threads The owner's, except where it says otherwise.
class pipe_end final : public letter {
public:
    pipe_end(pipe& whole, message_queue& outgoing, message_queue& incoming) noexcept
        : out(outgoing), in(incoming), whole_(whole) {}

    /// Messages to the other end. This end is the writer.
    message_queue& out;
    /// Messages from the other end. This end is the reader.
    message_queue& in;

    /// Sets the mailbox of this end's events, and their receiver. Before the other end can see this
    /// one.
    void set_home(mailbox_ptr home, event_sink* owner) noexcept {
        home_ = std::move(home);
        set_owner(owner);
    }

    /// Whether `asked` is the mailbox of this end's events.
    bool lives_in(const mailbox& asked) const noexcept { return home_.get() == &asked; }

    /// The receiver of the events; null before there is one, and after close().
    event_sink* owner() const noexcept { return owner_.load(std::memory_order_acquire); }
    void set_owner(event_sink* owner) noexcept { owner_.store(owner, std::memory_order_release); }

    /// Conflates the messages that this end sends, or receives. Before the other end can see this
    /// one.
    void conflate(bool sent, bool received) noexcept {
        if (sent) {
            out.conflate();
        }
        if (received) {
            in.conflate();
        }
    }

    /// Sets this end's limits on messages under way: the first for the messages that it sends; the
    /// second, besides the other end's limit if that is a socket's, for those that it receives. 0:
    /// no limit.
    void change_limits(std::uint64_t sent_messages_max,
                       std::uint64_t received_messages_max) noexcept;

    /// This end is a session's, which publishes whole batches. Before the other end can see this
    /// one.
    void works_in_batches() noexcept { out.fence_publications(); }

    /// Puts this end into its own mailbox.
    /// @return Whether its owner will collect it.
    /// @threads any
    bool deliver(std::uint32_t happened) noexcept { return home_->deliver(*this, happened); }

    /// Publishes the message whose frames were pushed to the other end.
    void finish_message() noexcept {
        if (out.finish_message()) [[unlikely]] {
            wake_other();
        }
    }

    /// Sends a message of one frame, whatever the limits.
    /// @throws std::bad_alloc
    void send_message(std::string_view body) {
        out.push_copy(reinterpret_cast<const std::byte*>(body.data()), body.size(), 0);
        finish_message();
    }

    /// message_queue::push_at_once(), to the other end.
    ZLINK_HOT bool push_at_once(const std::byte* body, std::size_t body_bytes,
                                message_queue::frame_place place) noexcept {
        bool wakes = false;
        if (!out.push_at_once(body, body_bytes, place, wakes)) [[unlikely]] {
            return false;
        }
        if (wakes) [[unlikely]] {
            wake_other();
        }
        return true;
    }

    /// Puts an object into the queue of the other end, behind all finished messages.
    /// @param object  Takes over one reference, also if it throws.
    /// @throws std::bad_alloc
    void push_control(block* object) {
        try {
            if (out.push_control(object)) {
                other().deliver(event::readable);
            }
        } catch (...) {
            object->drop();
            throw;
        }
    }

    /// Removes the frame at the front of `in`.
    void pop(const frame& done) noexcept {
        if (in.pop(done)) [[unlikely]] {
            tell_other(event::writable);
        }
    }

    /// Removes the frame that in.front_short() found.
    ZLINK_HOT void take_short(const message_queue::short_frame& taken) noexcept {
        if (in.take_short(taken)) [[unlikely]] {
            tell_other(event::writable);
        }
    }

    /// Returns credit for lent messages.
    void return_due_credit() noexcept {
        if (in.return_due_credit()) [[unlikely]] {
            tell_other(event::writable);
        }
    }

    /// Publishes the messages that were ended in `out`.
    void publish_messages() noexcept {
        if (out.publish_messages()) [[unlikely]] {
            wake_other();
        }
    }

    /// Ends the lending that in.begin_lending() began.
    void end_lending() noexcept {
        in.end_lending();
        return_due_credit();
    }

    /// Frees the memory of sent messages, if the other end has taken everything and is parked. Does
    /// nothing once this end has ended: the other one then looks for what is left without a wake-up
    /// that a message gives, and may do so at the same time.
    void trim() noexcept {
        if (!has_ended() && out.trim()) {
            other().deliver(event::readable);
        }
    }

    /// The same at once, so that the next pipe in use gets the memory:
    /// message_queue::pass_on_memory().
    void pass_on_memory() noexcept {
        if (!has_ended() && out.pass_on_memory()) {
            other().deliver(event::readable);
        }
    }

    /// Closes this end. Finished messages stay for the other end, which is notified; an unfinished
    /// one is dropped. Events that are still under way are ignored.
    void close() noexcept;

    /// The same for the other end, but this one continues to receive messages and events until
    /// close().
    void end_sending() noexcept;
    /// Whether close() or end_sending() was called.
    bool has_ended() const noexcept { return use_.load(std::memory_order_relaxed) != use::both; }

    /// Asks the other end, a session's, to close once it has written all sent messages.
    void ask_to_close() noexcept;
    /// Whether the other end has asked this one. @threads any
    bool is_dismissed() const noexcept { return dismissed_.load(std::memory_order_acquire); }

    /// Whether the other end was closed, or has ended sending. @threads any
    bool peer_is_closed() const noexcept {
        return other_const().use_.load(std::memory_order_acquire) != use::both;
    }
    /// Whether the other end can still receive messages. @threads any
    bool peer_receives() const noexcept {
        return other_const().use_.load(std::memory_order_acquire) != use::none;
    }

    pipe_end& other() noexcept;
    pipe& whole() noexcept { return whole_; }

    /// The bind or connect call of the owner that this end belongs to. 0: none, where a socket of
    /// this process has connected.
    std::uint64_t call_id = 0;

    void retain() noexcept override;
    void release() noexcept override;

private:
    ZLINK_COLD void wake_other() noexcept {
        if (!write_directly()) {
            other().deliver(event::readable);
        }
    }
    bool write_directly() noexcept;
    void tell_end() noexcept;
    ZLINK_COLD void tell_other(std::uint32_t happened) noexcept { other().deliver(happened); }

    const pipe_end& other_const() const noexcept { return const_cast<pipe_end*>(this)->other(); }

    pipe& whole_;
    mailbox_ptr home_;
    std::atomic<event_sink*> owner_{nullptr}; ///< Atomic: a failed start of a session closes, too.
    enum class use : std::uint8_t { both, receiving, none };
    std::atomic<use> use_{use::both};
    std::atomic<bool> dismissed_{false};

public:
    /// Whether the other end, if it is a socket's, shall keep only the newest message for this one.
    /// Set before the other end exists. (Placed here, it fills padding.)
    bool wants_newest = false;

    /// Its messages come after all messages of earlier pipes of the same origin. Set like
    /// wants_newest.
    bool replaces_lost : 1 = false;

    /// The messages of the other end, a session's, are HTTP requests. Set like wants_newest.
    bool carries_http : 1 = false;

    /// The layout of the frames in both queues, for the socket whose end this is. Set before the
    /// socket sees it.
    layout frames = layout::zmtp;

    /// The parameters for compressing the messages that this end sends; nothing if it may not. Set
    /// like `frames`.
    std::optional<wire::websocket::deflate_direction> deflation{};
};

/// The two queues between a socket and a session, or between two sockets of one process. Freed by
/// the end that is released last.
class pipe final : public ref_counted<pipe> {
public:
    /// @param first_to_second  Limits of what the first end sends.
    pipe(const queue_limits& first_to_second, const queue_limits& second_to_first) noexcept
        : first(*this, to_second_, to_first_), second(*this, to_first_, to_second_),
          to_second_(first_to_second), to_first_(second_to_first) {}
    ~pipe() {
        if (block* const held = requested_close.load(std::memory_order_acquire); held != nullptr) {
            held->drop();
        }
    }

    bool is_inproc = false;   ///< Both ends are sockets'. Set before the other end exists.
    bool is_datagram = false; ///< Its messages are datagrams. Set before the other end exists.

    /// The processor on which the thread of the first end, a socket's, has waited for a session
    /// since the session checked. (Placed here, it fills padding.)
    std::atomic<processor_number> waited_on{no_processor};

    // Before the queues, each of which begins at a cache line.
    pipe_end first;
    pipe_end second;

    /// The time limit for writing to the network after close(), set by the first end before it
    /// closes. Nothing: no limit.
    std::optional<std::chrono::duration<std::int32_t, std::milli>> linger;

    /// A close_request: the reason of the first end for ending the connection. Set by the first
    /// end, once, with a reference, before it delivers event::leaving or event::cut_off; null
    /// before that.
    std::atomic<block*> requested_close{nullptr};

    /// For messages of the first end; null where batches matter more than latency. Set by the
    /// second end, a session's, before the first one sends.
    std::unique_ptr<inline_writer> inline_writing;

private:
    message_queue to_second_;
    message_queue to_first_;
};
static_assert(sizeof(pipe) == 2 * sizeof(message_queue) + 3 * limits::cache_line_bytes);

inline pipe_end& pipe_end::other() noexcept {
    return this == &whole_.first ? whole_.second : whole_.first;
}

inline void pipe_end::retain() noexcept {
    intrusive_ptr_add_ref(&whole_);
}

inline void pipe_end::release() noexcept {
    intrusive_ptr_release(&whole_);
}

inline void pipe_end::change_limits(std::uint64_t sent_messages_max,
                                    std::uint64_t received_messages_max) noexcept {
    out.set_limits({.messages_max = sent_messages_max});
    if (whole_.is_inproc) {
        in.add_reader_limit(received_messages_max);
    } else {
        in.replace_limit(received_messages_max);
    }
}

/// @return Whether the other end need not wake for it.
inline bool pipe_end::write_directly() noexcept {
    return this == &whole_.first && whole_.inline_writing != nullptr &&
           whole_.inline_writing->send(out);
}

inline void pipe_end::ask_to_close() noexcept {
    other().dismissed_.store(true, std::memory_order_release);
    other().deliver(event::dismissed);
}

inline void pipe_end::close() noexcept {
    set_owner(nullptr);
    if (use_.exchange(use::none, std::memory_order_acq_rel) == use::both) {
        tell_end();
    }
}

inline void pipe_end::end_sending() noexcept {
    use before = use::both;
    if (use_.compare_exchange_strong(before, use::receiving, std::memory_order_acq_rel)) {
        tell_end();
    }
}

inline void pipe_end::tell_end() noexcept {
    out.rollback();
    if (other().home_ != nullptr) {
        other().deliver(event::closed);
    }
}

/// A holder of one end, which keeps the pipe alive and closes the end in its destructor.
class end_ptr {
public:
    end_ptr() noexcept = default;
    explicit end_ptr(pipe_end& end) noexcept : end_(&end) { end.retain(); }
    end_ptr(end_ptr&& from) noexcept : end_(std::exchange(from.end_, nullptr)) {}
    end_ptr& operator=(end_ptr&& from) noexcept {
        reset();
        end_ = std::exchange(from.end_, nullptr);
        return *this;
    }
    ~end_ptr() { reset(); }

    void reset() noexcept {
        if (end_ != nullptr) {
            end_->close();
            std::exchange(end_, nullptr)->release();
        }
    }

    /// Releases the end, and leaves it open for another holder.
    void leave_open() noexcept {
        if (end_ != nullptr) {
            std::exchange(end_, nullptr)->release();
        }
    }

    explicit operator bool() const noexcept { return end_ != nullptr; }
    pipe_end& operator*() const noexcept { return *end_; }
    pipe_end* operator->() const noexcept { return end_; }

private:
    pipe_end* end_ = nullptr;
};

} // namespace zlink::pipe
