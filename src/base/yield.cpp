// SPDX-License-Identifier: MPL-2.0
#include "base/yield.hpp"

#include <algorithm>
#include <optional>
#include <sched.h>
#include <thread>

namespace zlink {

void contention::on_yielded(clock::time_point begin, clock::time_point end) noexcept {
    if (end - begin < tuning::long_wait_min) {
        return;
    }
    const bool is_again = begin - rest_end_ < tuning::long_wait_min;
    rest_ = is_again ? std::clamp<clock::duration>(2 * rest_, tuning::contention_rest_min,
                                                   tuning::contention_rest_max)
                     : clock::duration::zero();
    rest_end_ = end + rest_;
}

std::optional<contention::clock::duration> timed_yield() noexcept {
    static thread_local contention known;
    const auto begin = contention::clock::now();
    if (known.is_high(begin)) {
        return {};
    }
    sched_yield();
    const auto end = contention::clock::now();
    known.on_yielded(begin, end);
    return end - begin;
}

bool yield_processor() noexcept {
    return timed_yield().has_value();
}

void yield_or_sleep() noexcept {
    if (!yield_processor()) {
        std::this_thread::sleep_for(tuning::contention_pause);
    }
}

} // namespace zlink
