// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace zlink::tuning {

/// A consumer returns credit after at most so many messages.
constexpr std::uint64_t credit_batch_max = 1024;

} // namespace zlink::tuning

namespace zlink::pipe {

/// A high-water mark of an option, which is not negative, as queue_limits::messages_max.
constexpr std::uint64_t messages_max_of(int high_water_mark) noexcept {
    return static_cast<std::uint64_t>(high_water_mark);
}

/// The maximum content of one direction of a pipe.
struct queue_limits {
    std::uint64_t messages_max = 0; ///< 0: no limit on either count or bytes.
    std::uint64_t bytes_max = limits::pipe_bytes_max;
};

/// The limits of a queue, a part of which the reader may set, and the size of the batches in which
/// the reader returns credit: half of the limit that was set last, at most
/// tuning::credit_batch_max.
///
/// @threads set(), messages_max(), bytes_max(): the writer's. add(), replace(), batch(): the
///          reader's. Before the other side exists, any.
template<class Platform>
class basic_credit_limits {
public:
    /// Sets the writer's limits.
    void set(const queue_limits& allowed) noexcept {
        messages_max_ = count_of(allowed.messages_max);
        bytes_max_ = allowed.messages_max == 0 ? unlimited_count : allowed.bytes_max;
        set_batch(messages_max_);
    }

    /// Adds the reader's limit to the writer's.
    /// @param messages_max  0: no limit.
    void add(std::uint64_t messages_max) noexcept {
        const std::uint64_t added = count_of(messages_max);
        added_messages_max_.store(added, std::memory_order_relaxed);
        set_batch(added);
    }

    /// Makes `messages_max` the only limit on messages, in place of the writer's, which never
    /// changes.
    /// @param messages_max  0: no limit.
    void replace(std::uint64_t messages_max) noexcept {
        const std::uint64_t wanted = count_of(messages_max);
        // Stored as the difference, since the limits are added; a negative difference wraps around,
        // and so does the sum, to `wanted`.
        added_messages_max_.store(wanted - messages_max_, std::memory_order_relaxed);
        set_batch(wanted);
    }

    /// Messages that may be under way, by all limits together.
    std::uint64_t messages_max() const noexcept {
        return messages_max_ + added_messages_max_.load(std::memory_order_relaxed);
    }

    /// Bytes that may be under way.
    std::uint64_t bytes_max() const noexcept { return bytes_max_; }

    /// Messages after which the reader returns credit.
    std::uint64_t batch() const noexcept { return batch_.load(std::memory_order_relaxed); }

private:
    /// Unreachable, and the sum of three is still far from overflow.
    static constexpr std::uint64_t unlimited_count = UINT64_MAX / 4;

    template<class T>
    using atomic = typename Platform::template atomic<T>;

    static std::uint64_t count_of(std::uint64_t messages_max) noexcept {
        return messages_max == 0 ? unlimited_count : messages_max;
    }

    void set_batch(std::uint64_t messages_max) noexcept {
        batch_.store(std::min((messages_max + 1) / 2, tuning::credit_batch_max),
                     std::memory_order_relaxed);
    }

    atomic<std::uint64_t> batch_{0};
    atomic<std::uint64_t> added_messages_max_{0}; ///< The reader's part.
    std::uint64_t messages_max_ = 0;              ///< The writer's part.
    std::uint64_t bytes_max_ = 0;
};

} // namespace zlink::pipe
