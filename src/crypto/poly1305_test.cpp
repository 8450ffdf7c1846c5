// SPDX-License-Identifier: MPL-2.0
#include "crypto/poly1305.hpp"

#include "base/raw.hpp"
#include "testing/octets.hpp"
#include "testing/queue_contents.hpp"

#include <doctest/doctest.h>

#include <array>
#include <sodium.h>
#include <string>

// libsodium's is the yardstick.

using namespace zlink::crypto;
using zlink::testing::octets_of;
using zlink::testing::pattern;

TEST_SUITE("crypto") {

    TEST_CASE("poly1305: makes libsodium's tags of every size, in one part and in two") {
        std::array<std::byte, poly1305::key_bytes> key;
        for (const std::size_t bytes :
             {0U, 1U, 15U, 16U, 17U, 511U, 512U, 513U, 4096U, 65'537U, 1'000'003U}) {
            CAPTURE(bytes);
            key.fill(static_cast<std::byte>(bytes * 7 + 5));
            const std::string content = pattern(bytes);
            const std::span<const std::byte> octets = octets_of(content);
            std::array<std::uint8_t, poly1305::tag_bytes> expected;
            crypto_onetimeauth_poly1305(expected.data(), zlink::raw(octets.data()), bytes,
                                        zlink::raw(key.data()));
            for (const std::size_t split : {std::size_t{0}, bytes / 3, bytes}) {
                CAPTURE(split);
                const auto first = octets.first(split);
                const auto rest = octets.subspan(split);
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
