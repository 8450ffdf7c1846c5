// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <chrono>
#include <optional>

namespace zlink {

/// Detects that a yielding thread has to wait long for the processor, and soon again: then other
/// threads use it than those whose answer it waits for. (docs/adr/0013.)
///
/// @threads One.
class contention {
public:
    using clock = std::chrono::steady_clock;

    /// Whether yielding is not worthwhile now.
    bool is_felt(clock::time_point now) const noexcept { return now < rest_end_; }

    /// The thread yielded at `begin`, and ran again at `end`.
    void on_gave_way(clock::time_point begin, clock::time_point end) noexcept;

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

/// The same for a thread that polls for data that another processor is about to write. If no other
/// thread wanted this processor, it pauses, so that it does not take the cache line from the
/// writing processor each time.
/// @blocks  As yield_processor(), or as long as brief_pause().
/// @return  The number of yield_processor() calls that it stands for; 0 if it did not yield.
unsigned yield_or_pause() noexcept;

/// The same where others have to run: sleeps briefly where yielding takes long.
/// @blocks  As yield_processor().
void yield_or_sleep() noexcept;

} // namespace zlink
