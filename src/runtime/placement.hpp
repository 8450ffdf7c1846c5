// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"
#include "base/processor.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

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
    std::optional<processor_number> after_giving_way(processor_number here, clock::duration taken,
                                                     clock::time_point now) noexcept {
        if (!std::exchange(is_awaited_, false)) {
            return {};
        }
        if (there_ == here) {
            away_count_ = 0;
            return {};
        }
        const bool others_ran = taken > limits::idle_yield_max && taken < limits::long_wait_min;
        if (!others_ran) {
            return {};
        }
        if (away_count_ == 0 || now - count_begin_ > limits::away_time_max) {
            away_count_ = 0;
            count_begin_ = now;
        }
        if (++away_count_ < limits::away_yields_min || now < rest_end_) {
            return {};
        }
        away_count_ = 0;
        const bool is_again = now - rest_end_ < limits::move_rest_max;
        rest_ = is_again ? std::min<clock::duration>(2 * rest_, limits::move_rest_max)
                         : clock::duration{limits::move_rest_min};
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
