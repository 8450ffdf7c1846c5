// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/yield.hpp"

#include <algorithm>
#include <cstdint>

namespace zlink {

/// Lets a stream flow in large batches. A thread that has moved a whole batch and finds nothing
/// more yields and checks again, about as long as moving the batch took, before it parks. Where the
/// threads of the stream share a processor, the other side prepares the next batch meanwhile
/// instead of waking this thread for one message. Where they do not, the next batch arrives while
/// this thread checks, and neither side pays for a wake-up. Single messages change nothing.
///
/// @threads One at a time.
class stream_pace {
public:
    /// In messages, bytes or another unit.
    struct steps {
        std::uint32_t batch_min; ///< The minimum of a batch.
        std::uint32_t per_look;  ///< One more check for each so many of a batch.
        std::uint32_t looks_max;
    };

    explicit stream_pace(const steps& chosen) noexcept : steps_(chosen) {}

    /// Counts units that were moved.
    void count(std::uint32_t moved = 1) noexcept { moved_ += moved; }

    /// Yields once, if another check is worthwhile after that.
    /// @param gives_way  Yields; returns the number of checks that the yield stands for; 0 ends the
    ///                   checking.
    /// @return Whether to check again.
    template<class GiveWay>
    bool lets_others_run(GiveWay&& gives_way) noexcept {
        if (moved_ >= steps_.batch_min) {
            looks_left_ = std::min(1 + moved_ / steps_.per_look, steps_.looks_max);
        }
        moved_ = 0;
        if (looks_left_ == 0) {
            return false;
        }
        const std::uint32_t looks = gives_way();
        if (looks == 0) {
            looks_left_ = 0;
            return false;
        }
        looks_left_ -= std::min(looks, looks_left_);
        return true;
    }
    bool lets_others_run() noexcept { return lets_others_run(yield_processor); }

private:
    steps steps_;
    std::uint32_t moved_ = 0;
    std::uint32_t looks_left_ = 0;
};

} // namespace zlink
