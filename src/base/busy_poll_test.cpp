// SPDX-License-Identifier: MPL-2.0
#include "base/busy_poll.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using zlink::busy_poll;

namespace {

bool always() noexcept {
    return true;
}

void wait(busy_poll& how, std::chrono::microseconds length, bool was_conversation = true) {
    const auto begun = busy_poll::clock::now();
    how.begin(
        begun, [] { return false; }, always);
    while (busy_poll::clock::now() - begun < length) {
    }
    how.end(was_conversation);
}

int looks(busy_poll& how, busy_poll::clock::time_point wait_end,
          bool (*gives_way)() noexcept = always) {
    int count = 0;
    how.begin(
        wait_end, [&] { return ++count == 100; }, gives_way);
    return count;
}

const auto never = busy_poll::clock::time_point::max();

} // namespace

TEST_SUITE("base") {

    TEST_CASE("busy poll: looks until something is found, if the last wait was short") {
        busy_poll how{1h};
        CHECK(looks(how, never) == 0); // There was none.
        wait(how, 0us);
        CHECK(looks(how, never) == 100);
        CHECK(looks(how, never) == 100); // That it was found was short, too.
    }

    TEST_CASE("busy poll: does not look after a long wait, nor after one that brought a stream") {
        busy_poll how{1000us};
        wait(how, 2000us);
        CHECK(looks(how, never) == 0);
        busy_poll other{1h};
        wait(other, 0us, false);
        CHECK(looks(other, never) == 0);
    }

    TEST_CASE("busy poll: looks no longer than its owner waits, nor than it was told") {
        busy_poll how{1h};
        wait(how, 0us);
        CHECK(looks(how, busy_poll::clock::now()) == 1);
        busy_poll brief{1us};
        wait(brief, 2us);
        CHECK(looks(brief, never) == 0);
        busy_poll off{0us};
        wait(off, 0us);
        CHECK(looks(off, never) == 0);
    }

    TEST_CASE("busy poll: ends when giving way is not worth it") {
        busy_poll how{1h};
        wait(how, 0us);
        CHECK(looks(how, never, []() noexcept { return false; }) == 1);
    }

} // TEST_SUITE
