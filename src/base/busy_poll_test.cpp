// SPDX-License-Identifier: MPL-2.0
#include "base/busy_poll.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
namespace tuning = zlink::tuning;

namespace {

/// Stands still unless a test waits.
struct test_clock {
    using duration = std::chrono::microseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<test_clock>;
    static constexpr bool is_steady = true;

    static time_point now() noexcept { return present; }
    static inline time_point present{};
};

using busy_poll = zlink::basic_busy_poll<test_clock>;

bool always() noexcept {
    return true;
}

/// Waits in vain, first spinning if that is worth it.
void wait(busy_poll& how, std::chrono::microseconds length, bool was_conversation = true) {
    how.begin(
        test_clock::now(), [] { return false; }, always);
    test_clock::present += length;
    how.end(was_conversation);
}

/// @return The number of checks; 100 if `wait_end` is far.
unsigned checks(busy_poll& how, busy_poll::clock::time_point wait_end,
                bool (*yields)() noexcept = always) {
    unsigned count = 0;
    how.begin(
        wait_end, [&] { return ++count == 100; }, yields);
    return count;
}

/// Spins for as long as that is worth it, and finds nothing.
/// @return The number of checks.
unsigned spin_in_vain(busy_poll& how) {
    unsigned count = 0;
    how.begin(
        busy_poll::clock::time_point::max(),
        [&] {
            ++count;
            test_clock::present += 10us;
            return false;
        },
        always);
    return count;
}

/// The wait that follows unsuccessful spinning.
void wait_parked(busy_poll& how, std::chrono::microseconds length) {
    test_clock::present += length;
    how.end();
}

const auto never = busy_poll::clock::time_point::max();

} // namespace

TEST_SUITE("base") {

    TEST_CASE("busy poll: spins until something is found, if the last wait was short") {
        busy_poll how{50us};
        CHECK(checks(how, never) == 0); // There was none.
        wait(how, 49us);
        CHECK(checks(how, never) == 100);
        CHECK(checks(how, never) == 100); // The successful wait was short, too.
    }

    TEST_CASE("busy poll: does not spin after a long wait, nor after one that brought a stream") {
        busy_poll how{50us};
        wait(how, tuning::short_wait_factor * 50us);
        CHECK(checks(how, never) == 0);
        wait(how, 0us, false);
        CHECK(checks(how, never) == 0);
        wait(how, 50us, false);
        CHECK(checks(how, never) == 0);
    }

    TEST_CASE("busy poll: spins no longer than its owner waits, nor than its limit") {
        busy_poll how{50us};
        wait(how, 0us);
        CHECK(checks(how, test_clock::now()) == 1);
        int count = 0;
        how.begin(
            never,
            [&] {
                ++count;
                test_clock::present += 10us;
                return false;
            },
            always);
        CHECK(count == 5);
        busy_poll off{0us};
        wait(off, 0us);
        CHECK(checks(off, never) == 0);
    }

    TEST_CASE("busy poll: ends when a yield is refused") {
        busy_poll how{50us};
        wait(how, 0us);
        CHECK(checks(how, never, []() noexcept { return false; }) == 1);
    }

    TEST_CASE("busy poll: spins in vain a few times only, then ever more rarely") {
        busy_poll how{50us};
        wait(how, 199us);
        unsigned rest = tuning::rest_waits_min;
        for (int round = 0; round < 3; ++round, rest *= 2) {
            for (unsigned count = 0; count < tuning::judged_spins; ++count) {
                CHECK(spin_in_vain(how) != 0);
                wait_parked(how, 140us);
            }
            for (unsigned count = 0; count < rest; ++count) {
                CHECK(checks(how, never) == 0);
                wait_parked(how, 140us);
            }
        }
    }

    TEST_CASE("busy poll: keeps spinning while most spins succeed") {
        busy_poll how{50us};
        wait(how, 0us);
        for (unsigned count = 0; count < 10 * tuning::judged_spins; ++count) {
            const bool is_hit = count % tuning::judged_spins < tuning::judged_hits_min;
            CHECK((is_hit ? checks(how, never) : spin_in_vain(how)) != 0);
            if (!is_hit) {
                wait_parked(how, 140us);
            }
        }
    }

    TEST_CASE(
        "busy poll: spins that end at the wait limit, or when a yield is refused, are not judged") {
        busy_poll how{50us};
        wait(how, 0us);
        for (unsigned count = 0; count < 2 * tuning::judged_spins; ++count) {
            CHECK(checks(how, test_clock::now()) == 1);
            CHECK(checks(how, never, []() noexcept { return false; }) == 1);
        }
    }

    TEST_CASE("busy poll: after a rest it tries again whether waits are short") {
        busy_poll how{50us};
        wait(how, tuning::short_wait_factor * 50us);
        CHECK(checks(how, never) == 0);
        wait(how, 100us);
        CHECK(checks(how, never) == 100);
    }

} // TEST_SUITE
