// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/busy_poll.hpp"
#include "base/ref_counted.hpp"
#include "base/result.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace zlink::pipe {

using clock = std::chrono::steady_clock;
/// When to stop waiting; nothing means never.
using deadline = std::optional<clock::time_point>;

/// So long from now; never, where the clock does not reach that far.
inline deadline deadline_after(std::chrono::milliseconds wait) noexcept {
    const clock::time_point now = clock::now();
    if (wait >= std::chrono::floor<std::chrono::milliseconds>(clock::time_point::max() - now)) {
        return {};
    }
    return now + wait;
}

/// What happened to a letter's sender, as bits.
struct event {
    static constexpr std::uint32_t attached = 1;    ///< The pipe end is new to its owner.
    static constexpr std::uint32_t readable = 2;    ///< Messages were published.
    static constexpr std::uint32_t writable = 4;    ///< Credit came back.
    static constexpr std::uint32_t closed = 8;      ///< The other end let go.
    static constexpr std::uint32_t restarted = 16;  ///< The peer is a new connection: resend state.
    static constexpr std::uint32_t stopped = 32;    ///< The context shuts down.
    static constexpr std::uint32_t idle = 64;       ///< Nothing is sent any more: memory may go.
    static constexpr std::uint32_t conflated = 128; ///< The other end wants the newest only.
    static constexpr std::uint32_t dismissed = 256; ///< The other end wants no more of this one.
    static constexpr std::uint32_t arrived = 512; ///< The letter is no pipe end's, but a countdown.
    static constexpr std::uint32_t written = 1024; ///< All that was sent: memory may be passed on.
    static constexpr std::uint32_t leaving = 2048; ///< pipe::last_word says how soon this one goes.
    static constexpr std::uint32_t cut_off = 4096; ///< It goes now, whatever waits for it.
    static constexpr std::uint32_t limited = 8192; ///< The other end changed how much it takes.
};

/// Something that can lie in a mailbox once, with the events that gathered since it was put there.
class letter {
public:
    letter() noexcept = default;
    letter(const letter&) = delete;
    letter& operator=(const letter&) = delete;

    /// Keeps the letter alive while it lies in a mailbox.
    virtual void retain() noexcept = 0;
    virtual void release() noexcept = 0;

    /// Whether its owner has not collected `event` yet. @threads any
    bool is_to_be_told(std::uint32_t event) const noexcept {
        return (events_.load(std::memory_order_relaxed) & event) != 0;
    }

protected:
    ~letter() = default;

private:
    friend class mailbox;
    std::atomic<std::uint32_t> events_{0};

public:
    /// The place of its connection among all of the context: the later it was made, the greater,
    /// modulo 2^32. Set before it is delivered first. (Here it takes no room.)
    std::uint32_t arrival = 0;

private:
    letter* next_ = nullptr;
};

/// Where pipes and contexts report to the owner of a socket or of sessions.
///
/// Any thread may deliver; the owner collects. Delivering to an owner that is awake costs one
/// atomic operation, and the first delivery after it fell asleep wakes it, once.
///
/// @threads deliver: any. Everything else: the owner.
class mailbox : public ref_counted<mailbox> {
public:
    mailbox() noexcept = default;
    virtual ~mailbox();

    /// Adds `happened` to the letter's events and puts it in, unless it lies there already. After
    /// shut() nothing happens.
    /// @return Whether its owner will collect it.
    bool deliver(letter& about, std::uint32_t happened) noexcept;

    /// Whether there is something to collect.
    bool has_mail() const noexcept { return first_.load(std::memory_order_relaxed) != nullptr; }

    /// As has_mail(), ordered behind the caller's sequentially consistent stores.
    bool has_mail_ordered() const noexcept {
        return first_.load(std::memory_order_seq_cst) != nullptr;
    }

    /// Calls visit(letter&, events) for everything that was delivered, oldest first. `visit` may
    /// deliver again.
    template<class Visitor>
    void collect(Visitor&& visit) {
        letter* each = take_all();
        while (each != nullptr) {
            letter* const next = each->next_;
            const std::uint32_t events = each->events_.exchange(0, std::memory_order_acq_rel);
            visit(*each, events);
            each->release();
            each = next;
        }
    }

    /// Takes what was delivered, as collect() does, and nothing any more from then on.
    template<class Visitor>
    void shut(Visitor&& visit) {
        letter* each = in_order(first_.exchange(shut_mark(), std::memory_order_acq_rel));
        while (each != nullptr) {
            letter* const next = each->next_;
            visit(*each, each->events_.load(std::memory_order_acquire));
            each->release();
            each = next;
        }
    }

protected:
    /// Called on the delivering thread when the mailbox was empty before.
    virtual void on_first_letter() noexcept = 0;
    /// Called on the owner's thread before it takes what was delivered.
    virtual void on_collect() noexcept = 0;

private:
    letter* take_all() noexcept;
    static letter* in_order(letter* newest) noexcept;
    static letter* shut_mark() noexcept { return reinterpret_cast<letter*>(1); }

    std::atomic<letter*> first_{nullptr}; ///< Newest first.
};

/// A mailbox whose owner waits in the kernel.
///
/// @threads deliver, nudge: any. Everything else: the owner.
class waiting_mailbox : public mailbox {
public:
    /// @param polls_for  How long wait() looks before it sleeps.
    explicit waiting_mailbox(std::chrono::microseconds polls_for = {}) noexcept
        : busy_poll_(polls_for) {}
    ~waiting_mailbox() override;

    /// @blocks  Until something was delivered, nudge() was called, or `until` has passed.
    /// @error again        `until` has passed.
    /// @error interrupted  A signal handler ran.
    result<void> wait(deadline until) noexcept;

    /// Makes wait() return, or the next one if nobody waits, and the descriptor readable.
    void nudge() noexcept;

    /// Makes the descriptor readable, if there is one, until the next look into the mailbox; and
    /// from the beginning, if there is none yet.
    void signal() noexcept;

    /// A descriptor that is readable while there is something to collect, and after signal().
    /// Opened at the first call and closed with the mailbox.
    /// @error no_descriptors  The process has no descriptor left.
    result<int> descriptor() noexcept;

    /// Whether the descriptor is readable, although there may be nothing to collect.
    bool is_signalled() const noexcept {
        return unread_signals_.load(std::memory_order_relaxed) != 0;
    }

    /// Ends what nudge(), or a letter that was taken early, did to the descriptor: from now on it
    /// is readable only if there is something to collect.
    void calm_descriptor() noexcept;

protected:
    void on_first_letter() noexcept override;
    void on_collect() noexcept override;

private:
    /// The futex.
    enum state : std::uint32_t {
        awake,
        waiting, ///< The owner waits or is about to.
        nudged,
    };

    void signal_descriptor() noexcept;

    busy_poll busy_poll_;
    std::atomic<std::uint32_t> state_{awake};
    std::atomic<int> event_descriptor_{-1};
    std::atomic<std::uint32_t> unread_signals_{0}; ///< Of the descriptor, or about to be.
    bool is_signalled_from_the_start_ = false;     ///< The descriptor, once there is one.
};

} // namespace zlink::pipe
