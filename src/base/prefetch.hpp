// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/inline.hpp"
#include "base/limits.hpp"

#include <cstddef>

namespace zlink {

/// Prefetches the cache line at `place` for reading. Any address is valid.
ZLINK_HOT void prefetch_to_read(const void* place) noexcept {
    __builtin_prefetch(place);
}

/// Prefetches an object for reading.
ZLINK_HOT void prefetch_object(const void* begin, std::size_t bytes) noexcept {
    const auto* const first = static_cast<const std::byte*>(begin);
    for (std::size_t offset = 0; offset < bytes; offset += limits::cache_line_bytes) {
        prefetch_to_read(first + offset);
    }
    prefetch_to_read(first + bytes - 1); // It need not begin with a line.
}

} // namespace zlink
