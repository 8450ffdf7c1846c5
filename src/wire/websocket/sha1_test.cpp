// SPDX-License-Identifier: MPL-2.0
#include "wire/websocket/sha1.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <openssl/evp.h>
#include <string>

using zlink::wire::websocket::sha1;
using zlink::wire::websocket::sha1_bytes;

namespace {

std::string hexadecimal(const std::array<std::uint8_t, sha1_bytes>& data) {
    constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t each : data) {
        text.push_back(digits[each >> 4]);
        text.push_back(digits[each & 15]);
    }
    return text;
}

} // namespace

TEST_CASE("sha1: the examples of FIPS 180") {
    CHECK(hexadecimal(sha1("abc")) == "a9993e364706816aba3e25717850c26c9cd0d89d");
    CHECK(hexadecimal(sha1("")) == "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    CHECK(hexadecimal(sha1("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
          "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    CHECK(hexadecimal(sha1(std::string(1000000, 'a'))) ==
          "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST_CASE("sha1: as OpenSSL's for every length around a block") {
    std::string text;
    for (std::size_t bytes = 0; bytes < 200; ++bytes) {
        CAPTURE(bytes);
        std::array<std::uint8_t, sha1_bytes> expected;
        REQUIRE(EVP_Digest(text.data(), text.size(), expected.data(), nullptr, EVP_sha1(),
                           nullptr) == 1);
        CHECK(sha1(text) == expected);
        text.push_back(static_cast<char>(bytes * 7));
    }
}
