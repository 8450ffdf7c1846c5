// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <chrono>
#include <optional>

namespace zlink {

/// Notices that a thread that gives way has to wait long for the processor, and soon again: then
/// others use it than those for whose answer it waits. (docs/adr/0013.)
///
/// @threads One.
class contention {
public:
    using clock = std::chrono::steady_clock;

    /// Whether it is not worth giving way now.
    bool is_felt(clock::time_point now) const noexcept { return now < rest_end_; }

    /// The thread gave way at `begin`, and had the processor again at `end`.
    void on_gave_way(clock::time_point begin, clock::time_point end) noexcept;

private:
    clock::time_point rest_end_{}; ///< Or when it last had to wait long.
    clock::duration rest_{};
};

/// Lets other threads that are ready have the processor for a moment, unless that takes long at
/// present. Who looks again and again for something then better sleeps until it is there.
/// @blocks  As long as the others have it: a time slice, where they compute.
/// @return  Whether it gave way.
/// @threads Any; each has its own `contention`.
bool yield_processor() noexcept;

/// As yield_processor().
/// @return How long it took; nothing if it did not give way.
std::optional<contention::clock::duration> timed_yield() noexcept;

/// The same for who looks again and again for what another processor is about to write: if nobody
/// else wanted this one, it pauses, so that it does not take what is being written from the other
/// each time.
/// @blocks  As yield_processor(), or as long as brief_pause().
/// @return  For how many calls of yield_processor() it stands; 0 if it did not give way.
unsigned yield_or_pause() noexcept;

/// The same where others have to run: sleeps for a moment where giving way takes long.
/// @blocks  As yield_processor().
void yield_or_sleep() noexcept;

} // namespace zlink
