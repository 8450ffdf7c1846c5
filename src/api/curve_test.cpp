// SPDX-License-Identifier: MPL-2.0
#include "zlink.h"

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

TEST_SUITE("api") {

    TEST_CASE("curve: there is CURVE") {
        CHECK(zlink_has("curve") == 1);
    }

    TEST_CASE("curve: makes pairs of keys, and the public one out of the secret one") {
        std::array<char, 41> public_key{};
        std::array<char, 41> secret_key{};
        std::array<char, 41> derived{};
        REQUIRE(zlink_curve_keypair(public_key.data(), secret_key.data()) == 0);
        CHECK(std::strlen(public_key.data()) == 40);
        CHECK(std::strlen(secret_key.data()) == 40);
        CHECK(zlink_curve_public(derived.data(), secret_key.data()) == 0);
        CHECK(derived == public_key);

        std::array<char, 41> other{};
        REQUIRE(zlink_curve_keypair(other.data(), secret_key.data()) == 0);
        CHECK(other != public_key);
    }

    TEST_CASE("curve: derives the specification's example") {
        std::array<char, 41> derived{};
        CHECK(zlink_curve_public(derived.data(), "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs") == 0);
        CHECK(std::string(derived.data()) == "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID");
    }

    TEST_CASE("curve: refuses what is no secret key") {
        std::array<char, 41> derived{};
        for (const std::string& wrong : {std::string{}, std::string("short"), std::string(40, '~'),
                                         std::string(41, '0'), std::string(45, '0')}) {
            errno = 0;
            CHECK(zlink_curve_public(derived.data(), wrong.c_str()) == -1);
            CHECK(errno == EINVAL);
        }
    }

} // TEST_SUITE
