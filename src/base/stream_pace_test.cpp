// SPDX-License-Identifier: MPL-2.0
#include "base/stream_pace.hpp"

#include <doctest/doctest.h>

using zlink::stream_pace;

namespace {

constexpr stream_pace::steps by_ten{.batch_min = 10, .per_look = 5, .looks_max = 4};

/// The number of checks.
/// @param worth  Checks that one yield stands for.
int looks(stream_pace& pace, unsigned worth = 1) {
    int count = 0;
    while (pace.lets_others_run([worth]() noexcept { return worth; })) {
        ++count;
    }
    return count;
}

} // namespace

TEST_SUITE("base") {

    TEST_CASE("stream pace: does not look again after less than a batch") {
        stream_pace pace{by_ten};
        CHECK(looks(pace) == 0);
        pace.count(9);
        CHECK(looks(pace) == 0);
    }

    TEST_CASE("stream pace: looks less often where giving way takes as long as several looks") {
        stream_pace pace{by_ten};
        pace.count(1000);
        CHECK(looks(pace, 2) == 2);
        pace.count(1000);
        CHECK(looks(pace, 3) == 2);
        pace.count(1000);
        CHECK(looks(pace, 100) == 1);
    }

    TEST_CASE("stream pace: looks the oftener, the more was moved, up to a limit") {
        stream_pace pace{by_ten};
        pace.count(10);
        CHECK(looks(pace) == 3);
        CHECK(looks(pace) == 0);
        pace.count(1000);
        CHECK(looks(pace) == 4);
    }

    TEST_CASE("stream pace: ends when giving way is not worth it, until the next batch") {
        stream_pace pace{by_ten};
        pace.count(10);
        CHECK(!pace.lets_others_run([]() noexcept { return false; }));
        CHECK(looks(pace) == 0);
        pace.count(10);
        CHECK(looks(pace) == 3);
    }

} // TEST_SUITE
