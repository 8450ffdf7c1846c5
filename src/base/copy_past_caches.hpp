// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>

namespace zlink {

/// memcpy of a large payload for another processor. On x86-64 it uses non-temporal stores, which
/// bypass the caches.
///
/// Lines that the other processor has read before need not be taken back from it one by one, which
/// takes longer than writing to memory. The next read on this processor comes from memory.
///
/// Later stores become visible after it, as with memcpy.
///
/// @threads Any.
void copy_past_caches(void* to, const void* from, std::size_t bytes) noexcept;

} // namespace zlink
