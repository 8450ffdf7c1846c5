// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <chrono>

namespace zlink::tuning {

/// The length of a pause in which another processor makes progress.
constexpr std::chrono::nanoseconds brief_pause{2500};

} // namespace zlink::tuning

namespace zlink {

/// Spins for as long as another processor takes to write some dozens of short messages. The thread
/// keeps its own processor.
/// @threads Any.
inline void brief_pause() noexcept {
    using clock = std::chrono::steady_clock;
    const auto end = clock::now() + tuning::brief_pause;
    while (clock::now() < end) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
}

} // namespace zlink
