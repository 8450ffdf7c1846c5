// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace zlink::runtime {

/// Computes the wait before each new attempt to reach a peer: the interval plus a random part of
/// it, so that many peers do not reconnect at once. With a maximum the interval doubles each time.
class backoff {
public:
    /// @param interval_max  Zero: always `interval`.
    backoff(std::chrono::milliseconds interval, std::chrono::milliseconds interval_max) noexcept
        : interval_(interval), interval_max_(interval_max), current_(interval) {}

    /// The wait before the next attempt.
    /// @param chance  Any number; its lower bits choose the random part.
    std::chrono::milliseconds next(std::uint64_t chance) noexcept {
        const auto spread = std::max<std::int64_t>(current_.count(), 1);
        std::chrono::milliseconds wait =
            current_ + std::chrono::milliseconds(static_cast<std::int64_t>(chance % spread));
        if (interval_max_ > interval_) {
            wait = std::min(wait, interval_max_);
            current_ = std::min(current_ * 2, interval_max_);
        }
        return wait;
    }

    /// Starts over, once the peer was reached.
    void reset() noexcept { current_ = interval_; }

private:
    std::chrono::milliseconds interval_;
    std::chrono::milliseconds interval_max_;
    std::chrono::milliseconds current_;
};

} // namespace zlink::runtime
