// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/futex.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>

namespace zlink::pipe {

/// The word of memory on which a thread sleeps in the kernel. Code that is tested in every
/// interleaving has another one.
class futex_word {
public:
    explicit futex_word(std::atomic<std::uint32_t>& word) noexcept : word_(word) {}

    std::uint32_t load(std::memory_order order) const noexcept { return word_.load(order); }
    std::uint32_t exchange(std::uint32_t value, std::memory_order order) noexcept {
        return word_.exchange(value, order);
    }
    bool compare_exchange_strong(std::uint32_t& expected, std::uint32_t value,
                                 std::memory_order order) noexcept {
        return word_.compare_exchange_strong(expected, value, order);
    }
    int wait(std::uint32_t expected, std::chrono::steady_clock::time_point until) noexcept {
        return futex_wait(word_, expected, until);
    }
    void wake() noexcept { futex_wake(word_); }

private:
    std::atomic<std::uint32_t>& word_;
};

/// A place where one thread sleeps until another one has something for it.
///
/// Invariants
///  1. One thread at a time is in park(): the owner of the mailbox or, if several threads share the
///     socket, the one that leads them (sharing.hpp).
///  2. Only park() takes a nudge, on behalf of that thread. All other threads, those that wait for
///     the mailbox's descriptor included, leave the word alone, except by nudge() and
///     on_first_letter().
///  3. park() has taken a nudge before its caller checks the condition that the nudge reports, so a
///     nudge that it overwrites was given for a condition that the caller sees.
///
/// @param Word  futex_word, by reference semantics.
template<class Word>
class parking {
public:
    static constexpr std::uint32_t awake = 0;
    static constexpr std::uint32_t waiting = 1; ///< A thread is parked or about to park.
    static constexpr std::uint32_t nudged = 2;

    explicit parking(Word& word) noexcept : word_(word) {}

    /// Sleeps until has_letter() is true, or nudge() is or was called.
    /// @return  0, or an errno: ETIMEDOUT or EINTR.
    /// @blocks  At most until `until`.
    template<class HasLetter>
    int park(HasLetter&& has_letter, std::chrono::steady_clock::time_point until) {
        std::uint32_t expected = awake;
        int outcome = 0;
        if (word_.compare_exchange_strong(expected, waiting, std::memory_order_seq_cst)) {
            // The store above and this check are both sequentially consistent, as are a delivery
            // and the load in on_first_letter(): one of the two threads sees the other.
            while (!has_letter() && word_.load(std::memory_order_seq_cst) == waiting) {
                const int ended = word_.wait(waiting, until);
                if (ended == ETIMEDOUT || ended == EINTR) {
                    outcome = ended;
                    break;
                }
            }
        }
        take_nudge();
        return outcome;
    }

    /// Ends a wait that did not park. An exchange: a store could be performed after the caller's
    /// next check, and overwrite a nudge that came in between (invariant 3).
    void take_nudge() noexcept { word_.exchange(awake, std::memory_order_seq_cst); }

    /// Makes park() return, or the next call of it if there is none at present.
    /// @threads any
    void nudge() noexcept {
        if (word_.exchange(nudged, std::memory_order_seq_cst) == waiting) {
            word_.wake();
        }
    }

    /// Call it after the first letter was delivered, with sequential consistency.
    /// @threads any
    void on_first_letter() noexcept {
        std::uint32_t expected = waiting;
        if (word_.load(std::memory_order_seq_cst) == waiting &&
            word_.compare_exchange_strong(expected, awake, std::memory_order_seq_cst)) {
            word_.wake();
        }
    }

private:
    Word& word_;
};

} // namespace zlink::pipe
