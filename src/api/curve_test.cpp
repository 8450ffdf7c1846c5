// SPDX-License-Identifier: MPL-2.0
#include "zlink.h"

#include <doctest/doctest.h>

#include <array>
#include <cerrno>

TEST_SUITE("api") {

    TEST_CASE("curve: is ENOTSUP") {
        std::array<char, 41> public_key{};
        std::array<char, 41> secret_key{};

        errno = 0;
        CHECK(zlink_curve_keypair(public_key.data(), secret_key.data()) == -1);
        CHECK(errno == ENOTSUP);
        errno = 0;
        CHECK(zlink_curve_public(public_key.data(), secret_key.data()) == -1);
        CHECK(errno == ENOTSUP);
    }

} // TEST_SUITE
