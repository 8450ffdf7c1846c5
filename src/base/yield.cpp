// SPDX-License-Identifier: MPL-2.0
#include "base/yield.hpp"

#include "base/brief_pause.hpp"
#include "base/limits.hpp"

#include <algorithm>
#include <optional>
#include <sched.h>
#include <thread>

namespace zlink {

void contention::on_gave_way(clock::time_point begin, clock::time_point end) noexcept {
    if (end - begin < limits::long_wait_min) {
        return;
    }
    const bool is_again = begin - rest_end_ < limits::long_wait_min;
    rest_ = is_again ? std::clamp<clock::duration>(2 * rest_, limits::contention_rest_min,
                                                   limits::contention_rest_max)
                     : clock::duration::zero();
    rest_end_ = end + rest_;
}

std::optional<contention::clock::duration> timed_yield() noexcept {
    static thread_local contention known;
    const auto begin = contention::clock::now();
    if (known.is_felt(begin)) {
        return {};
    }
    sched_yield();
    const auto end = contention::clock::now();
    known.on_gave_way(begin, end);
    return end - begin;
}

bool yield_processor() noexcept {
    return timed_yield().has_value();
}

unsigned yield_or_pause() noexcept {
    const auto taken = timed_yield();
    if (taken && *taken <= limits::idle_yield_max) {
        brief_pause();
        return limits::looks_per_pause;
    }
    return taken.has_value() ? 1 : 0;
}

void yield_or_sleep() noexcept {
    if (!yield_processor()) {
        std::this_thread::sleep_for(limits::contention_pause);
    }
}

} // namespace zlink
