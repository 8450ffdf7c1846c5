// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/inline.hpp"
#include "base/limits.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace zlink::tuning {

/// The granularity in bytes at which a producer takes back the cache lines of a segment that
/// another processor has read since they were last written.
constexpr std::size_t owned_block_bytes = 1024;

} // namespace zlink::tuning

namespace zlink {

/// Takes the cache lines that the producer will fill next back from the processor that has read
/// their old contents, by writing a byte to each.
///
/// Stores take effect in order (on x86), so a store to a line that another processor holds delays
/// all later stores, and a processor keeps few of them waiting. Stores to many such lines in a row
/// wait at the same time, and later writes to these lines wait for nothing. (docs/adr/0025.)
///
/// @param written  Start of the bytes that were written last, up to `end`. Most calls do nothing:
///                 one whose bytes reach into another block of tuning::owned_block_bytes takes the
///                 lines up to the end of that block, and at least as many bytes as were written.
/// @param limit    Nothing is written from here on; the bytes between `end` and `limit` are unused.
ZLINK_HOT void prefetch_for_writing(std::byte* written, std::byte* end, std::byte* limit) noexcept {
    const auto from = reinterpret_cast<std::uintptr_t>(written);
    const auto to = reinterpret_cast<std::uintptr_t>(end);
    if ((from ^ to) < tuning::owned_block_bytes) [[likely]] {
        return;
    }
    const std::uintptr_t block_end = (to | (tuning::owned_block_bytes - 1)) + 1;
    const std::uintptr_t stop =
        std::min(std::max(block_end, to + (to - from)), reinterpret_cast<std::uintptr_t>(limit));
    for (std::uintptr_t line = (to | (limits::cache_line_bytes - 1)) + 1; line < stop;
         line += limits::cache_line_bytes) {
        // Volatile: the byte is written again without having been read.
        *reinterpret_cast<volatile unsigned char*>(line) = 0;
    }
}

} // namespace zlink
