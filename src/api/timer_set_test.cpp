// SPDX-License-Identifier: MPL-2.0
#include "api/timer_set.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <vector>

using namespace std::chrono_literals;
using zlink::errc;
using zlink::api::timer_set;

namespace {

using ids = std::vector<int>;

/// A set, the time, and the ids of the timers that ran, in order.
struct recorder {
    timer_set timers;
    std::chrono::milliseconds now = 1000ms;
    ids ran;
    std::function<void(int timer_id)> in_handler = [](int) {};

    int add(std::chrono::milliseconds interval) { return timers.add(interval, record, this, now); }

    ids run_after(std::chrono::milliseconds passing) {
        now += passing;
        ran.clear();
        timers.execute(now);
        return ran;
    }

    static void record(int timer_id, void* argument) {
        auto& self = *static_cast<recorder*>(argument);
        self.ran.push_back(timer_id);
        self.in_handler(timer_id);
    }
};

} // namespace

TEST_SUITE("api") {

    TEST_CASE("timer set: has no timeout and runs nothing when it is empty") {
        recorder set;

        CHECK(!set.timers.timeout(set.now));
        CHECK(set.run_after(1h) == ids{});
    }

    TEST_CASE("timer set: runs a timer when its interval is over, and not before") {
        recorder set;
        const int timer = set.add(100ms);

        CHECK(set.timers.timeout(set.now) == 100ms);
        CHECK(set.run_after(99ms) == ids{});
        CHECK(set.timers.timeout(set.now) == 1ms);
        CHECK(set.run_after(1ms) == ids{timer});
    }

    TEST_CASE("timer set: repeats a timer, counting its interval from the run") {
        recorder set;
        const int timer = set.add(100ms);

        CHECK(set.run_after(130ms) == ids{timer});
        CHECK(set.timers.timeout(set.now) == 100ms);
        CHECK(set.run_after(99ms) == ids{});
        CHECK(set.run_after(1ms) == ids{timer});
    }

    TEST_CASE("timer set: runs a timer once when several intervals have passed") {
        recorder set;
        const int timer = set.add(10ms);

        CHECK(set.run_after(1s) == ids{timer});
        CHECK(set.timers.timeout(set.now) == 10ms);
    }

    TEST_CASE("timer set: has a timeout of 0 when a timer is overdue") {
        recorder set;
        set.add(10ms);

        CHECK(set.timers.timeout(set.now + 1s) == 0ms);
    }

    TEST_CASE("timer set: runs timers in the order of being due, and of being added") {
        recorder set;
        const int late = set.add(30ms);
        const int early = set.add(10ms);
        const int late_too = set.add(30ms);

        CHECK(set.timers.timeout(set.now) == 10ms);
        CHECK(set.run_after(30ms) == ids{early, late, late_too});
    }

    TEST_CASE("timer set: numbers timers from 1") {
        recorder set;

        CHECK(set.add(10ms) == 1);
        CHECK(set.add(10ms) == 2);
    }

    TEST_CASE("timer set: forgets a cancelled timer") {
        recorder set;
        const int cancelled = set.add(10ms);
        const int kept = set.add(20ms);

        CHECK(set.timers.cancel(cancelled));

        CHECK(set.timers.timeout(set.now) == 20ms);
        CHECK(set.run_after(1s) == ids{kept});
        CHECK(set.timers.cancel(cancelled).error() == errc::invalid_argument);
        CHECK(set.timers.reset(cancelled, set.now).error() == errc::invalid_argument);
        CHECK(set.timers.set_interval(cancelled, 5ms, set.now).error() == errc::invalid_argument);
    }

    TEST_CASE("timer set: knows no timer that was never added") {
        recorder set;
        set.add(10ms);

        for (const int timer_id : {-1, 0, 2}) {
            CHECK(set.timers.cancel(timer_id).error() == errc::invalid_argument);
            CHECK(set.timers.reset(timer_id, set.now).error() == errc::invalid_argument);
            CHECK(set.timers.set_interval(timer_id, 5ms, set.now).error() ==
                  errc::invalid_argument);
        }
    }

    TEST_CASE("timer set: lets a reset timer's interval begin anew") {
        recorder set;
        const int timer = set.add(100ms);
        set.run_after(60ms);

        CHECK(set.timers.reset(timer, set.now));

        CHECK(set.timers.timeout(set.now) == 100ms);
        CHECK(set.run_after(99ms) == ids{});
        CHECK(set.run_after(1ms) == ids{timer});
    }

    TEST_CASE("timer set: applies a new interval at once and to later runs") {
        recorder set;
        const int timer = set.add(100ms);
        set.run_after(60ms);

        CHECK(set.timers.set_interval(timer, 10ms, set.now));

        CHECK(set.run_after(10ms) == ids{timer});
        CHECK(set.run_after(10ms) == ids{timer});
    }

    TEST_CASE("timer set: runs a timer without interval once in each call") {
        recorder set;
        const int timer = set.add(0ms);

        CHECK(set.timers.timeout(set.now) == 0ms);
        CHECK(set.run_after(0ms) == ids{timer});
        CHECK(set.run_after(0ms) == ids{timer});
    }

    TEST_CASE("timer set: survives the longest interval that a caller may ask for") {
        recorder set;
        set.add(std::chrono::milliseconds::max());

        CHECK(set.timers.timeout(set.now) == timer_set::interval_max);
        CHECK(set.run_after(1h) == ids{});
    }

    TEST_CASE("timer set: runs a timer that a handler added in the next call") {
        recorder set;
        const int first = set.add(10ms);
        int second = 0;
        set.in_handler = [&](int timer_id) {
            if (timer_id == first && second == 0) {
                second = set.add(0ms);
            }
        };

        CHECK(set.run_after(10ms) == ids{first});
        CHECK(set.run_after(0ms) == ids{second});
    }

    TEST_CASE("timer set: lets a handler cancel its own timer") {
        recorder set;
        const int timer = set.add(10ms);
        set.in_handler = [&](int timer_id) { CHECK(set.timers.cancel(timer_id)); };

        CHECK(set.run_after(10ms) == ids{timer});
        CHECK(set.run_after(1s) == ids{});
        CHECK(!set.timers.timeout(set.now));
    }

    TEST_CASE("timer set: does not run a due timer that an earlier handler cancelled or reset") {
        recorder set;
        const int first = set.add(10ms);
        const int cancelled = set.add(20ms);
        const int put_off = set.add(20ms);
        set.in_handler = [&](int timer_id) {
            if (timer_id == first) {
                CHECK(set.timers.cancel(cancelled));
                CHECK(set.timers.reset(put_off, set.now));
            }
        };

        CHECK(set.run_after(20ms) == ids{first});
        set.in_handler = [](int) {};
        CHECK(set.run_after(20ms) == ids{first, put_off});
    }

    TEST_CASE("timer set: lets a handler change its own timer's interval") {
        recorder set;
        const int timer = set.add(10ms);
        set.in_handler = [&](int timer_id) {
            CHECK(set.timers.set_interval(timer_id, 50ms, set.now));
        };

        CHECK(set.run_after(10ms) == ids{timer});
        CHECK(set.timers.timeout(set.now) == 50ms);
    }

} // TEST_SUITE
