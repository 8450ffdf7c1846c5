// SPDX-License-Identifier: MPL-2.0
#include "base/seeded_hash.hpp"

#include <array>
#include <cstdint>
#include <doctest/doctest.h>
#include <set>
#include <string>
#include <string_view>

using zlink::seeded_hash;
using namespace std::string_view_literals;

namespace {

/// The inverse of std::hash for 16 bytes on this platform: bytes that have the hash `target`, and
/// begin with `first`. It is MurmurHash64A with a public seed.
std::string bytes_with_known_hash(std::uint64_t first, std::uint64_t target) {
    constexpr std::uint64_t factor = 0xc6a4'a793'5bd1'e995;
    const auto shifted = [](std::uint64_t value) { return value ^ (value >> 47); };
    std::uint64_t inverse = 1;
    for (int step = 0; step < 6; ++step) {
        inverse *= 2 - factor * inverse;
    }
    const std::uint64_t begun = 0xc70f'6907 ^ (16 * factor);
    const std::uint64_t half = (begun ^ (shifted(first * factor) * factor)) * factor;
    const std::uint64_t second = shifted((target ^ half) * inverse) * inverse;
    const std::array<std::uint64_t, 2> words{first, second};
    return {reinterpret_cast<const char*>(words.data()), sizeof words};
}

} // namespace

TEST_SUITE("base") {

    TEST_CASE("seeded hash: is the same for the same bytes, and another one elsewhere") {
        const seeded_hash one;
        const seeded_hash other;
        CHECK(one("routing id") == one(std::string{"routing id"}));
        CHECK(one("routing id") != other("routing id"));
    }

    TEST_CASE("seeded hash: depends on each byte, and on how many there are") {
        const seeded_hash hash;
        for (const std::size_t bytes : {1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 255}) {
            CAPTURE(bytes);
            std::string data(bytes, '\0');
            std::set<std::uint64_t> found{hash(data), hash(data + '\0')};
            for (char& each : data) {
                each = 'x';
                found.insert(hash(data));
                each = '\0';
            }
            CHECK(found.size() == bytes + 2);
        }
        CHECK(hash(""sv) != hash("\0"sv));
    }

    TEST_CASE("seeded hash: spreads what is made to meet in std::hash") {
        const seeded_hash hash;
        std::set<std::uint64_t> known;
        std::set<std::uint64_t> places;
        for (std::uint64_t first = 1; first <= 1000; ++first) {
            const std::string data = bytes_with_known_hash(first, 0x1234'5678'90ab'cdef);
            known.insert(std::hash<std::string>{}(data));
            places.insert(hash(data) % 100'003);
        }
        REQUIRE(known.size() == 1);
        CHECK(places.size() > 900); // 995 expected by chance.
    }

} // TEST_SUITE
