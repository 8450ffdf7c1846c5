// SPDX-License-Identifier: MPL-2.0
#include "base/network.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace zlink;

namespace {

std::vector<std::byte> address(const char* text) {
    std::vector<std::byte> data(16);
    if (inet_pton(AF_INET, text, data.data()) == 1) {
        data.resize(4);
    } else {
        REQUIRE(inet_pton(AF_INET6, text, data.data()) == 1);
    }
    return data;
}

bool contains(const char* range, const char* asked) {
    const result<network> decoded = decode_network(range, true);
    REQUIRE(static_cast<bool>(decoded));
    return decoded->contains(address(asked));
}

} // namespace

TEST_SUITE("network") {

    TEST_CASE("network: contains the addresses that begin with its bits") {
        CHECK(contains("192.0.2.0/24", "192.0.2.255"));
        CHECK(!contains("192.0.2.0/24", "192.0.3.0"));
        CHECK(contains("10.128.0.0/9", "10.255.0.1"));
        CHECK(!contains("10.128.0.0/9", "10.127.0.1"));
        CHECK(contains("192.0.2.1", "192.0.2.1"));
        CHECK(!contains("192.0.2.1", "192.0.2.0"));
        CHECK(contains("192.0.2.1/31", "192.0.2.0"));
        CHECK(contains("0.0.0.0/0", "203.0.113.9"));
        CHECK(contains("2001:db8::/33", "2001:db8:7fff::1"));
        CHECK(!contains("2001:db8::/33", "2001:db8:8000::1"));
        CHECK(contains("::/0", "::1"));
        CHECK(contains("::1", "::1"));
    }

    TEST_CASE("network: tells IPv4 from IPv6, but for IPv4 spelled as IPv6") {
        CHECK(contains("192.0.2.0/24", "::ffff:192.0.2.7"));
        CHECK(!contains("192.0.2.0/24", "::fffe:192.0.2.7"));
        CHECK(!contains("::/0", "192.0.2.7"));
        CHECK(!contains("0.0.0.0/0", "::1"));
    }

    TEST_CASE("network: refuses what is none") {
        for (const char* const bad :
             {"", "/", "/8", "localhost", "192.0.2", "192.0.2.0/", "192.0.2.0/33", "192.0.2.0/-1",
              "192.0.2.0/8x", "192.0.2.0/256", "192.0.2.0/8/8", "::/129", "[::1]", "::1%lo"}) {
            CAPTURE(bad);
            CHECK(!decode_network(bad, true));
        }
        CHECK(!decode_network("::1", false));
        CHECK(static_cast<bool>(decode_network("::1", true)));
    }
}
