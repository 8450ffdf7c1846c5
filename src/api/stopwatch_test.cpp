// SPDX-License-Identifier: MPL-2.0
#include "zlink.h"

#include <doctest/doctest.h>

TEST_SUITE("api") {

    TEST_CASE("stopwatch: never runs backwards") {
        void* watch = zlink_stopwatch_start();
        REQUIRE(watch != nullptr);

        const unsigned long earlier = zlink_stopwatch_intermediate(watch);
        const unsigned long later = zlink_stopwatch_stop(watch);

        CHECK(earlier <= later);
    }

} // TEST_SUITE
