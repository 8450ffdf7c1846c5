// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/processor.hpp"
#include "base/yield.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace zlink::tuning {

/// An I/O thread moves to the processor of its application if, while it was on another one, it
/// yielded so often within so long to other threads that ran. Then it stays for a while, twice as
/// long each time if it moves again within the longest of these periods after that (placement.hpp).
constexpr unsigned away_yields_min = 32;
constexpr std::chrono::milliseconds away_time_max{20};
constexpr std::chrono::milliseconds move_rest_min{5};
constexpr std::chrono::milliseconds move_rest_max{320};

} // namespace zlink::tuning

namespace zlink::runtime {

/// Decides when an I/O thread moves to the processor of the application's thread that it works for:
/// when it shares its own with other threads again and again. (docs/adr/0018.)
///
/// @threads One.
class placement {
public:
    using clock = std::chrono::steady_clock;

    /// The application has waited for this thread on `there`.
    void on_awaited(processor_number there) noexcept {
        if (there != there_) {
            there_ = there;
            away_count_ = 0;
        }
        is_awaited_ = true;
    }

    /// The thread has yielded on `here` for `taken`, until `now`.
    /// @return The processor to move to, if it is to move.
    std::optional<processor_number> after_yield(processor_number here, clock::duration taken,
                                                clock::time_point now) noexcept {
        if (!std::exchange(is_awaited_, false)) {
            return {};
        }
        if (there_ == here) {
            away_count_ = 0;
            return {};
        }
        const bool others_ran =
            taken > tuning::idle_yield_max && taken < tuning::stream_contention.long_yield_min;
        if (!others_ran) {
            return {};
        }
        if (away_count_ == 0 || now - count_begin_ > tuning::away_time_max) {
            away_count_ = 0;
            count_begin_ = now;
        }
        if (++away_count_ < tuning::away_yields_min || now < rest_end_) {
            return {};
        }
        away_count_ = 0;
        const bool is_again = now - rest_end_ < tuning::move_rest_max;
        rest_ = is_again ? std::min<clock::duration>(2 * rest_, tuning::move_rest_max)
                         : clock::duration{tuning::move_rest_min};
        rest_end_ = now + rest_;
        return there_;
    }

private:
    processor_number there_ = no_processor; ///< The processor on which the application waited last.
    bool is_awaited_ = false; ///< The application has waited there since the last yield.
    unsigned away_count_ = 0; ///< Times in which others ran here and the application waited there.
    clock::time_point count_begin_{};
    clock::time_point rest_end_{};
    clock::duration rest_{};
};

} // namespace zlink::runtime
