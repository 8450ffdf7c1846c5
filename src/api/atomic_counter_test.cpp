// SPDX-License-Identifier: MPL-2.0
#include "zlink.h"

#include <doctest/doctest.h>

TEST_SUITE("api") {

    TEST_CASE("atomic counter: counts from 0, telling the value before each increment") {
        void* counter = zlink_atomic_counter_new();
        REQUIRE(counter != nullptr);

        CHECK(zlink_atomic_counter_value(counter) == 0);
        CHECK(zlink_atomic_counter_inc(counter) == 0);
        CHECK(zlink_atomic_counter_inc(counter) == 1);
        CHECK(zlink_atomic_counter_value(counter) == 2);

        zlink_atomic_counter_destroy(&counter);
    }

    TEST_CASE("atomic counter: tells whether a decrement left more than 0") {
        void* counter = zlink_atomic_counter_new();
        zlink_atomic_counter_set(counter, 2);

        CHECK(zlink_atomic_counter_dec(counter) == 1);
        CHECK(zlink_atomic_counter_dec(counter) == 0);
        CHECK(zlink_atomic_counter_value(counter) == 0);

        zlink_atomic_counter_destroy(&counter);
    }

    TEST_CASE("atomic counter: forgets the handle when it is destroyed") {
        void* counter = zlink_atomic_counter_new();

        zlink_atomic_counter_destroy(&counter);

        CHECK(counter == nullptr);
    }

} // TEST_SUITE
