// SPDX-License-Identifier: MPL-2.0
#include "runtime/placement.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <optional>

using namespace std::chrono_literals;
using namespace zlink;
using runtime::placement;

namespace {

constexpr auto shared = tuning::idle_yield_max + 1us;

/// An I/O thread on processor 0 in virtual time, which yields every 20 us.
struct streamer {
    placement placed;
    placement::clock::time_point now{1h};

    /// @return Whether it moved at the last of `times`, and not before.
    bool moves_after(unsigned times, processor_number there = 1,
                     placement::clock::duration taken = shared) {
        for (unsigned time = 1; time < times; ++time) {
            if (yields(there, taken)) {
                return false;
            }
        }
        return yields(there, taken);
    }

    /// @return Whether it moves to where the application waited.
    bool yields(processor_number there, placement::clock::duration taken = shared) {
        placed.on_awaited(there);
        const auto found = gives_way_unawaited(taken);
        CHECK((!found || found == there));
        return found.has_value();
    }

    std::optional<processor_number> gives_way_unawaited(placement::clock::duration taken = shared) {
        now += 20us;
        return placed.after_yield(0, taken, now);
    }

    /// The time until it moves.
    placement::clock::duration time_to_move() {
        const auto begin = now;
        while (!yields(1)) {
            REQUIRE(now - begin < 10s);
        }
        return now - begin;
    }
};

} // namespace

TEST_SUITE("runtime") {

    TEST_CASE("placement: moves to the application where others run, time and again") {
        CHECK(streamer{}.moves_after(tuning::away_yields_min));
    }

    TEST_CASE("placement: stays where the application is") {
        streamer thread;
        CHECK(!thread.moves_after(10000, 0));
        CHECK(thread.moves_after(tuning::away_yields_min));
    }

    TEST_CASE("placement: stays where nobody else has something to do, or others compute") {
        CHECK(!streamer{}.moves_after(10000, 1, tuning::idle_yield_max));
        CHECK(!streamer{}.moves_after(10000, 1, tuning::stream_contention.long_yield_min));
    }

    TEST_CASE("placement: stays where others have something to do only now and then") {
        streamer thread;
        for (int times = 0; times < 1000; ++times) {
            CHECK(!thread.yields(1));
            CHECK(!thread.moves_after(100, 1, tuning::idle_yield_max));
        }
    }

    TEST_CASE("placement: stays where the application does not wait for it") {
        streamer thread;
        CHECK(!thread.moves_after(tuning::away_yields_min - 1));
        for (int times = 0; times < 1000; ++times) {
            CHECK(!thread.gives_way_unawaited());
        }
    }

    TEST_CASE("placement: stays where applications wait on several processors") {
        streamer thread;
        for (int times = 0; times < 10000; ++times) {
            CHECK(!thread.yields(static_cast<processor_number>(1 + times % 2)));
            thread.placed.on_awaited(1);
            CHECK(!thread.yields(2));
        }
    }

    TEST_CASE("placement: counts anew once the application was here") {
        streamer thread;
        for (int times = 0; times < 100; ++times) {
            CHECK(!thread.moves_after(tuning::away_yields_min - 1));
            CHECK(!thread.yields(0));
        }
    }

    TEST_CASE("placement: moves less and less often where it does not stay") {
        streamer thread;
        thread.time_to_move();
        for (auto rest = tuning::move_rest_min; rest < tuning::move_rest_max; rest *= 2) {
            CAPTURE(rest.count());
            const auto taken = thread.time_to_move();
            CHECK(taken >= rest);
            CHECK(taken < rest + 1ms);
        }
        CHECK(thread.time_to_move() >= tuning::move_rest_max);
        CHECK(thread.time_to_move() < tuning::move_rest_max + 1ms);
    }

    TEST_CASE("placement: moves as soon as ever after it has stayed for long") {
        streamer thread;
        for (int times = 0; times < 5; ++times) {
            thread.time_to_move();
        }
        thread.now += 2 * tuning::move_rest_max;
        CHECK(thread.moves_after(tuning::away_yields_min));
        CHECK(thread.time_to_move() < tuning::move_rest_min + 1ms);
    }
}
