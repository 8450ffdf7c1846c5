// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "runtime/io_thread.hpp"
#include "runtime/timer_clock.hpp"

#include <chrono>

namespace zlink::testing {

/// While an object exists, timers use a clock that stands still until the test advances it.
///
/// @threads One at a time, which also drives the I/O threads.
class virtual_time {
public:
    virtual_time() {
        if (user_count_++ == 0) {
            runtime::timer_clock::replace_source(&elapsed);
        }
    }
    ~virtual_time() {
        if (--user_count_ == 0) {
            runtime::timer_clock::replace_source(&runtime::timer_clock::steady);
        }
    }
    virtual_time(const virtual_time&) = delete;
    virtual_time& operator=(const virtual_time&) = delete;

    /// Advances the clock by one millisecond. Lets `thread` run the handlers that are due then, and
    /// those that follow.
    static void tick(runtime::io_thread& thread) {
        elapsed_ += std::chrono::milliseconds{1};
        // The reactor does not read its clock before the time that it has computed. A timer that is
        // due at once makes it read the clock.
        runtime::timer due(thread.context());
        due.expires_after(std::chrono::milliseconds{0});
        bool is_over = false;
        due.async_wait([&](const boost::system::error_code&) { is_over = true; });
        while (!is_over) {
            thread.drive({});
        }
        thread.drive_ready(things_per_tick_max);
    }

private:
    static constexpr int things_per_tick_max = 100'000;

    static runtime::timer_clock::duration elapsed() noexcept { return elapsed_; }

    static inline int user_count_ = 0;
    static inline runtime::timer_clock::duration elapsed_{0};
};

} // namespace zlink::testing
