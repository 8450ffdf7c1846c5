// SPDX-License-Identifier: MPL-2.0
#include "histogram.hpp"

#include <cstdint>
#include <limits>
#include <memory>

#include <doctest/doctest.h>

using stream_bench::histogram;

TEST_CASE("histogram: says 0 of no values") {
    const histogram empty;

    CHECK(empty.total() == 0);
    CHECK(empty.percentile(0.5) == 0);
}

TEST_CASE("histogram: tells small values exactly") {
    histogram values;
    for (std::uint64_t value = 1; value <= 100; ++value) {
        values.add(value);
    }

    CHECK(values.percentile(0) == 1);
    CHECK(values.percentile(0.50) == 50);
    CHECK(values.percentile(0.95) == 95);
    CHECK(values.percentile(0.99) == 99);
    CHECK(values.percentile(1) == 100);
}

TEST_CASE("histogram: is at most 1/128 above the value, at any magnitude") {
    for (unsigned bit = 0; bit < 64; ++bit) {
        for (const std::uint64_t value :
             {std::uint64_t{1} << bit, (std::uint64_t{1} << bit) - 1,
              (std::uint64_t{1} << bit) + (std::uint64_t{1} << bit) / 3}) {
            histogram one;
            one.add(value);
            const std::uint64_t told = one.percentile(0.5);
            CAPTURE(value);
            CHECK(told >= value);
            CHECK(told - value <= value / 128);
        }
    }
}

TEST_CASE("histogram: takes the largest value there is") {
    histogram values;
    values.add(std::numeric_limits<std::uint64_t>::max());

    CHECK(values.percentile(1) == std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("histogram: merged ones say what one of all values would say") {
    histogram all;
    auto workers = std::make_unique<histogram[]>(3);
    for (std::uint64_t value = 0; value < 30'000; ++value) {
        const std::uint64_t spread = value * value;
        all.add(spread);
        workers[value % 3].add(spread);
    }
    histogram merged;
    for (int worker = 0; worker < 3; ++worker) {
        merged.merge(workers[worker]);
    }

    CHECK(merged.total() == 30'000);
    for (const double share : {0.0, 0.01, 0.5, 0.95, 0.99, 0.999, 1.0}) {
        CHECK(merged.percentile(share) == all.percentile(share));
    }
}

TEST_CASE("histogram: a rare slow worker shows in the upper percentiles only") {
    histogram quick;
    histogram slow;
    for (int count = 0; count < 980; ++count) {
        quick.add(10);
    }
    for (int count = 0; count < 20; ++count) {
        slow.add(100);
    }
    quick.merge(slow);

    CHECK(quick.percentile(0.50) == 10);
    CHECK(quick.percentile(0.98) == 10);
    CHECK(quick.percentile(0.99) == 100);
}
