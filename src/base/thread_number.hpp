// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace zlink {

/// A number of the calling thread that no other thread has, had or will have; never 0.
/// @threads Any.
inline std::uint64_t thread_number() noexcept {
    static constinit std::atomic<std::uint64_t> count{0};
    thread_local std::uint64_t mine = 0;
    if (mine == 0) {
        mine = count.fetch_add(1, std::memory_order_relaxed) + 1;
    }
    return mine;
}

} // namespace zlink
