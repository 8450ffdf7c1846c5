// SPDX-License-Identifier: MPL-2.0
#include "base/call_lock.hpp"

#include "base/futex.hpp"

namespace zlink {

void call_lock::lock_slowly() noexcept {
    while (state_.exchange(awaited, std::memory_order_acquire) != vacant) {
        futex_wait(state_, awaited, futex_longest());
    }
}

void call_lock::wake() noexcept {
    futex_wake(state_);
}

} // namespace zlink
