// SPDX-License-Identifier: MPL-2.0
#include "base/reader_distance.hpp"

#include <doctest/doctest.h>

using zlink::reader_distance;
namespace limits = zlink::limits;

namespace {

/// How many looks that find `found_bytes` end with a pause, at most `looks_max` of them.
unsigned looks_before_pause(reader_distance& distance, unsigned looks_max = 100'000) {
    unsigned count = 0;
    while (count < looks_max && !distance.is_short(66)) {
        ++count;
    }
    return count;
}

} // namespace

TEST_SUITE("base") {

    TEST_CASE(
        "reader distance: who finds little again and again is to pause, from then on always") {
        reader_distance distance;
        CHECK(looks_before_pause(distance) == limits::short_looks_max);
        for (int count = 0; count < 10; ++count) {
            distance.on_paused(false);
            CHECK(looks_before_pause(distance) == 0);
        }
    }

    TEST_CASE("reader distance: who finds nothing now and then, or much, does not pause") {
        for (const std::uint64_t found_bytes :
             {std::uint64_t{0}, std::uint64_t{limits::short_look_bytes}}) {
            reader_distance distance;
            for (int count = 0; count < 100; ++count) {
                CHECK(looks_before_pause(distance, limits::short_looks_max) ==
                      limits::short_looks_max);
                CHECK(!distance.is_short(found_bytes));
            }
        }
    }

    TEST_CASE("reader distance: pauses in vain become rare, until one is not") {
        reader_distance distance;
        unsigned looks = limits::short_looks_max;
        for (unsigned count = 0; count < limits::vain_pauses_max; ++count, looks *= 2) {
            CHECK(looks_before_pause(distance) == looks);
            distance.on_paused(true);
        }
        CHECK(looks_before_pause(distance) == looks);
        distance.on_paused(true);
        CHECK(looks_before_pause(distance) == looks); // No rarer than that.
        distance.on_paused(false);
        CHECK(looks_before_pause(distance) == 0);
    }
}
