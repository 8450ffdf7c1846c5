// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace zlink::session {

/// Limits how many requests a connection may send, on average over a period: it may send as many at
/// once as the whole period allows.
class request_rate {
public:
    using clock = std::chrono::steady_clock;

    static constexpr std::chrono::seconds period{10};

    /// @param per_second  At least 1.
    request_rate(int per_second, clock::time_point now) noexcept
        : per_second_(per_second), left_(per_second * double{period.count()}), last_(now) {}

    /// Counts a request. @return Whether it is allowed.
    bool take(clock::time_point now) noexcept {
        const double seconds = std::chrono::duration<double>(now - last_).count();
        last_ = now;
        left_ = std::min(left_ + seconds * per_second_, per_second_ * double{period.count()});
        if (left_ < 1) {
            return false;
        }
        left_ -= 1;
        return true;
    }

    /// Whether as many are allowed at once as at the beginning.
    bool is_rested(clock::time_point now) const noexcept {
        const double seconds = std::chrono::duration<double>(now - last_).count();
        return left_ + seconds * per_second_ >= per_second_ * double{period.count()};
    }

private:
    double per_second_;
    double left_; ///< Requests that are allowed now.
    clock::time_point last_;
};

} // namespace zlink::session
