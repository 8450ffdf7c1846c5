// SPDX-License-Identifier: MPL-2.0
#include "base/busy_poll.hpp"

#include "base/limits.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
namespace limits = zlink::limits;

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
unsigned looks(busy_poll& how, busy_poll::clock::time_point wait_end,
               bool (*gives_way)() noexcept = always) {
    unsigned count = 0;
    how.begin(
        wait_end, [&] { return ++count == 100; }, gives_way);
    return count;
}

/// Spins for as long as that is worth it, and finds nothing.
/// @return The number of checks.
unsigned look_in_vain(busy_poll& how) {
    unsigned count = 0;
    how.begin(
        busy_poll::clock::time_point::max(),
        [&] {
            ++count;
            test_clock::present += 10us;
            return false;
        },
        always, [] noexcept { return false; });
    return count;
}

/// The wait that follows unsuccessful spinning.
void wait_asleep(busy_poll& how, std::chrono::microseconds length) {
    test_clock::present += length;
    how.end();
}

const auto never = busy_poll::clock::time_point::max();

} // namespace

TEST_SUITE("base") {

    TEST_CASE("busy poll: parks at once where other threads need the processor") {
        busy_poll how{50us};
        wait(how, 49us);
        unsigned looks_taken = 0;
        const auto look = [&] { return ++looks_taken == 100; };
        CHECK(!how.begin(never, look, always, always));
        CHECK(looks_taken == 1);
        CHECK(how.begin(never, look, always, [] noexcept { return false; }));
    }

    TEST_CASE("busy poll: looks until something is found, if the last wait was short") {
        busy_poll how{50us};
        CHECK(looks(how, never) == 0); // There was none.
        wait(how, 49us);
        CHECK(looks(how, never) == 100);
        CHECK(looks(how, never) == 100); // The successful wait was short, too.
    }

    TEST_CASE("busy poll: does not look after a long wait, nor after one that brought a stream") {
        busy_poll how{50us};
        wait(how, limits::short_wait_factor * 50us);
        CHECK(looks(how, never) == 0);
        wait(how, 0us, false);
        CHECK(looks(how, never) == 0);
        wait(how, 50us, false);
        CHECK(looks(how, never) == 0);
    }

    TEST_CASE("busy poll: looks no longer than its owner waits, nor than it was told") {
        busy_poll how{50us};
        wait(how, 0us);
        CHECK(looks(how, test_clock::now()) == 1);
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
        CHECK(looks(off, never) == 0);
    }

    TEST_CASE("busy poll: ends when giving way is not worth it") {
        busy_poll how{50us};
        wait(how, 0us);
        CHECK(looks(how, never, []() noexcept { return false; }) == 1);
    }

    TEST_CASE("busy poll: looks in vain a few times only, then ever more seldom") {
        busy_poll how{50us};
        wait(how, 199us);
        unsigned rest = limits::rest_waits_min;
        for (int round = 0; round < 3; ++round, rest *= 2) {
            for (unsigned count = 0; count < limits::judged_looks; ++count) {
                CHECK(look_in_vain(how) != 0);
                wait_asleep(how, 140us);
            }
            for (unsigned count = 0; count < rest; ++count) {
                CHECK(looks(how, never) == 0);
                wait_asleep(how, 140us);
            }
        }
    }

    TEST_CASE("busy poll: goes on looking while most of it is not in vain") {
        busy_poll how{50us};
        wait(how, 0us);
        for (unsigned count = 0; count < 10 * limits::judged_looks; ++count) {
            const bool is_hit = count % limits::judged_looks < limits::judged_hits_min;
            CHECK((is_hit ? looks(how, never) : look_in_vain(how)) != 0);
            if (!is_hit) {
                wait_asleep(how, 140us);
            }
        }
    }

    TEST_CASE(
        "busy poll: waits that end when its owner said, or give way to others, are no proof") {
        busy_poll how{50us};
        wait(how, 0us);
        for (unsigned count = 0; count < 2 * limits::judged_looks; ++count) {
            CHECK(looks(how, test_clock::now()) == 1);
            CHECK(looks(how, never, []() noexcept { return false; }) == 1);
        }
    }

    TEST_CASE("busy poll: after a pause a conversation is looked for again") {
        busy_poll how{50us};
        wait(how, limits::short_wait_factor * 50us);
        CHECK(looks(how, never) == 0);
        wait(how, 100us);
        CHECK(looks(how, never) == 100);
    }

} // TEST_SUITE
