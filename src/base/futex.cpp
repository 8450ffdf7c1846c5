// SPDX-License-Identifier: MPL-2.0
#include "base/futex.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace zlink {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::hours longest_wait{24 * 365};

} // namespace

clock::time_point futex_longest() noexcept {
    return clock::now() + longest_wait;
}

int futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
               clock::time_point until) noexcept {
    // The kernel rejects times before the clock's epoch. It restarts a wait without a timeout after
    // handlers installed with SA_RESTART; so there always is one.
    const auto since_epoch = std::max(until.time_since_epoch(), clock::duration::zero());
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_epoch);
    const std::chrono::nanoseconds rest = since_epoch - seconds;
    const timespec when{static_cast<time_t>(seconds.count()), static_cast<long>(rest.count())};
    return syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, &when, nullptr,
                   FUTEX_BITSET_MATCH_ANY) == 0
               ? 0
               : errno;
}

void futex_wake(std::atomic<std::uint32_t>& word, int count) noexcept {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

} // namespace zlink
