// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/inline.hpp"
#include "base/result.hpp"
#include "pipe/mailbox.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace zlink::socket {

class socket;

/// The condition that a call waits for.
enum class awaited : std::uint8_t {
    receiving, ///< There is a message.
    sending,   ///< There is room for one.
    either,    ///< One of the two.
    news,      ///< The mailbox was processed.
    turn,      ///< No other thread is in the middle of sending a message. (wait() chooses it.)
};

/// Lets several threads use one socket at the same time: a call holds the socket's lock, except
/// while it waits.
///
/// One of the threads that wait, the leader, waits for the socket's mailbox: it alone parks there,
/// or drives the I/O for it. The others wait until they are called. Threads that poll several
/// sockets wait besides, for the mailbox's descriptor and a watcher of their own. Before a call
/// releases the lock it wakes one thread for which there is something to do, and that one the next,
/// so that no thread sleeps while it could go on. Where room depends on the message, an
/// incoming event wakes every waiting sender; a sender that finds no room passes nothing on.
///
/// A thread that has sent or received the first frame of a message owns that direction until the
/// message ends; others wait. If the thread ends before, the rest of the message is dropped. Of
/// those that wait for their turn to send, each call that leaves the turn free wakes one.
///
/// A thread may also wait for the mailbox's descriptor, which the calls of other threads clear: one
/// that leaves something to do makes it readable again. The thread that waits is, as far as is
/// known, the last one that asked for the descriptor or for ZLINK_EVENTS.
///
/// @threads Any. Everything but the constructor needs the socket's lock, unless it says otherwise.
class sharing {
public:
    explicit sharing(socket& of) noexcept : of_(of) {}
    sharing(const sharing&) = delete;
    sharing& operator=(const sharing&) = delete;

    /// Releases the lock until the socket's state may have changed.
    /// @blocks  At most until `until`.
    /// @error again         `until` has passed.
    /// @error not_a_socket  The socket is being closed.
    /// @error interrupted
    result<void> wait(pipe::deadline until, awaited what);

    /// Ends a call: wakes threads that can go on, and releases the lock.
    void leave() noexcept;

    /// Whether no other thread is in the middle of a message.
    ZLINK_HOT bool may(awaited what) const noexcept { return begun_count_ == 0 || may_now(what); }
    /// The calling thread has sent or received a frame.
    /// @param more  Others of its message follow.
    ZLINK_HOT void note(awaited what, bool more) noexcept {
        if (more || begun_count_ != 0) [[unlikely]] {
            note_part(what, more);
        }
    }

    /// Keeps the socket from being destroyed while the calling thread uses it without its lock.
    void enter() noexcept { ++visitor_count_; }
    void exit() noexcept;

    /// Makes all calls fail, and waits until the last one has returned.
    void close() noexcept;
    bool is_closing() const noexcept { return is_closing_; }

    /// The mailbox is processed: its descriptor is readable no longer.
    /// @param has_mail       There is something in it.
    /// @param was_signalled  The descriptor was readable.
    void note_collected(bool has_mail, bool was_signalled) noexcept {
        has_news_ |= has_mail;
        if (is_watched_ && (has_mail || was_signalled)) [[unlikely]] {
            note_taken(has_mail);
        }
    }
    /// The calling thread may wait for the mailbox's descriptor from now on.
    void note_watched() noexcept;
    /// The calling thread has read ZLINK_EVENTS: it knows what the descriptor would tell.
    void note_looked() noexcept;

    /// A descriptor that becomes readable when a call has left something to do for a thread that
    /// waits for several sockets.
    struct watcher {
        int descriptor = -1;
        std::atomic<bool> is_signalled{false};
    };
    /// @param receives, sends  The conditions that it is interested in.
    /// @throws std::bad_alloc
    void add_watcher(watcher& added, bool receives, bool sends) {
        watchers_.push_back({&added, receives, sends});
    }
    void remove_watcher(watcher& removed) noexcept {
        std::erase_if(watchers_, [&](const watching& each) { return each.by == &removed; });
    }

    /// The thread with that number has ended: its unfinished messages are dropped.
    void abandon(std::uint64_t thread) noexcept;

private:
    /// Threads that wait for the same condition and do not lead.
    struct followers {
        std::atomic<std::uint32_t> call_count{0}; ///< The futex.
        std::uint32_t count = 0;
        bool is_called = false; ///< One was woken and does not run yet: it wakes the next.
    };
    struct watching {
        watcher* by;
        bool receives;
        bool sends;
    };

    static constexpr std::size_t sides = 5;
    static std::size_t index_of(awaited what) noexcept { return static_cast<std::size_t>(what); }

    bool may_now(awaited what) const noexcept;
    void note_part(awaited what, bool more) noexcept;
    void note_taken(bool has_mail) noexcept;
    void end_part(awaited what) noexcept;
    bool has_to_wake() const noexcept {
        return has_news_ || tells_of_message_ || tells_of_room_ ||
               (sender_ == 0 && waiting(awaited::turn) != 0);
    }
    std::uint64_t& owner_of(awaited what) noexcept {
        return what == awaited::sending ? sender_ : receiver_;
    }
    std::uint32_t waiting(awaited what) const noexcept;
    ZLINK_COLD void wake_others() noexcept;
    bool can(awaited what) noexcept;
    void hand_over_lead() noexcept;
    void wake(awaited what, bool all) noexcept;
    void wake_one(followers& of, int count = 1) noexcept;
    void call_leader() noexcept;
    void signal(watcher& asked) noexcept;
    result<void> lead(pipe::deadline until, awaited what);
    result<void> follow(pipe::deadline until, awaited what);

    socket& of_;
    std::array<followers, sides> followers_;
    std::vector<watching> watchers_;
    std::uint32_t visitor_count_ = 0;          ///< Threads inside a call that do not hold the lock.
    std::atomic<std::uint32_t> departures_{0}; ///< The futex of close().
    bool has_leader_ = false;
    std::atomic<bool> is_leader_called_{false};
    awaited led_for_ = awaited::either;
    bool is_closing_ = false;
    bool has_news_ = false;   ///< The mailbox was processed, and the others were not woken for it.
    bool is_watched_ = false; ///< A thread may wait for the descriptor.
    bool reads_events_ = false;
    bool tells_of_message_ = false; ///< That thread is to learn of a message, if there is one.
    bool tells_of_room_ = false;    ///< The same for room.
    std::uint8_t begun_count_ = 0;  ///< Of the two below, those that are not 0.
    std::uint64_t sender_ = 0;      ///< The thread that is sending a message of several frames.
    std::uint64_t receiver_ = 0;    ///< The same for receiving.
    std::uint64_t watcher_ = 0;     ///< The thread that may wait for the descriptor.
};

/// Keeps a socket that several threads use from being destroyed; of another one it does nothing.
///
/// @threads One.
class socket_visit {
public:
    /// The caller holds the socket's lock, if it has one.
    explicit socket_visit(socket& visited) noexcept;
    socket_visit(socket_visit&& from) noexcept : visited_(std::exchange(from.visited_, nullptr)) {}
    socket_visit& operator=(socket_visit&&) = delete;
    ~socket_visit();

private:
    socket* visited_; ///< Null if it has no lock.
};

} // namespace zlink::socket
