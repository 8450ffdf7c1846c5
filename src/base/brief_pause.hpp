// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"

#include <chrono>

namespace zlink {

/// Spins for as long as another processor takes to write some dozens of short messages. The thread
/// keeps its own processor.
/// @threads Any.
inline void brief_pause() noexcept {
    using clock = std::chrono::steady_clock;
    const auto end = clock::now() + limits::brief_pause;
    while (clock::now() < end) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
}

} // namespace zlink
