// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"

#include <atomic>
#include <cstdint>

namespace zlink {

/// Counts the threads of this process that spin, and those that the library has woken and that have
/// not run since. Where these are more than the processors that the process may use, a spinning
/// thread would keep another one from running, and parks instead.
///
/// @threads any
class runnable_threads {
public:
    /// The calling thread spins during the lifetime of this.
    class spinning {
    public:
        spinning() noexcept { counts_.spinning.fetch_add(1, std::memory_order_relaxed); }
        spinning(const spinning&) = delete;
        spinning& operator=(const spinning&) = delete;
        ~spinning() { counts_.spinning.fetch_sub(1, std::memory_order_relaxed); }
    };

    /// A parked thread is about to be woken.
    static void on_woken() noexcept { counts_.woken.fetch_add(1, std::memory_order_relaxed); }
    /// The calling thread was woken, and runs.
    static void on_running() noexcept { counts_.woken.fetch_sub(1, std::memory_order_relaxed); }

    /// Whether a thread that spins should park.
    static bool exceed_processors() noexcept {
        return counts_.spinning.load(std::memory_order_relaxed) +
                   counts_.woken.load(std::memory_order_relaxed) >
               processor_count_;
    }

private:
    struct alignas(limits::cache_line_bytes) counts {
        std::atomic<std::int32_t> spinning{0};
        std::atomic<std::int32_t> woken{0};
    };

    static counts counts_;
    static const std::int32_t processor_count_; ///< Of the process, when the library was loaded.
};

} // namespace zlink
