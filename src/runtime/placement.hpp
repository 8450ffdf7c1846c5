// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"
#include "base/processor.hpp"

#include <algorithm>
#include <chrono>

namespace zlink::runtime {

/// Decides when an I/O thread moves to the processor of the application's thread that it works for:
/// when it shares its own with others, time and again. (docs/adr/0018.)
///
/// @threads One.
class placement {
public:
    using clock = std::chrono::steady_clock;

    /// The thread gave way on `here` for `taken`, until `now`.
    /// @param there  Where the application's thread gave way meanwhile, or shortly before.
    bool is_to_move(processor_number here, processor_number there, clock::duration taken,
                    clock::time_point now) noexcept {
        if (there == here) {
            away_count_ = 0;
            return false;
        }
        if (taken <= limits::idle_yield_max || taken >= limits::long_wait_min ||
            ++away_count_ < limits::away_yields_min || now < rest_end_) {
            return false;
        }
        away_count_ = 0;
        const bool is_again = now - rest_end_ < limits::move_rest_max;
        rest_ = is_again ? std::min<clock::duration>(2 * rest_, limits::move_rest_max)
                         : clock::duration{limits::move_rest_min};
        rest_end_ = now + rest_;
        return true;
    }

private:
    unsigned away_count_ = 0; ///< Times in which others ran here while the application was there.
    clock::time_point rest_end_{};
    clock::duration rest_{};
};

} // namespace zlink::runtime
