// SPDX-License-Identifier: MPL-2.0
//
// Functions that tell a program which library, and which release of it, it runs on.
#include "zlink.h"

#include <doctest/doctest.h>

#include <array>

TEST_SUITE("api") {

    TEST_CASE("library version: is the one that the header states") {
        std::array<int, 3> found{-1, -1, -1};

        zlink_library_version(&found[0], &found[1], &found[2]);

        CHECK(found[0] == ZLINK_LIBRARY_VERSION_MAJOR);
        CHECK(found[1] == ZLINK_LIBRARY_VERSION_MINOR);
        CHECK(found[2] == ZLINK_LIBRARY_VERSION_PATCH);
        CHECK(ZLINK_MAKE_VERSION(found[0], found[1], found[2]) == ZLINK_LIBRARY_VERSION);
    }

    TEST_CASE("library version: leaves the version of the API at that of libzmq") {
        std::array<int, 3> found{};

        zlink_version(&found[0], &found[1], &found[2]);

        CHECK(found == std::array<int, 3>{4, 3, 5});
    }

    TEST_CASE("library version: a program can tell zlink from libzmq") {
        CHECK(zlink_has("zlink") == 1);
        CHECK(zlink_has("ZLINK") == 0);
        CHECK(zlink_has("libzmq") == 0);
    }

} // TEST_SUITE
