// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/busy_poll.hpp"
#include "base/ref_counted.hpp"
#include "base/result.hpp"
#include "pipe/parking.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

namespace zlink::pipe {

using clock = std::chrono::steady_clock;
/// When to stop waiting; nothing means never.
using deadline = std::optional<clock::time_point>;

/// The deadline after `wait` from now; never, if the clock cannot represent it.
inline deadline deadline_after(std::chrono::milliseconds wait) noexcept {
    const clock::time_point now = clock::now();
    if (wait >= std::chrono::floor<std::chrono::milliseconds>(clock::time_point::max() - now)) {
        return {};
    }
    return now + wait;
}

/// The events of a letter's sender, as bits.
struct event {
    static constexpr std::uint32_t attached = 1;    ///< The pipe end is new to its owner.
    static constexpr std::uint32_t readable = 2;    ///< Messages were published.
    static constexpr std::uint32_t writable = 4;    ///< Credit came back.
    static constexpr std::uint32_t closed = 8;      ///< The other end was closed or ended sending.
    static constexpr std::uint32_t restarted = 16;  ///< The peer is a new connection: resend state.
    static constexpr std::uint32_t stopped = 32;    ///< The context shuts down.
    static constexpr std::uint32_t idle = 64;       ///< No more is being sent: memory may be freed.
    static constexpr std::uint32_t conflated = 128; ///< The other end wants only the newest.
    static constexpr std::uint32_t dismissed = 256; ///< The other end no longer wants this one.
    static constexpr std::uint32_t arrived = 512;   ///< The letter is a countdown, not a pipe end.
    static constexpr std::uint32_t written = 1024;  ///< All is written: memory may be passed on.
    static constexpr std::uint32_t leaving =
        2048; ///< The connection is to end: pipe::requested_close.
    static constexpr std::uint32_t cut_off = 4096; ///< It is to end now, even with data queued.
    static constexpr std::uint32_t limited = 8192; ///< The other end changed its limit on messages.
    static constexpr std::uint32_t look_again =
        16384; ///< The owner's own: whatever is there to read has its turn. No mark was taken.
};

/// An object that can be in a mailbox once, with the events that were collected since it was put
/// there.
class letter {
public:
    letter() noexcept = default;
    letter(const letter&) = delete;
    letter& operator=(const letter&) = delete;

    /// Keep the letter alive while it is in a mailbox.
    virtual void retain() noexcept = 0;
    virtual void release() noexcept = 0;

    /// Whether its owner has not collected `event` yet. @threads any
    bool is_pending(std::uint32_t event) const noexcept {
        return (events_.load(std::memory_order_relaxed) & event) != 0;
    }

protected:
    ~letter() = default;

private:
    friend class mailbox;
    std::atomic<std::uint32_t> events_{0};

public:
    /// The position of its connection in the context's order of connections: later ones are
    /// greater, modulo 2^32. Set before the first delivery. (Placed here, it fills padding.)
    std::uint32_t arrival = 0;

private:
    letter* next_ = nullptr;
};

/// Where pipes and contexts report events to the owner of a socket or of sessions.
///
/// Any thread may deliver; the owner collects. Delivering to an owner that is not parked costs one
/// atomic operation, and the first delivery after it parked wakes it, once.
///
/// @threads deliver: any. Everything else: the owner.
class mailbox : public ref_counted<mailbox> {
public:
    mailbox() noexcept = default;
    virtual ~mailbox();

    /// Adds `happened` to the letter's events and puts the letter in, unless it is in already.
    /// After shut() it does nothing.
    /// @return Whether the owner will collect it.
    bool deliver(letter& about, std::uint32_t happened) noexcept;

    /// Whether there is something to collect.
    bool has_mail() const noexcept { return first_.load(std::memory_order_relaxed) != nullptr; }

    /// As has_mail(), ordered after the caller's sequentially consistent stores.
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

