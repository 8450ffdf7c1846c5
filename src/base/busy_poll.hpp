// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"
#include "base/runnable_threads.hpp"
#include "base/yield.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace zlink {

/// Looks again and again for what is waited for before its owner sleeps, if the last wait was
/// short. Who is answered at once is then neither put to sleep nor woken, which takes several times
/// as long as the answer; who waits long looks no more until a wait is short again. Gives way to
/// other threads between two looks.
///
/// Where it takes the system long to wake a thread, the waits of a conversation whose threads all
/// sleep are longer than looking would be, but would be short if all of them looked. So waits of up
/// to a multiple count as short. Where looking then is in vain too often, as between the messages
/// of many peers, of which some are close together by chance, the owner does not look for many
/// waits, twice as many each time.
///
/// For conversations; streams have their stream_pace.
///
/// @threads One at a time.
template<class Clock>
class basic_busy_poll {
public:
    using clock = Clock;

    /// @param longest  How long it looks; 0: never.
    explicit basic_busy_poll(std::chrono::microseconds longest) noexcept : longest_(longest) {}

    /// Begins a wait, by looking until `found` says so where that is worth it.
    /// @param gives_way   Ends the looking when it says no.
    /// @param is_crowded  Ends it when it says yes: other threads of the process need the
    /// processor.
    /// @return Whether `found` said so: the wait is over.
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

    /// The wait is over for which begin() did not suffice.
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
    /// @param was_hit  Looking was not in vain.
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
    std::uint16_t look_count_ = 0; ///< Waits in which it looked, since it was judged.
    std::uint16_t hit_count_ = 0;  ///< Those of them in which something was found.
    std::uint16_t rest_count_ = 0; ///< Waits in which it will not look.
    std::uint16_t next_rest_count_ = limits::rest_waits_min;
};

using busy_poll = basic_busy_poll<std::chrono::steady_clock>;

} // namespace zlink
