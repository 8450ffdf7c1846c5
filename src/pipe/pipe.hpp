// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/inline.hpp"
#include "base/prefetch.hpp"
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
#include <utility>

namespace zlink::pipe {

class pipe;
using pipe_ptr = boost::intrusive_ptr<pipe>;
using mailbox_ptr = boost::intrusive_ptr<mailbox>;

/// Is told what happens at a pipe end. The owner's side of pipe_end.
class event_sink {
public:
    /// @param happened  Bits of `event`.
    virtual void on_events(std::uint32_t happened) noexcept = 0;

    /// Of what on_events() touches, from the beginning of this on.
    static constexpr std::size_t fetched_bytes = 128;

protected:
    ~event_sink() = default;
};

/// What one owner, a socket or a session, holds of a pipe.
///
/// @threads The owner's, except where it says otherwise.
class pipe_end final : public letter {
public:
    pipe_end(pipe& whole, message_queue& outgoing, message_queue& incoming) noexcept
        : out(outgoing), in(incoming), whole_(whole) {}

    /// What goes to the other end. This end is its writer.
    message_queue& out;
    /// What comes from the other end. This end is its reader.
    message_queue& in;

    /// Says where this end's events go, and who is told. Before the other end can see this one.
    void set_home(mailbox_ptr home, event_sink* owner) noexcept {
        home_ = std::move(home);
        set_owner(owner);
    }

    /// Whom the events are for; null before there is one, and after close().
    event_sink* owner() const noexcept { return owner_.load(std::memory_order_acquire); }
    void set_owner(event_sink* owner) noexcept { owner_.store(owner, std::memory_order_release); }

    /// Keeps only the newest message of what this end sends, or receives. Before the other end can
    /// see this one.
    void conflate(bool sent, bool received) noexcept {
        if (sent) {
            out.conflate();
        }
        if (received) {
            in.conflate();
        }
    }

    /// How many messages may be under way, each way, as this end sees it: what it allows counts for
    /// what it sends and, besides what the other end allows if that is a socket's, for what it
    /// receives. 0: no limit.
    void change_limits(std::uint64_t sent_messages_max,
                       std::uint64_t received_messages_max) noexcept;

    /// This end is a session's, which publishes whole batches. Before the other end can see this
    /// one.
    void works_in_batches() noexcept { out.fence_publications(); }

    /// Puts this end into its own mailbox.
    /// @return Whether its owner will learn of it.
    /// @threads any
    bool deliver(std::uint32_t happened) noexcept { return home_->deliver(*this, happened); }

