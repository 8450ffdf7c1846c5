// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <chrono>
#include <optional>

namespace zlink::tuning {

/// A yield that takes at least this long was delayed by threads other than the library's own and
/// its peers'. How long the thread does not yield if that happens again within as long a time:
/// twice as long each time. And how long it sleeps instead where another thread has to run.
constexpr std::chrono::milliseconds long_wait_min{2};
constexpr std::chrono::milliseconds contention_rest_min{5};
constexpr std::chrono::milliseconds contention_rest_max{160};
constexpr std::chrono::microseconds contention_pause{50};

/// The maximum length of a yield during which no other thread ran.
constexpr std::chrono::nanoseconds idle_yield_max{600};

} // namespace zlink::tuning

namespace zlink {

/// Detects that a yielding thread has to wait long for the processor, and soon again: then other
/// threads use it than those whose answer it waits for. (docs/adr/0022.)
///
/// @threads One.
class contention {
public:
    using clock = std::chrono::steady_clock;

    /// Whether yielding is not worthwhile now.
    bool is_high(clock::time_point now) const noexcept { return now < rest_end_; }

    /// The thread yielded at `begin`, and ran again at `end`.
    void on_yielded(clock::time_point begin, clock::time_point end) noexcept;

private:
    clock::time_point rest_end_{}; ///< Or the end of the last long yield.
    clock::duration rest_{};
};

/// Yields the processor to other threads that are ready, unless yields take long at present. A
/// thread that polls should then rather sleep until its condition holds.
/// @blocks  As long as the others run: a time slice, where they compute.
/// @return  Whether it yielded.
/// @threads Any; each has its own `contention`.
bool yield_processor() noexcept;

/// As yield_processor().
/// @return The duration of the yield; nothing if it did not yield.
std::optional<contention::clock::duration> timed_yield() noexcept;

/// The same where others have to run: sleeps briefly where yielding takes long.
/// @blocks  As yield_processor().
void yield_or_sleep() noexcept;

} // namespace zlink
