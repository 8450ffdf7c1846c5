// SPDX-License-Identifier: MPL-2.0
#include "base/yield.hpp"

#include "base/no_cancellation.hpp"

#include <algorithm>
#include <optional>
#include <sched.h>
#include <thread>

namespace zlink {

namespace {

std::optional<contention::clock::duration> timed_yield(contention& known) noexcept {
    const auto begin = contention::clock::now();
    if (known.is_high(begin)) {
        return {};
    }
    sched_yield();
    const auto end = contention::clock::now();
    known.on_yielded(begin, end);
    return end - begin;
}

} // namespace

void contention::on_yielded(clock::time_point begin, clock::time_point end) noexcept {
    if (end - begin < rules_.long_yield_min) {
        return;
    }
    const bool is_again = begin - rest_end_ < rules_.again_max;
    rest_ =
        is_again ? std::clamp(2 * rest_, rules_.long_rest_min, rules_.long_rest_max) : rules_.rest;
    rest_end_ = end + rest_;
}

std::optional<contention::clock::duration> timed_yield() noexcept {
    static thread_local contention known{tuning::stream_contention};
    return timed_yield(known);
}

bool yield_in_conversation() noexcept {
    static thread_local contention known{tuning::conversation_contention};
    return timed_yield(known).has_value();
}

bool yield_processor() noexcept {
    return timed_yield().has_value();
}

void yield_or_sleep() noexcept {
    if (!yield_processor()) {
        const no_cancellation deferred;
        std::this_thread::sleep_for(tuning::contention_pause);
    }
}

} // namespace zlink
