// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>

namespace zlink {

/// memcpy of a large payload for another processor: what is written goes past the caches, on
/// x86-64.
///
/// Lines that the other processor has read before need not be won back from it one by one, which
/// takes longer than memory does. Who reads it next on this processor gets it from memory.
///
/// What is stored after it is seen after it, as with memcpy.
///
/// @threads Any.
void copy_past_caches(void* to, const void* from, std::size_t bytes) noexcept;

} // namespace zlink
