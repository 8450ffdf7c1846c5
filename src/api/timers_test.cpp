// SPDX-License-Identifier: MPL-2.0
#include "zlink.h"

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <cstdint>

namespace {

void count(int /*timer_id*/, void* argument) {
    ++*static_cast<int*>(argument);
}

} // namespace

TEST_SUITE("api") {

    TEST_CASE("timers: tell -1 for no timer, and 0 for one that is due") {
        void* timers = zlink_timers_new();
        REQUIRE(timers != nullptr);
        int runs = 0;

        CHECK(zlink_timers_timeout(timers) == -1);
        CHECK(zlink_timers_execute(timers) == 0);
        CHECK(zlink_timers_add(timers, 0, count, &runs) == 1);
        CHECK(zlink_timers_timeout(timers) == 0);
        CHECK(zlink_timers_execute(timers) == 0);
        CHECK(runs == 1);

        CHECK(zlink_timers_destroy(&timers) == 0);
        CHECK(timers == nullptr);
    }

    TEST_CASE("timers: count from the steady clock") {
        void* timers = zlink_timers_new();
        int runs = 0;
        const int timer = zlink_timers_add(timers, 3'600'000, count, &runs);

        const long timeout = zlink_timers_timeout(timers);
        CHECK(timeout > 3'500'000);
        CHECK(timeout <= 3'600'000);
        CHECK(zlink_timers_execute(timers) == 0);
        CHECK(runs == 0);
        CHECK(zlink_timers_set_interval(timers, timer, 0) == 0);
        CHECK(zlink_timers_execute(timers) == 0);
        CHECK(runs == 1);

        zlink_timers_destroy(&timers);
    }

    TEST_CASE("timers: take every interval") {
        void* timers = zlink_timers_new();
        int runs = 0;

        CHECK(zlink_timers_add(timers, SIZE_MAX, count, &runs) > 0);
        CHECK(zlink_timers_timeout(timers) > 0);
        CHECK(zlink_timers_execute(timers) == 0);
        CHECK(runs == 0);

        zlink_timers_destroy(&timers);
    }

    TEST_CASE("timers: are EINVAL for an unknown id") {
        void* timers = zlink_timers_new();

        errno = 0;
        CHECK(zlink_timers_cancel(timers, 1) == -1);
        CHECK(errno == EINVAL);
        errno = 0;
        CHECK(zlink_timers_reset(timers, 1) == -1);
        CHECK(errno == EINVAL);
        errno = 0;
        CHECK(zlink_timers_set_interval(timers, 1, 10) == -1);
        CHECK(errno == EINVAL);

        zlink_timers_destroy(&timers);
    }

    TEST_CASE("timers: are EFAULT for a handle that is no set of timers") {
        alignas(64) std::array<std::uint64_t, 64> something_else{};
        for (void* handle : {static_cast<void*>(nullptr), static_cast<void*>(&something_else)}) {
            errno = 0;
            CHECK(zlink_timers_add(handle, 10, count, nullptr) == -1);
            CHECK(errno == EFAULT);
            errno = 0;
            CHECK(zlink_timers_cancel(handle, 1) == -1);
            CHECK(errno == EFAULT);
            errno = 0;
            CHECK(zlink_timers_set_interval(handle, 1, 10) == -1);
            CHECK(errno == EFAULT);
            errno = 0;
            CHECK(zlink_timers_reset(handle, 1) == -1);
            CHECK(errno == EFAULT);
            errno = 0;
            CHECK(zlink_timers_timeout(handle) == -1);
            CHECK(errno == EFAULT);
            errno = 0;
            CHECK(zlink_timers_execute(handle) == -1);
            CHECK(errno == EFAULT);
            errno = 0;
            CHECK(zlink_timers_destroy(&handle) == -1);
            CHECK(errno == EFAULT);
        }
        errno = 0;
        CHECK(zlink_timers_destroy(nullptr) == -1);
        CHECK(errno == EFAULT);
    }

    TEST_CASE("timers: are EFAULT without a handler") {
        void* timers = zlink_timers_new();

        errno = 0;
        CHECK(zlink_timers_add(timers, 10, nullptr, nullptr) == -1);
        CHECK(errno == EFAULT);

        zlink_timers_destroy(&timers);
    }

} // TEST_SUITE
