// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace zlink {

#ifdef ZLINK_COUNT_COPIES

/// Bytes that were copied, on all threads.
inline std::atomic<std::uint64_t> copied_byte_count{0};

inline void count_copied(std::size_t bytes) noexcept {
    copied_byte_count.fetch_add(bytes, std::memory_order_relaxed);
}

#else

/// Counts bytes that are copied without a call of memcpy; tests/copies_test.cpp intercepts memcpy
/// itself. They are counted only in the build for that test.
inline void count_copied(std::size_t) noexcept {}

#endif

} // namespace zlink
