// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/inline.hpp"
#include "base/limits.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace zlink {

/// Wins the lines back that a writer will fill next, from the processor that has read what was in
/// them: writes a byte to each.
///
/// Stores take effect in order (on x86), so one to a line that another processor has holds up all
/// that come after it, and a processor keeps few of them waiting. Those to many such lines in a row
/// wait at the same time, and what is written there later waits for nothing. (docs/adr/0005.)
///
/// @param written  What was written last, up to `end`. Most calls do nothing: one whose bytes
///                 reach into another block of limits::owned_block_bytes owns the lines up to the
///                 end of that block, and at least so many as it has itself.
/// @param limit    Nothing is written from here on; between `end` and it there is nothing to lose.
ZLINK_HOT void prefetch_for_writing(std::byte* written, std::byte* end, std::byte* limit) noexcept {
    const auto from = reinterpret_cast<std::uintptr_t>(written);
    const auto to = reinterpret_cast<std::uintptr_t>(end);
    if ((from ^ to) < limits::owned_block_bytes) [[likely]] {
        return;
    }
    const std::uintptr_t block_end = (to | (limits::owned_block_bytes - 1)) + 1;
    const std::uintptr_t stop =
        std::min(std::max(block_end, to + (to - from)), reinterpret_cast<std::uintptr_t>(limit));
    for (std::uintptr_t line = (to | (limits::cache_line_bytes - 1)) + 1; line < stop;
         line += limits::cache_line_bytes) {
        // Volatile: it is written again without having been read.
        *reinterpret_cast<volatile unsigned char*>(line) = 0;
    }
}

} // namespace zlink
