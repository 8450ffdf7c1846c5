// SPDX-License-Identifier: MPL-2.0
#include "zlink.h"

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>

namespace {

// The example of RFC 32/Z85, "Test Case".
constexpr std::array<std::uint8_t, 8> example_bytes{0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B};
constexpr const char* example_text = "HelloWorld";

} // namespace

TEST_SUITE("api") {

    TEST_CASE("z85: encodes the example of the RFC") {
        std::array<char, 11> text{};

        CHECK(zlink_z85_encode(text.data(), example_bytes.data(), 8) == text.data());

        CHECK(std::string_view{text.data()} == example_text);
    }

    TEST_CASE("z85: decodes the example of the RFC") {
        std::array<std::uint8_t, 8> data{};

        CHECK(zlink_z85_decode(data.data(), example_text) == data.data());

        CHECK(data == example_bytes);
    }

    TEST_CASE("z85: encodes and decodes the least and the greatest number") {
        constexpr std::array<std::uint8_t, 8> extremes{0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF};
        std::array<char, 11> text{};
        std::array<std::uint8_t, 8> data{1, 2, 3, 4, 5, 6, 7, 8};

        zlink_z85_encode(text.data(), extremes.data(), extremes.size());
        zlink_z85_decode(data.data(), text.data());

        CHECK(std::string_view{text.data()} == "00000%nSc0");
        CHECK(data == extremes);
    }

    TEST_CASE("z85: encodes nothing as the empty text") {
        char text = 'x';

        CHECK(zlink_z85_encode(&text, nullptr, 0) == &text);

        CHECK(text == '\0');
    }

    TEST_CASE("z85: refuses to encode sizes that are not divisible by 4") {
        for (const std::size_t size : {1U, 2U, 3U, 5U, 6U, 7U}) {
            std::array<char, 11> text{};
            errno = 0;

            CHECK(zlink_z85_encode(text.data(), example_bytes.data(), size) == nullptr);
            CHECK(errno == EINVAL);
        }
    }

    TEST_CASE("z85: refuses texts that encode cannot have made") {
        for (const char* const text : {
                 "",           // Too short.
                 "0000",       // Not divisible by 5.
                 "000000",     // Likewise.
                 "0000\x7F",   // Not a Z85 digit.
                 "0000 ",      // Likewise.
                 "0000\"",     // Likewise.
                 "0000\xFF",   // Likewise, and no ASCII.
                 "%nSc1",      // 2^32: one too large.
                 "#####",      // The greatest number that five digits state.
                 "HelloWor;d", // No digit in the second group.
             }) {
            std::array<std::uint8_t, 8> data{};
            errno = 0;

            CHECK(zlink_z85_decode(data.data(), text) == nullptr);
            CHECK(errno == EINVAL);
        }
    }

} // TEST_SUITE
