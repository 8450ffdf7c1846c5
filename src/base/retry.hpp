// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"

#include <new>
#include <thread>
#include <utility>

namespace zlink {

/// Calls make() until the system has the memory for it. For small allocations on paths that must
/// not fail: those that end something, or that report it.
///
/// @param make  Changes nothing when it throws std::bad_alloc.
/// @blocks  While the system has no memory.
template<class Make>
auto retry_allocation(Make&& make) noexcept -> decltype(make()) {
    while (true) {
        try {
            return make();
        } catch (const std::bad_alloc&) {
            std::this_thread::sleep_for(limits::memory_pause);
        }
    }
}

} // namespace zlink
