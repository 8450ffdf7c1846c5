// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <boost/asio/basic_waitable_timer.hpp>
#include <chrono>

namespace zlink::runtime {

/// The clock of one_shot: steady_clock, or a test's replacement (testing/virtual_time.hpp).
class timer_clock {
public:
    using duration = std::chrono::steady_clock::duration;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<timer_clock>;
    static constexpr bool is_steady = true;

    /// Returns the time since some fixed moment.
    using source = duration() noexcept;

    static time_point now() noexcept { return time_point(source_()); }

    /// @threads Before timers run, and after.
    static void replace_source(source* other) noexcept { source_ = other; }

    static duration steady() noexcept {
        return std::chrono::steady_clock::now().time_since_epoch();
    }

private:
    static inline source* source_ = &steady;
};

using timer = boost::asio::basic_waitable_timer<timer_clock>;

} // namespace zlink::runtime
