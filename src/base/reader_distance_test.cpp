// SPDX-License-Identifier: MPL-2.0
#include "base/reader_distance.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>

using zlink::reader_distance;
using zlink::writer_lead;
namespace tuning = zlink::tuning;

namespace {

thread_local unsigned pause_count;

void count_pause() noexcept {
    ++pause_count;
}

/// A consumer that finds, in each check, as much as `finds` returns for so many pauses.
struct reader {
    reader_distance distance;

    /// @return The number of pauses after one check.
    unsigned look(const std::function<writer_lead(unsigned)>& finds) {
        pause_count = 0;
        distance.keep([&] { return finds(pause_count); }, count_pause);
        return pause_count;
    }

    /// The number of checks without a pause, at most `checks_max`.
    unsigned looks_before_pause(const std::function<writer_lead(unsigned)>& finds,
                                unsigned checks_max = 100'000) {
        unsigned count = 0;
        while (count < checks_max && look(finds) == 0) {
            ++count;
        }
        return count;
    }
};

writer_lead messages(std::uint64_t count) {
    return {66 * count, count, false};
}

writer_lead slowly(unsigned pauses) {
    return messages(1 + pauses * (tuning::brief_pause_messages_min - 1));
}

writer_lead fast(unsigned pauses) {
    return messages(1 + pauses * tuning::brief_pause_messages_min);
}

constexpr writer_lead nothing{0, 0, false};
constexpr writer_lead many{66, 1, true};
constexpr writer_lead large{tuning::short_check_bytes, 1, false};

} // namespace

TEST_SUITE("base") {

    TEST_CASE("reader distance: who finds little again and again pauses, from then on always") {
        reader one;
        CHECK(one.looks_before_pause(fast) == tuning::short_checks_max);
        for (int count = 0; count < 10; ++count) {
            CHECK(one.look(fast) == tuning::brief_pauses_max);
        }
    }

    TEST_CASE("reader distance: pauses end once there is enough") {
        for (const writer_lead& enough : {many, large}) {
            reader one;
            one.looks_before_pause(fast);
            for (int count = 0; count < 10; ++count) {
                CHECK(one.look([&](unsigned pauses) {
                    return pauses < 2
                               ? fast(pauses)
                               : writer_lead{enough.bytes, fast(2).message_count, enough.is_long};
                }) == 2);
            }
        }
    }

    TEST_CASE("reader distance: who finds nothing now and then, or much, does not pause") {
        for (const writer_lead& found : {nothing, many, large}) {
            reader one;
            for (int count = 0; count < 100; ++count) {
                CHECK(one.looks_before_pause(fast, tuning::short_checks_max) ==
                      tuning::short_checks_max);
                CHECK(one.look([&](unsigned) { return found; }) == 0);
            }
        }
    }

    TEST_CASE("reader distance: who reads from several does not pause") {
        reader one;
        for (int count = 0; count < 100; ++count) {
            CHECK(one.looks_before_pause(fast, tuning::short_checks_max) ==
                  tuning::short_checks_max);
            one.distance.lose();
        }
    }

    TEST_CASE(
        "reader distance: pauses in which little comes end, and become rare, until one is not") {
        // The second one writes no more once it has used up its credit.
        const std::function<writer_lead(unsigned)> slow_writers[] = {
            slowly, [](unsigned pauses) { return fast(std::min(pauses, 1U)); }};
        for (const auto& writer : slow_writers) {
            reader one;
            unsigned looks = tuning::short_checks_max;
            for (unsigned count = 0; count < tuning::vain_pauses_max; ++count, looks *= 2) {
                CHECK(one.looks_before_pause(writer) == looks);
            }
            CHECK(one.looks_before_pause(writer) == looks);
            CHECK(one.looks_before_pause(fast) == looks); // Not more rarely than that.
            CHECK(one.looks_before_pause(fast) == 0);
        }
    }
}
