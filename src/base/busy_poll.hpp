// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"
#include "base/runnable_threads.hpp"
#include "base/yield.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace zlink {

/// Spins before its owner parks, if the last wait was short: an answer that comes at once then
/// costs neither a park nor a wake-up, which take several times as long as the answer. After a long
/// wait it does not spin until a wait is short again. Yields to other threads between two checks.
///
/// Where the system is slow to wake a thread, the waits of a conversation whose threads all park
/// are longer than the spinning would be, but would be short if all of them spun. So waits of up to
/// a multiple of the spinning time count as short. Where the spinning then fails too often, as
/// between the messages of many peers, of which some are close together by chance, the owner does
/// not spin for many waits, twice as many each time.
///
/// For request-reply traffic; streams use stream_pace.
///
/// @threads One at a time.
template<class Clock>
class basic_busy_poll {
public:
    using clock = Clock;

    /// @param longest  How long it spins; 0: never.
    explicit basic_busy_poll(std::chrono::microseconds longest) noexcept : longest_(longest) {}

    /// Begins a wait. Spins until `found` returns true, where that is worth it.
    /// @param gives_way   Yields between two checks; false ends the spinning.
    /// @param is_crowded  True ends the spinning: other threads of the process need the processor.
    /// @return Whether `found` returned true: the wait is over.
    template<class Found>
    bool begin(typename clock::time_point wait_end, Found&& found,
               bool (*gives_way)() noexcept = yield_processor,
               bool (*is_crowded)() noexcept = runnable_threads::exceed_processors) {
        begun_ = clock::now();
        if (!is_worth_it_) {
            return false;
        }
        const runnable_threads::spinning counted;
        const typename clock::time_point look_end = begun_ + longest_;
        const typename clock::time_point end = std::min(wait_end, look_end);
        do {
            if (found()) {
                judge(true);
                return true;
            }
            if (is_crowded() || !gives_way()) {
                return false;
            }
        } while (clock::now() < end);
        if (end == look_end) {
            judge(false);
        }
        return false;
    }

    /// Ends a wait for which begin() returned false.
    /// @param was_conversation  Little was moved since the wait before.
    void end(bool was_conversation = true) noexcept {
        if (rest_count_ != 0) {
            --rest_count_;
            is_worth_it_ = false;
            return;
        }
        const typename clock::duration length = clock::now() - begun_;
        is_worth_it_ = was_conversation && length < limits::short_wait_factor * longest_;
    }

private:
    /// @param was_hit  The spinning found something.
    void judge(bool was_hit) noexcept {
        hit_count_ += was_hit ? 1 : 0;
        if (++look_count_ < limits::judged_looks) {
            return;
        }
        if (hit_count_ >= limits::judged_hits_min) {
            next_rest_count_ = limits::rest_waits_min;
        } else {
            rest_count_ = next_rest_count_;
            next_rest_count_ =
                std::min<std::uint16_t>(2 * next_rest_count_, limits::rest_waits_max);
        }
        look_count_ = 0;
        hit_count_ = 0;
    }

    std::chrono::microseconds longest_;
    typename clock::time_point begun_{};
    bool is_worth_it_ = false;
    std::uint16_t look_count_ = 0; ///< Waits with spinning since the last judgement.
    std::uint16_t hit_count_ = 0;  ///< Those of them in which something was found.
    std::uint16_t rest_count_ = 0; ///< Waits left in which it does not spin.
    std::uint16_t next_rest_count_ = limits::rest_waits_min;
};

using busy_poll = basic_busy_poll<std::chrono::steady_clock>;

} // namespace zlink