    /// Collects all letters, as collect() does, and accepts no more from then on.
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
    /// Called on the owner's thread before it collects.
    virtual void on_collect() noexcept = 0;

private:
    letter* take_all() noexcept;
    static letter* in_order(letter* newest) noexcept;
    static letter* shut_mark() noexcept { return reinterpret_cast<letter*>(1); }

    std::atomic<letter*> first_{nullptr}; ///< Newest first.
};

/// Calls a function of the application when the owner of a mailbox has something to look at: once,
/// and again after arm().
class notifier {
public:
    using function = void(void* hint);

    /// Sets the function; null: none. The former one is not called any more once this returns.
    /// @blocks  While it is being called.
    void set(function* called, void* hint) noexcept;

    /// @return Whether there is a function.
    bool arm() noexcept {
        if (has_function_) {
            is_armed_.store(true, std::memory_order_seq_cst);
        }
        return has_function_;
    }

    /// @threads any
    void notify() noexcept {
        if (is_armed_.load(std::memory_order_seq_cst)) {
            call();
        }
    }

private:
    void call() noexcept;

    std::atomic<bool> is_armed_{false};
    bool has_function_ = false; ///< The owner's.
    std::mutex mutex_;          ///< Held during a call.
    function* called_ = nullptr;
    void* hint_ = nullptr;
};

/// A mailbox whose owner parks in the kernel (parking.hpp), one thread at a time. Any number of
/// threads may wait for the descriptor meanwhile: each collects only while it owns the mailbox.
/// @threads deliver, nudge, waiting for the descriptor: any. Everything else: the owner.
class waiting_mailbox : public mailbox {
public:
    /// @param polls_for  How long wait() spins before it parks.
    explicit waiting_mailbox(std::chrono::microseconds polls_for = {}) noexcept
        : busy_poll_(polls_for) {}
    ~waiting_mailbox() override;

    /// @blocks  Until a letter was delivered, nudge() was called, or `until` has passed.
    /// @error again        `until` has passed.
    /// @error interrupted  A signal handler ran.
    result<void> wait(deadline until) noexcept;

    /// Makes wait() return, or the next call of it if there is none at present. Threads that wait
    /// for the descriptor are not concerned.
    void nudge() noexcept;

    /// Makes the descriptor readable until the mailbox is checked next; if it is not open yet, it
    /// will be readable when it is opened.
    void signal() noexcept;

    /// A descriptor that is readable while there is a letter to collect, and after signal(). Opened
    /// at the first call and closed with the mailbox.
    /// @error no_descriptors  The process has no descriptor left.
    result<int> descriptor() noexcept;

    /// Whether the descriptor is readable, although there may be no letter to collect.
    bool is_signalled() const noexcept {
        return unread_signals_.load(std::memory_order_relaxed) != 0;
    }

    /// Undoes the effect of signal(), or of a letter that was collected early, on the descriptor:
    /// from now on it is readable only if there is a letter to collect. wait() is not concerned.
    void reset_descriptor() noexcept;

    /// Calls `called(hint)` whenever the descriptor becomes readable, if it is armed.
    void set_notified(notifier::function* called, void* hint) noexcept;

    /// Lets the function of set_notified() be called once more. Call before collecting: letters
    /// that come later are notified.
    void arm() noexcept {
        if (notifier_.arm()) {
            // A later check of the mailbox does not precede this one, nor this one the store above.
            static_cast<void>(has_mail_ordered());
        }
    }

protected:
    void on_first_letter() noexcept override;
    void on_collect() noexcept override;

private:
    void signal_watchers() noexcept;

    busy_poll busy_poll_;
    notifier notifier_;
    std::atomic<std::uint32_t> state_{parking<futex_word>::awake};
    std::atomic<int> event_descriptor_{-1};
    std::atomic<std::uint32_t> unread_signals_{0}; ///< Written to the descriptor, or about to be.
    bool is_signalled_from_the_start_ = false;     ///< To be readable when it is opened.
};

} // namespace zlink::pipe
