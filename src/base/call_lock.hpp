// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/inline.hpp"

#include <atomic>
#include <cstdint>

namespace zlink {

/// A mutex for calls on an object that several threads use: four bytes, valid as long as its memory
/// is, and no cancellation point (futex.hpp).
///
/// @threads Any.
class call_lock {
public:
    ZLINK_HOT void lock() noexcept {
        std::uint32_t expected = vacant;
        if (!state_.compare_exchange_strong(expected, held, std::memory_order_acquire,
                                            std::memory_order_relaxed)) [[unlikely]] {
            lock_slowly();
        }
    }
    ZLINK_HOT void unlock() noexcept {
        if (state_.exchange(vacant, std::memory_order_release) == awaited) [[unlikely]] {
            wake();
        }
    }

private:
    enum state : std::uint32_t {
        vacant,
        held,
        awaited, ///< Held, and other threads may wait for it in the kernel.
    };

    ZLINK_COLD void lock_slowly() noexcept;
    ZLINK_COLD void wake() noexcept;

    std::atomic<std::uint32_t> state_{vacant};
};

} // namespace zlink
