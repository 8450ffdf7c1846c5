// SPDX-License-Identifier: MPL-2.0
#include "base/runnable_threads.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <sched.h>

using zlink::runnable_threads;

TEST_SUITE("base") {

    TEST_CASE("runnable threads: as many may spin as there are processors, less those woken") {
        cpu_set_t usable;
        REQUIRE(sched_getaffinity(0, sizeof usable, &usable) == 0);
        std::deque<runnable_threads::spinning> spinning;
        for (int count = 0; count < CPU_COUNT(&usable); ++count) {
            spinning.emplace_back();
            CHECK(!runnable_threads::exceed_processors());
        }
        runnable_threads::on_woken();
        CHECK(runnable_threads::exceed_processors());
        runnable_threads::on_running();
        CHECK(!runnable_threads::exceed_processors());
        spinning.emplace_back();
        CHECK(runnable_threads::exceed_processors());
    }

} // TEST_SUITE
