// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define ZLINK_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ZLINK_ADDRESS_SANITIZER 1
#endif
#endif

#ifdef ZLINK_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace zlink {

/// Makes the address sanitizer, where there is one, report accesses to these bytes: memory that a
/// pool keeps counts as freed for all other code.
inline void poison([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef ZLINK_ADDRESS_SANITIZER
    __asan_poison_memory_region(memory, bytes);
#endif
}

inline void unpoison([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef ZLINK_ADDRESS_SANITIZER
    __asan_unpoison_memory_region(memory, bytes);
#endif
}

} // namespace zlink
