// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <atomic>

namespace zlink {

/// A pair of fences of unequal cost, for Dekker-style protocols in which one side runs far more
/// often than the other.
///
/// If thread A stores x, passes light(), and loads y, while thread B stores y, passes heavy(), and
/// loads x, then at least one of them sees the other's store. light() is for the frequent side and
/// costs a compiler barrier; heavy() is a system call (membarrier(2)) that makes every running
/// thread of the process pass a full fence. Where the kernel has no membarrier, both are full
/// fences.
///
/// @threads Any.
struct asymmetric_fence {
    static void light() noexcept {
        if (has_membarrier) [[likely]] {
            std::atomic_signal_fence(std::memory_order_seq_cst);
        } else {
            std::atomic_thread_fence(std::memory_order_seq_cst);
        }
    }

    static void heavy() noexcept;

    /// For both sides, where neither is frequent: a full fence for the calling thread only, at the
    /// cost of a locked instruction. Does not pair with light().
    static void full() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }

    /// Whether the kernel accepted the registration. Set before main() and never written again.
    static const bool has_membarrier;
};

} // namespace zlink
