// SPDX-License-Identifier: MPL-2.0
#include "crypto/poly1305.hpp"

#include "base/raw.hpp"
#include "testing/bytes.hpp"
#include "testing/queue_contents.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <sodium.h>
#include <string>

// The reference is libsodium's.

using namespace zlink::crypto;
using zlink::testing::bytes_of;
using zlink::testing::pattern;

TEST_SUITE("crypto") {

    TEST_CASE("poly1305: either library makes the tag that RFC 8439 has as an example") {
        // 2.5.2.
        constexpr std::array<std::uint8_t, poly1305::key_bytes> key{
            0x85, 0xd6, 0xbe, 0x78, 0x57, 0x55, 0x6d, 0x33, 0x7f, 0x44, 0x52,
            0xfe, 0x42, 0xd5, 0x06, 0xa8, 0x01, 0x03, 0x80, 0x8a, 0xfb, 0x0d,
            0xb2, 0xfd, 0x4a, 0xbf, 0xf6, 0xaf, 0x41, 0x49, 0xf5, 0x1b};
        constexpr std::array<std::uint8_t, poly1305::tag_bytes> expected{
            0xa8, 0x06, 0x1d, 0xc1, 0x30, 0x51, 0x36, 0xc6,
            0xc2, 0x2b, 0x8b, 0xaf, 0x0c, 0x01, 0x27, 0xa9};
        const std::string content = "Cryptographic Forum Research Group";
        for (const auto by : {poly1305::library::sodium, poly1305::library::openssl}) {
            CAPTURE(static_cast<int>(by));
            std::array<std::byte, poly1305::tag_bytes> tag{};
            REQUIRE(poly1305::make_tag_by(by, std::as_bytes(std::span{key}), bytes_of(content), {},
                                          tag));
            CHECK(std::equal(expected.begin(), expected.end(), zlink::raw(tag.data())));
        }
    }

    TEST_CASE("poly1305: either library makes the same tags of every size, wherever it is cut") {
        std::array<std::byte, poly1305::key_bytes> key;
        for (std::size_t bytes = 0; bytes < 1100; bytes += bytes < 300 ? 1 : 7) {
            CAPTURE(bytes);
            key.fill(static_cast<std::byte>(bytes * 7 + 5));
            const std::string content = pattern(bytes);
            const std::span<const std::byte> data = bytes_of(content);
            std::array<std::uint8_t, poly1305::tag_bytes> expected;
            crypto_onetimeauth_poly1305(expected.data(), zlink::raw(data.data()), bytes,
                                        zlink::raw(key.data()));
            for (const std::size_t split :
                 {std::size_t{0}, std::min<std::size_t>(bytes, 1), bytes / 2, bytes}) {
                for (const auto by : {poly1305::library::sodium, poly1305::library::openssl}) {
                    CAPTURE(split);
                    CAPTURE(static_cast<int>(by));
                    std::array<std::byte, poly1305::tag_bytes> tag{};
                    REQUIRE(poly1305::make_tag_by(by, key, data.first(split), data.subspan(split),
                                                  tag));
                    CHECK(sodium_memcmp(expected.data(), tag.data(), tag.size()) == 0);
                }
            }
        }
    }

    TEST_CASE("poly1305: makes libsodium's tags of every size, in one part and in two") {
        std::array<std::byte, poly1305::key_bytes> key;
        for (const std::size_t bytes :
             {0U, 1U, 15U, 16U, 17U, 511U, 512U, 513U, 4096U, 65'537U, 1'000'003U}) {
            CAPTURE(bytes);
            key.fill(static_cast<std::byte>(bytes * 7 + 5));
            const std::string content = pattern(bytes);
            const std::span<const std::byte> data = bytes_of(content);
            std::array<std::uint8_t, poly1305::tag_bytes> expected;
            crypto_onetimeauth_poly1305(expected.data(), zlink::raw(data.data()), bytes,
                                        zlink::raw(key.data()));
            for (const std::size_t split : {std::size_t{0}, bytes / 3, bytes}) {
                CAPTURE(split);
                const auto first = data.first(split);
                const auto rest = data.subspan(split);
                std::array<std::byte, poly1305::tag_bytes> tag;
                poly1305::make_tag(key, first, rest, tag);
                CHECK(sodium_memcmp(expected.data(), tag.data(), tag.size()) == 0);
                CHECK(poly1305::verify(key, first, rest, tag));
                tag.back() ^= std::byte{0x80};
                CHECK_FALSE(poly1305::verify(key, first, rest, tag));
            }
        }
    }

} // TEST_SUITE
