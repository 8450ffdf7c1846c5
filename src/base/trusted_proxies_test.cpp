// SPDX-License-Identifier: MPL-2.0
#include "base/trusted_proxies.hpp"

#include <array>
#include <doctest/doctest.h>

using namespace zlink;

namespace {

constexpr std::array<std::byte, 4> inside{std::byte{10}, std::byte{1}, std::byte{2}, std::byte{3}};
constexpr std::array<std::byte, 4> outside{std::byte{11}, std::byte{1}, std::byte{2}, std::byte{3}};

trusted_proxies decoded(std::string_view list) {
    std::string_view refused;
    const result<trusted_proxies> made = decode_trusted_proxies(list, refused);
    REQUIRE(made);
    return *made;
}

} // namespace

TEST_CASE("trusted proxies: are addresses, prefixes and those over ipc") {
    const trusted_proxies all = decoded("10.0.0.0/8, 2001:db8::/32 ,192.0.2.1,unix");

    CHECK(all.networks.size() == 3);
    CHECK(all.contains(inside));
    CHECK_FALSE(all.contains(outside));
    CHECK(all.contains({}));
}

TEST_CASE("trusted proxies: contain no peers over ipc without unix") {
    CHECK_FALSE(decoded("0.0.0.0/0,::/0").contains({}));
    CHECK(decoded("unix").networks.empty());
}

TEST_CASE("trusted proxies: an IPv4 address in IPv6 form is the IPv4 address") {
    std::array<std::byte, 16> mapped{};
    mapped[10] = mapped[11] = std::byte{0xff};
    std::copy(inside.begin(), inside.end(), mapped.begin() + 12);

    CHECK(decoded("10.0.0.0/8").contains(mapped));
}

TEST_CASE("trusted proxies: an empty list contains none") {
    CHECK(decoded("").is_empty());
}

TEST_CASE("trusted proxies: the part of a list that is wrong is told") {
    for (const auto& [list, wrong] :
         {std::pair{"10.0.0.0/8,proxy.example.org", "proxy.example.org"},
          {"10.0.0.0/33", "10.0.0.0/33"},
          {"10.0.0", "10.0.0"},
          {"::1/129", "::1/129"},
          {"Unix", "Unix"},
          {"10.0.0.1:80", "10.0.0.1:80"},
          {"unix,,10.0.0.1", ""},
          {",unix", ""},
          {"unix,", ""},
          {"10.0.0.1,", ""},
          {" ", ""}}) {
        CAPTURE(list);
        std::string_view refused = "none";
        CHECK_FALSE(decode_trusted_proxies(list, refused));
        CHECK(refused == wrong);
    }
}
