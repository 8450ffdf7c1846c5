// SPDX-License-Identifier: MPL-2.0
#include "crypto/salsa20.hpp"

#include "base/byte_order.hpp"
#include "base/raw.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <sodium.h>
#include <string>
#include <vector>

// libsodium is the reference for each variant, not only for the one that this processor uses.

using namespace zlink;
using namespace zlink::crypto;

namespace {

using key_bytes = std::array<std::byte, salsa20::key_bytes>;

key_bytes key_number(unsigned number) {
    key_bytes made;
    for (std::size_t index = 0; index < made.size(); ++index) {
        made[index] = static_cast<std::byte>(7 * index + 1 + 11 * number);
    }
    return made;
}

/// The keystream of the message `nonce` from the block `counter` on, from libsodium.
std::vector<std::byte> expected(const key_bytes& key, std::uint64_t nonce, std::uint64_t counter,
                                std::size_t bytes) {
    std::array<std::byte, crypto_stream_salsa20_NONCEBYTES> nonce_bytes;
    store_big_endian(nonce_bytes.data(), nonce);
    std::vector<std::byte> made(bytes + 1); // One more, so that an empty result has an address.
    crypto_stream_salsa20_xor_ic(raw(made.data()), raw(made.data()), bytes, raw(nonce_bytes.data()),
                                 counter, raw(key.data()));
    made.pop_back();
    return made;
}

/// The same, from a variant.
std::vector<std::byte> actual(const salsa20::variant& by, const key_bytes& key, std::uint64_t nonce,
                              std::uint64_t counter, std::size_t bytes) {
    std::vector<std::byte> made;
    while (made.size() < bytes) {
        std::array<salsa20::position, salsa20::batch_count> places;
        for (salsa20::position& each : places) {
            each = {nonce, counter++};
        }
        std::array<std::byte, salsa20::batch_bytes> blocks;
        by.make(key.data(), places.data(), blocks.data());
        made.insert(made.end(), blocks.begin(), blocks.end());
    }
    made.resize(bytes);
    return made;
}

/// Runs `check` with each variant that this processor supports; reports the others.
template<class Check>
void with_each_variant(Check&& check) {
    for (const salsa20::variant& each : salsa20::variants()) {
        const std::string name{each.name};
        if (!each.is_available) {
            MESSAGE("skipped: this processor has no " << name);
            continue;
        }
        CAPTURE(name);
        check(each);
    }
}

constexpr std::uint64_t last = std::numeric_limits<std::uint64_t>::max();

/// Values at which a word of nonce or counter carries, or an error in byte order or width shows.
constexpr std::uint64_t turning_points[] = {
    0,           1,           0xff,          0x0102'0304'0506'0708, 0x7fff'ffff, 0x8000'0000,
    0xffff'fff0, 0xffff'ffff, 0x1'0000'0000, 0xfedc'ba98'7654'3210, last - 15,   last};

} // namespace

TEST_SUITE("crypto") {

    TEST_CASE("salsa20: each variant makes the keystream that the standard has as an example") {
        // ECRYPT, verified test vectors of Salsa20/20, 256-bit key, set 1, vector 0.
        key_bytes key{};
        key[0] = std::byte{0x80};
        constexpr std::array<unsigned char, 16> begins{0xe3, 0xbe, 0x8f, 0xdd, 0x8b, 0xec,
                                                       0xa2, 0xe3, 0xea, 0x8e, 0xf9, 0x47,
                                                       0x5b, 0x29, 0xa6, 0xe7};
        with_each_variant([&](const salsa20::variant& by) {
            const auto made = actual(by, key, 0, 0, begins.size());
            CHECK(std::equal(begins.begin(), begins.end(), raw(made.data())));
        });
    }

    TEST_CASE("salsa20: each variant makes libsodium's keystream of every length") {
        std::vector<std::size_t> lengths;
        for (const std::size_t blocks : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 100}) {
            const std::size_t bytes = blocks * salsa20::block_bytes;
            if (bytes != 0) {
                lengths.push_back(bytes - 1);
            }
            lengths.insert(lengths.end(), {bytes, bytes + 1, bytes + 32, bytes + 33});
        }
        with_each_variant([&](const salsa20::variant& by) {
            unsigned number = 0;
            for (const std::size_t bytes : lengths) {
                CAPTURE(bytes);
                const key_bytes key = key_number(++number);
                CHECK(actual(by, key, number, 0, bytes) == expected(key, number, 0, bytes));
            }
        });
    }

    TEST_CASE("salsa20: each variant counts past the end of either half of the counter") {
        const key_bytes key = key_number(0);
        constexpr std::size_t bytes = 2 * salsa20::batch_bytes;
        with_each_variant([&](const salsa20::variant& by) {
            for (const std::uint64_t carries : {std::uint64_t{0x1'0000'0000}, std::uint64_t{0}}) {
                for (std::uint64_t before = 0; before <= 2 * salsa20::batch_count; ++before) {
                    const std::uint64_t counter = carries - before;
                    CAPTURE(counter);
                    CHECK(actual(by, key, 5, counter, bytes) == expected(key, 5, counter, bytes));
                }
            }
        });
    }

    TEST_CASE("salsa20: each variant makes blocks of different messages side by side") {
        const key_bytes key = key_number(3);
        with_each_variant([&](const salsa20::variant& by) {
            for (std::size_t turn = 0; turn < std::size(turning_points); ++turn) {
                std::array<salsa20::position, salsa20::batch_count> places;
                for (std::size_t lane = 0; lane < places.size(); ++lane) {
                    places[lane] = {turning_points[(lane + turn) % std::size(turning_points)],
                                    turning_points[(lane * 5 + 2) % std::size(turning_points)]};
                }
                std::array<std::byte, salsa20::batch_bytes> blocks;
                by.make(key.data(), places.data(), blocks.data());
                for (std::size_t lane = 0; lane < places.size(); ++lane) {
                    CAPTURE(places[lane].nonce);
                    CAPTURE(places[lane].counter);
                    const auto one = expected(key, places[lane].nonce, places[lane].counter,
                                              salsa20::block_bytes);
                    CHECK(std::equal(one.begin(), one.end(),
                                     blocks.begin() + lane * salsa20::block_bytes));
                }
            }
        });
    }

    TEST_CASE("salsa20: there is a variant for every processor, and the first that runs is used") {
        const auto all = salsa20::variants();
        REQUIRE(!all.empty());
        CHECK(all.back().is_available);

        const key_bytes key = key_number(8);
        std::array<salsa20::position, salsa20::batch_count> places;
        for (std::size_t lane = 0; lane < places.size(); ++lane) {
            places[lane] = {9, lane};
        }
        std::array<std::byte, salsa20::batch_bytes> blocks;
        salsa20::make_blocks(key.data(), places, blocks);
        const auto same = expected(key, 9, 0, salsa20::batch_bytes);
        CHECK(std::equal(same.begin(), same.end(), blocks.begin()));
    }

} // TEST_SUITE