    /// Shows the message whose frames were pushed to the other end.
    void finish_message() noexcept {
        if (out.finish_message()) [[unlikely]] {
            wake_other();
        }
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

    /// Removes what in.front_short() found.
    ZLINK_HOT void take_short(const message_queue::short_frame& taken) noexcept {
        if (in.take_short(taken)) [[unlikely]] {
            tell_other(event::writable);
        }
    }

    /// Returns credit for what was lent.
    void return_due_credit() noexcept {
        if (in.return_due_credit()) [[unlikely]] {
            tell_other(event::writable);
        }
    }

    /// Shows the messages that were ended in `out` to the other end.
    void show_messages() noexcept {
        if (out.show_messages()) [[unlikely]] {
            wake_other();
        }
    }

    /// Ends what in.begin_lending() began.
    void end_lending() noexcept {
        in.end_lending();
        return_due_credit();
    }

    /// Gives back the memory of what was sent, if the other end has taken everything and sleeps.
    void trim() noexcept {
        if (out.trim()) {
            other().deliver(event::readable);
        }
    }

    /// The same at once, for the next pipe that is used: message_queue::pass_on_memory().
    void pass_on_memory() noexcept {
        if (out.pass_on_memory()) {
            other().deliver(event::readable);
        }
    }

    /// Fetches the pipe into the caches, if this is its second end.
    void fetch_ahead() const noexcept;

    /// Lets go of this end. Finished messages stay for the other end, which is told; an unfinished
    /// one is dropped. Events that are still under way are ignored.
    void close() noexcept;

    /// The same for the other end, but this one goes on to receive, and to be told of events, until
    /// close().
    void end_sending() noexcept;
    /// Whether close() or end_sending() was called.
    bool has_ended() const noexcept { return use_.load(std::memory_order_relaxed) != use::both; }

    /// Asks the other end, a session's, to close once it has written what was sent.
    void dismiss_other() noexcept;
    /// Whether the other end asked this one. @threads any
    bool is_dismissed() const noexcept { return dismissed_.load(std::memory_order_acquire); }

    /// Whether the other end was closed, or has ended sending. @threads any
    bool peer_is_closed() const noexcept {
        return other_const().use_.load(std::memory_order_acquire) != use::both;
    }
    /// Whether what is sent can still be received. @threads any
    bool peer_receives() const noexcept {
        return other_const().use_.load(std::memory_order_acquire) != use::none;
    }

    pipe_end& other() noexcept;
    pipe& whole() noexcept { return whole_; }

    /// Which bind or connect call of the owner this end belongs to. 0: none, where a socket of this
    /// process has connected.
    std::uint64_t origin_id = 0;

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
    std::atomic<event_sink*> owner_{nullptr}; ///< Whoever could not start a session closes, too.
    enum class use : std::uint8_t { both, receiving, none };
    std::atomic<use> use_{use::both};
    std::atomic<bool> dismissed_{false};

public:
    /// Whether the other end, if it is a socket's, shall keep only the newest message for this one.
    /// Set before the other end exists. (Here it takes no room.)
    bool wants_newest = false;

    /// What comes over it comes behind all that came over the pipes of the same origin before.
    /// Likewise.
    bool replaces_lost = false;

    /// Of the frames in both queues, for the socket whose end this is. Set before that sees it.
    layout frames = layout::zmtp;

    /// How what this end sends may be compressed; nothing if it may not. Likewise.
    std::optional<wire::websocket::deflate_direction> deflation{};
};

/// The two queues between a socket and a session, or between two sockets of one process. Freed by
/// whichever end lets go last.
class pipe final : public ref_counted<pipe> {
public:
    /// @param first_to_second  Limits of what the first end sends.
    pipe(const queue_limits& first_to_second, const queue_limits& second_to_first) noexcept
        : first(*this, to_second_, to_first_), second(*this, to_first_, to_second_),
          to_second_(first_to_second), to_first_(second_to_first) {}
    ~pipe() {
        if (block* const held = last_word.load(std::memory_order_acquire); held != nullptr) {
            held->drop();
        }
    }

    bool is_inproc = false; ///< Both ends are sockets'. Set before the other end exists.

    /// Where the thread of the first end, a socket's, has waited for a session since the session
    /// looked. (Here it takes no room.)
    std::atomic<processor_number> waited_on{no_processor};

    // Before the queues, which begin with a cache line each.
    pipe_end first;
    pipe_end second;

    /// How long the end that sends to the network may take after close(), set by the first end
    /// before it closes. Nothing: as long as it takes.
    std::optional<std::chrono::duration<std::int32_t, std::milli>> linger;

    /// A close_request: why the first end has asked for the end of the connection. Set by it, once,
    /// with a reference, before it delivers event::leaving or event::cut_off; null before that.
    std::atomic<block*> last_word{nullptr};

    /// For what the first end sends; there is none where batches are worth more than a short way.
    /// Set by the second end, a session's, before the first one sends.
    std::unique_ptr<inline_writer> inline_writing;

private:
    message_queue to_second_;
    message_queue to_first_;
};
static_assert(sizeof(pipe) == 2 * sizeof(message_queue) + 3 * limits::cache_line_bytes);

inline pipe_end& pipe_end::other() noexcept {
    return this == &whole_.first ? whole_.second : whole_.first;
}

inline void pipe_end::fetch_ahead() const noexcept {
    // Without a look at `whole_`, which would wait for this line.
    prefetch_object(this - 1, sizeof(pipe) - sizeof(void*));
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

/// @return Whether the other end needs not wake for it.
inline bool pipe_end::write_directly() noexcept {
    return this == &whole_.first && whole_.inline_writing != nullptr &&
           whole_.inline_writing->send(out);
}

inline void pipe_end::dismiss_other() noexcept {
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

/// A holder of one end, which keeps the pipe alive and closes the end when it goes.
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

    /// Holds the end no more, and leaves it open for another holder.
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
