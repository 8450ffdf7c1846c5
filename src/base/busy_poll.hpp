// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/yield.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace zlink::tuning {

/// Waits of up to this multiple of the spinning time may become as short as that if all threads of
/// the conversation spin (busy_poll.hpp). After this many waits with spinning a thread is judged:
/// if fewer of them ended while it spun, it does not spin for so many waits, twice as many each
/// time.
constexpr int short_wait_factor = 4;
constexpr std::uint16_t judged_spins = 64;
constexpr std::uint16_t judged_hits_min = 48;
constexpr std::uint16_t rest_waits_min = 192;
constexpr std::uint16_t rest_waits_max = 6144;

} // namespace zlink::tuning

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
/// For request-reply traffic; streams use flow_pace.
///
/// @threads One at a time.
template<class Clock>
class basic_busy_poll {
public:
    using clock = Clock;

    /// @param longest  How long it spins; 0: never.
    explicit basic_busy_poll(std::chrono::microseconds longest) noexcept : longest_(longest) {}

    /// Begins a wait. Spins until `found` returns true, where that is worth it.
    /// @param yields   Yields between two checks; false ends the spinning.
    /// @return Whether `found` returned true: the wait is over.
    template<class Found>
    bool begin(typename clock::time_point wait_end, Found&& found,
               bool (*yields)() noexcept = yield_in_conversation) {
        begun_ = clock::now();
        if (!is_worth_it_) {
            return false;
        }
        const typename clock::time_point look_end = begun_ + longest_;
        const typename clock::time_point end = std::min(wait_end, look_end);
        do {
            if (found()) {
                judge(true);
                return true;
            }
            if (!yields()) {
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
        is_worth_it_ = was_conversation && length < tuning::short_wait_factor * longest_;
    }

private:
    /// @param was_hit  The spinning found something.
    void judge(bool was_hit) noexcept {
        if (was_hit) {
            ++hit_count_;
        }
        if (++spin_count_ < tuning::judged_spins) {
            return;
        }
        if (hit_count_ >= tuning::judged_hits_min) {
            next_rest_count_ = tuning::rest_waits_min;
        } else {
            rest_count_ = next_rest_count_;
            next_rest_count_ =
                std::min<std::uint16_t>(2 * next_rest_count_, tuning::rest_waits_max);
        }
        spin_count_ = 0;
        hit_count_ = 0;
    }

    std::chrono::microseconds longest_;
    typename clock::time_point begun_{};
    bool is_worth_it_ = false;
    std::uint16_t spin_count_ = 0; ///< Waits with spinning since the last judgement.
    std::uint16_t hit_count_ = 0;  ///< Those of them in which something was found.
    std::uint16_t rest_count_ = 0; ///< Waits left in which it does not spin.
    std::uint16_t next_rest_count_ = tuning::rest_waits_min;
};

using busy_poll = basic_busy_poll<std::chrono::steady_clock>;

} // namespace zlink
