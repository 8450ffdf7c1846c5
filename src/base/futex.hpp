// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace zlink {

/// Waits in the kernel while `word` has the value `expected`. Unlike most calls that wait, this is
/// no cancellation point of pthread_cancel(3): a cancelled thread does not end in the middle of a
/// call of this library.
///
/// @blocks  Until futex_wake() is called for `word`, at most until `until`.
/// @return  0, or an errno: EAGAIN if the value is another one, ETIMEDOUT, or EINTR after every
///          signal handler, also one installed with SA_RESTART.
int futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
               std::chrono::steady_clock::time_point until) noexcept;

/// The deadline of a wait that has none.
std::chrono::steady_clock::time_point futex_longest() noexcept;

/// Wakes at most `count` of the threads that wait for `word`.
void futex_wake(std::atomic<std::uint32_t>& word, int count = 1) noexcept;

} // namespace zlink
