// SPDX-License-Identifier: MPL-2.0
#include "base/reader_distance.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>

using zlink::reader_distance;
using zlink::writer_lead;
namespace limits = zlink::limits;

namespace {

thread_local unsigned pause_count;

void count_pause() noexcept {
    ++pause_count;
}

/// A reader that finds, in each look, as much as `finds` says after so many pauses.
struct reader {
    reader_distance distance;

    /// @return The pauses after one look.
    unsigned look(const std::function<writer_lead(unsigned)>& finds) {
        pause_count = 0;
        distance.keep([&] { return finds(pause_count); }, count_pause);
        return pause_count;
    }

    /// How many looks go by without a pause, at most `looks_max` of them.
    unsigned looks_before_pause(const std::function<writer_lead(unsigned)>& finds,
                                unsigned looks_max = 100'000) {
        unsigned count = 0;
        while (count < looks_max && look(finds) == 0) {
            ++count;
        }
        return count;
    }
};

writer_lead same(unsigned /*pauses*/) {
    return {66, false};
}

writer_lead growing(unsigned pauses) {
    return {66 * std::uint64_t{1 + pauses}, false};
}

} // namespace

TEST_SUITE("base") {

    TEST_CASE("reader distance: who finds little again and again pauses, from then on always") {
        reader one;
        CHECK(one.looks_before_pause(growing) == limits::short_looks_max);
        for (int count = 0; count < 10; ++count) {
            CHECK(one.look(growing) == limits::brief_pauses_max);
        }
    }

    TEST_CASE("reader distance: pauses end once nothing more comes, or enough") {
        reader one;
        one.looks_before_pause(growing);
        CHECK(one.look([](unsigned pauses) { return growing(pauses < 2 ? pauses : 2); }) == 3);
        CHECK(one.look([](unsigned pauses) {
            return pauses == 0 ? same(0) : writer_lead{limits::short_look_bytes, false};
        }) == 1);
        CHECK(one.look([](unsigned pauses) {
            return writer_lead{66 * std::uint64_t{1 + pauses}, pauses == 2};
        }) == 2);
    }

    TEST_CASE("reader distance: who finds nothing now and then, or much, does not pause") {
        for (const writer_lead found : {writer_lead{0, false}, writer_lead{66, true},
                                        writer_lead{limits::short_look_bytes, false}}) {
            reader one;
            for (int count = 0; count < 100; ++count) {
                CHECK(one.looks_before_pause(growing, limits::short_looks_max) ==
                      limits::short_looks_max);
                CHECK(one.look([&](unsigned) { return found; }) == 0);
            }
        }
    }

    TEST_CASE("reader distance: who reads from several does not pause") {
        reader one;
        for (int count = 0; count < 100; ++count) {
            CHECK(one.looks_before_pause(growing, limits::short_looks_max) ==
                  limits::short_looks_max);
            one.distance.lose();
        }
    }

    TEST_CASE("reader distance: pauses in vain become rare, until one is not") {
        reader one;
        unsigned looks = limits::short_looks_max;
        for (unsigned count = 0; count < limits::vain_pauses_max; ++count, looks *= 2) {
            CHECK(one.looks_before_pause(same) == looks);
        }
        CHECK(one.looks_before_pause(same) == looks);
        CHECK(one.looks_before_pause(growing) == looks); // No rarer than that.
        CHECK(one.looks_before_pause(growing) == 0);
    }
}
