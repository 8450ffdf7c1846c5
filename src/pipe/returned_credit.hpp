// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace zlink::pipe {

/// A part of a queue's content.
struct queue_backlog {
    std::uint64_t message_count;
    std::uint64_t bytes; ///< Of the wire image.
};

/// Totals of a queue: `message_count` messages are before `position`.
struct queue_progress {
    std::uint64_t message_count;
    std::uint64_t position;

    /// What came after `earlier`, whose count may be slightly high in comparison.
    queue_backlog since(const queue_progress& earlier) const noexcept {
        return {message_count - std::min(earlier.message_count, message_count),
                position - earlier.position};
    }
};

/// The totals that the reader of a queue has returned to the writer: what it has taken, and the
/// messages for which there is credit. The latter are never fewer than the messages taken, and more
/// while the reader lends credit for messages that it will take soon.
///
/// The position is stored last and loaded first, so the counts that belong to it are never too low.
///
/// @threads One that returns, which is the reader, or a writer that has taken the reader's mark.
///          Everything else: any.
template<class Platform>
class basic_returned_credit {
public:
    /// Returns credit for everything before `taken`.
    void give(const queue_progress& taken) noexcept {
        taken_count_.store(taken.message_count, std::memory_order_relaxed);
        if (taken.message_count > credit_count_.load(std::memory_order_relaxed)) { // Else lent.
            credit_count_.store(taken.message_count, std::memory_order_relaxed);
        }
        give_bytes(taken.position);
    }

    /// Returns credit for bytes only.
    void give_bytes(std::uint64_t position) noexcept {
        taken_position_.store(position, std::memory_order_release);
    }

    /// Returns credit for messages that will be taken soon, but not for their bytes.
    /// @param message_count  Of all messages so far: those taken, and these.
    void lend(std::uint64_t message_count) noexcept {
        credit_count_.store(message_count, std::memory_order_release);
    }

    /// The messages taken, for the side that returns.
    std::uint64_t given_count() const noexcept {
        return taken_count_.load(std::memory_order_relaxed);
    }

    /// Whether nothing was taken yet.
    bool is_untouched() const noexcept {
        return taken_position_.load(std::memory_order_relaxed) == 0;
    }

    /// Whether everything before `position` was taken.
    bool has_taken(std::uint64_t position) const noexcept {
        return taken_position_.load(std::memory_order_acquire) >= position;
    }

    /// What was taken.
    queue_progress taken() const noexcept {
        const std::uint64_t position = taken_position_.load(std::memory_order_acquire);
        return {taken_count_.load(std::memory_order_acquire), position};
    }

    /// The totals for which there is credit.
    queue_progress credit() const noexcept {
        const std::uint64_t position = taken_position_.load(std::memory_order_acquire);
        return {credit_count_.load(std::memory_order_relaxed), position};
    }

private:
    template<class T>
    using atomic = typename Platform::template atomic<T>;

    atomic<std::uint64_t> taken_count_{0};
    atomic<std::uint64_t> taken_position_{0};
    atomic<std::uint64_t> credit_count_{0};
};

} // namespace zlink::pipe
