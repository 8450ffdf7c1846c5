// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "zlink.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

namespace zlink::api {

/// Repeating timers that run when their owner calls execute(); implements zlink_timers_*.
///
/// Has no clock. Callers pass the time, in milliseconds since any fixed moment, so that a test can
/// control it.
///
/// Invariants
///  1. Each timer is once in schedule_, at the time it is due, and once in places_, by its id.
///  2. Timers due at the same time are in the order in which they were scheduled for it.
///  3. While a handler runs, nothing refers to a place in schedule_, so that it may change the set.
///
/// @threads One at a time; handlers may call every function of the set that runs them.
class timer_set final {
public:
    using milliseconds = std::chrono::milliseconds;

    timer_set() = default;
    timer_set(const timer_set&) = delete;
    timer_set& operator=(const timer_set&) = delete;

    /// Adds a timer that is due `interval` from `now`, and that long after each run.
    ///
    /// @param interval  Limited to interval_max.
    /// @return Its id, from 1; not reused while its timer exists.
    int add(milliseconds interval, zlink_timer_fn* handler, void* argument, milliseconds now);

    /// @error invalid_argument  There is no such timer.
    [[nodiscard]] result<void> cancel(int timer_id);

    /// Makes the timer due `interval` from `now`, and that long after each run.
    ///
    /// @error invalid_argument  There is no such timer.
    [[nodiscard]] result<void> set_interval(int timer_id, milliseconds interval, milliseconds now);

    /// Makes the timer due one of its intervals from `now`.
    ///
    /// @error invalid_argument  There is no such timer.
    [[nodiscard]] result<void> reset(int timer_id, milliseconds now);

    /// @return The time from `now` until a timer is due, 0 if one is; empty if there is no timer.
    [[nodiscard]] std::optional<milliseconds> timeout(milliseconds now) const;

    /// Runs each timer that is due at `now` once, in order of due time. Timers that a handler adds,
    /// or makes due at `now` again, wait for the next call.
    void execute(milliseconds now);

    /// Distinguishes a set from another pointer that a caller of the C API may pass.
    [[nodiscard]] bool is_valid() const noexcept { return mark_ == mark; }

    static constexpr milliseconds interval_max = std::chrono::years{100};

private:
    struct timer {
        int id;
        milliseconds interval;
        zlink_timer_fn* handler;
        void* argument;
    };
    using schedule = std::multimap<milliseconds, timer>;

    static constexpr std::uint32_t mark = 0x7A74696D;

    int next_id();
    void reschedule(schedule::iterator& place, milliseconds due);

    std::uint32_t mark_ = mark;
    int last_id_ = 0;
    schedule schedule_;
    std::unordered_map<int, schedule::iterator> places_;
};

} // namespace zlink::api
