// SPDX-License-Identifier: MPL-2.0
#include "base/yield.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace std::chrono_literals;
using zlink::contention;
namespace tuning = zlink::tuning;

namespace {

/// A thread in virtual time.
struct yielder {
    explicit yielder(const contention::rules& chosen = tuning::stream_contention) : known(chosen) {}

    contention known;
    contention::clock::time_point now{1h};

    void gives_way_for(contention::clock::duration length) {
        const auto begin = now;
        now += length;
        known.on_yielded(begin, now);
    }

    /// How long it does not yield.
    contention::clock::duration rest() {
        const auto begin = now;
        while (known.is_high(now)) {
            now += 100us;
        }
        return now - begin;
    }
};

constexpr auto short_wait = tuning::stream_contention.long_yield_min - 1us;
constexpr auto long_wait = tuning::stream_contention.long_yield_min;

} // namespace

TEST_SUITE("base") {

    TEST_CASE("contention: is not felt where each wait is short") {
        yielder thread;
        for (int times = 0; times < 1000; ++times) {
            thread.gives_way_for(short_wait);
            CHECK(!thread.known.is_high(thread.now));
        }
    }

    TEST_CASE("contention: is not felt where a long wait comes now and then") {
        yielder thread;
        for (int times = 0; times < 1000; ++times) {
            thread.gives_way_for(long_wait);
            CHECK(!thread.known.is_high(thread.now));
            thread.now += tuning::stream_contention.long_yield_min; // It worked.
        }
    }

    TEST_CASE("contention: is felt after two long waits, and longer and longer while they go on") {
        yielder thread;
        thread.gives_way_for(long_wait);
        contention::clock::duration expected = tuning::stream_contention.long_rest_min;
        for (int times = 0; times < 10; ++times) {
            thread.gives_way_for(long_wait);
            CHECK(thread.rest() == expected);
            expected = std::min(2 * expected, tuning::stream_contention.long_rest_max);
        }
        CHECK(expected == tuning::stream_contention.long_rest_max);
    }

    TEST_CASE("contention: is over when no long wait follows soon") {
        yielder thread;
        for (int times = 0; times < 5; ++times) {
            thread.gives_way_for(long_wait);
            thread.rest();
        }
        thread.now += tuning::stream_contention.long_yield_min;
        thread.gives_way_for(long_wait);
        CHECK(!thread.known.is_high(thread.now));
        thread.gives_way_for(long_wait);
        CHECK(thread.rest() == tuning::stream_contention.long_rest_min);
    }

    TEST_CASE("contention: in a conversation one long wait suffices") {
        const contention::rules rules = tuning::conversation_contention;
        yielder thread{rules};
        thread.gives_way_for(rules.long_yield_min - 1us);
        CHECK(!thread.known.is_high(thread.now));

        thread.gives_way_for(rules.long_yield_min);
        CHECK(thread.rest() == rules.rest);

        contention::clock::duration expected = rules.long_rest_min;
        for (int times = 0; times < 10; ++times) {
            thread.now += rules.again_max - 1ms; // Short waits; then a long one.
            thread.gives_way_for(rules.long_yield_min);
            CHECK(thread.rest() == expected);
            expected = std::min(2 * expected, rules.long_rest_max);
        }
        CHECK(expected == rules.long_rest_max);

        thread.now += rules.again_max;
        thread.gives_way_for(rules.long_yield_min);
        CHECK(thread.rest() == rules.rest);
    }

} // TEST_SUITE
