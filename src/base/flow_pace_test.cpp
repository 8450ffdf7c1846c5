// SPDX-License-Identifier: MPL-2.0
#include "base/flow_pace.hpp"

#include <doctest/doctest.h>

using zlink::flow_pace;

namespace {

constexpr flow_pace::steps by_ten{.batch_min = 10, .per_check = 5, .checks_max = 4};

/// The number of checks.
int checks(flow_pace& pace) {
    int count = 0;
    while (pace.yields_before_parking([]() noexcept { return true; })) {
        ++count;
    }
    return count;
}

} // namespace

TEST_SUITE("base") {

    TEST_CASE("stream pace: does not check again after less than a batch") {
        flow_pace pace{by_ten};
        CHECK(checks(pace) == 0);
        pace.count(9);
        CHECK(checks(pace) == 0);
    }

    TEST_CASE("stream pace: checks more often after more was moved, up to a limit") {
        flow_pace pace{by_ten};
        pace.count(10);
        CHECK(checks(pace) == 3);
        CHECK(checks(pace) == 0);
        pace.count(1000);
        CHECK(checks(pace) == 4);
    }

    TEST_CASE("stream pace: ends when a yield is refused, until the next batch") {
        flow_pace pace{by_ten};
        pace.count(10);
        CHECK(!pace.yields_before_parking([]() noexcept { return false; }));
        CHECK(checks(pace) == 0);
        pace.count(10);
        CHECK(checks(pace) == 3);
    }

} // TEST_SUITE
