// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <chrono>
#include <optional>

namespace zlink::tuning {

/// How long a thread that yields sleeps instead where another thread has to run.
constexpr std::chrono::microseconds contention_pause{50};

/// The maximum length of a yield during which no other thread ran.
constexpr std::chrono::nanoseconds idle_yield_max{600};

} // namespace zlink::tuning

namespace zlink {

/// Detects that a yielding thread has to wait long for the processor: then other threads use it
/// than those whose answer it waits for. (docs/adr/0022.)
///
/// @threads One.
class contention {
public:
    using clock = std::chrono::steady_clock;

    struct rules {
        clock::duration long_yield_min; ///< A yield that takes as long was delayed by others.
        clock::duration rest;           ///< How long the thread does not yield after one.
        clock::duration again_max;      ///< How soon after that the next one is one more,
        clock::duration long_rest_min;  ///< and how long the thread does not yield then;
        clock::duration long_rest_max;  ///< twice as long each time, up to this maximum.
    };

    explicit constexpr contention(const rules& chosen) noexcept : rules_(chosen) {}

    /// Whether yielding is not worthwhile now.
    bool is_high(clock::time_point now) const noexcept { return now < rest_end_; }

    /// The thread yielded at `begin`, and ran again at `end`.
    void on_yielded(clock::time_point begin, clock::time_point end) noexcept;

private:
    rules rules_;
    clock::time_point rest_end_{}; ///< Or the end of the last long yield.
    clock::duration rest_{};
};

namespace tuning {

/// In a stream the other threads of the stream, too, need this long now and then.
constexpr contention::rules stream_contention{.long_yield_min = std::chrono::milliseconds{2},
                                              .rest = {},
                                              .again_max = std::chrono::milliseconds{2},
                                              .long_rest_min = std::chrono::milliseconds{5},
                                              .long_rest_max = std::chrono::milliseconds{160}};

/// In a conversation a single yield may take a hundred times as long as the answer, and a wait that
/// parks takes no more than a few times as long.
constexpr contention::rules conversation_contention{.long_yield_min = std::chrono::milliseconds{1},
                                                    .rest = std::chrono::milliseconds{160},
                                                    .again_max = std::chrono::milliseconds{320},
                                                    .long_rest_min = std::chrono::milliseconds{320},
                                                    .long_rest_max =
                                                        std::chrono::milliseconds{5120}};

} // namespace tuning

/// Yields the processor to other threads that are ready, unless yields take long at present. A
/// thread that polls should then rather sleep until its condition holds.
/// @blocks  As long as the others run: a time slice, where they compute.
/// @return  Whether it yielded.
/// @threads Any; each has its own `contention`.
bool yield_processor() noexcept;

/// The same between two checks for the answer of a conversation.
bool yield_in_conversation() noexcept;

/// As yield_processor().
/// @return The duration of the yield; nothing if it did not yield.
std::optional<contention::clock::duration> timed_yield() noexcept;

/// The same where others have to run: sleeps briefly where yielding takes long.
/// @blocks  As yield_processor().
void yield_or_sleep() noexcept;

} // namespace zlink
