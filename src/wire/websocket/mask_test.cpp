// SPDX-License-Identifier: MPL-2.0
#include "wire/websocket/mask.hpp"

#include "testing/bytes.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace zlink::wire::websocket;
using zlink::testing::hex;

namespace {

using byte_list = std::vector<std::byte>;

constexpr mask_key some_key{std::byte{0x37}, std::byte{0xfa}, std::byte{0x21}, std::byte{0x3d}};
constexpr std::byte untouched{0xee};

/// Octets that do not repeat within any step of the code under test.
byte_list payload_of(std::size_t bytes) {
    byte_list payload(bytes);
    for (std::size_t at = 0; at < bytes; ++at) {
        payload[at] = static_cast<std::byte>(at * 167 + at / 256);
    }
    return payload;
}

/// RFC 6455, 5.3, octet by octet.
byte_list masked(byte_list payload, unsigned phase) {
    for (std::size_t at = 0; at < payload.size(); ++at) {
        payload[at] ^= some_key[(phase + at) % 4];
    }
    return payload;
}

/// `payload` at `alignment` within a buffer, with four octets around it that must not change.
struct framed {
    framed(std::size_t alignment, const byte_list& payload)
        : buffer(alignment + payload.size() + 4, untouched), at(alignment), bytes(payload.size()) {
        std::copy(payload.begin(), payload.end(), buffer.begin() + static_cast<long>(at));
    }

    std::span<std::byte> payload() { return std::span{buffer}.subspan(at, bytes); }

    byte_list buffer;
    std::size_t at;
    std::size_t bytes;
};

} // namespace

TEST_SUITE("wire/websocket") {

    TEST_CASE("mask: does what RFC 6455 shows") {
        byte_list payload = hex("'Hello'");
        CHECK(mask(payload, some_key) == 1);
        CHECK(payload == hex("7f 9f 4d 51 58"));
        CHECK(mask(payload, some_key) == 1);
        CHECK(payload == hex("'Hello'"));
    }

    TEST_CASE("mask: is the byte-wise definition for all sizes, alignments and phases") {
        std::size_t wrong_count = 0;
        for (std::size_t bytes = 0; bytes <= 200; ++bytes) {
            const byte_list plain = payload_of(bytes);
            for (unsigned phase = 0; phase < 4; ++phase) {
                const byte_list expected = masked(plain, phase);
                for (std::size_t alignment = 0; alignment < 17; ++alignment) {
                    framed in_place{alignment, plain};
                    const unsigned next = mask(in_place.payload(), some_key, phase);

                    wrong_count += next != (phase + bytes) % 4;
                    wrong_count += in_place.buffer != framed{alignment, expected}.buffer;
                }
            }
        }
        CHECK(wrong_count == 0);
    }

    TEST_CASE("masked copy: is the byte-wise definition for all sizes, alignments and phases") {
        std::size_t wrong_count = 0;
        for (std::size_t bytes = 0; bytes <= 100; ++bytes) {
            const byte_list plain = payload_of(bytes);
            for (unsigned phase = 0; phase < 4; ++phase) {
                const byte_list expected = masked(plain, phase);
                for (std::size_t from = 0; from < 9; ++from) {
                    for (std::size_t to = 0; to < 9; ++to) {
                        framed source{from, plain};
                        framed target{to, byte_list(bytes, untouched)};
                        const unsigned next =
                            copy_masked(target.payload().data(), source.payload(), some_key, phase);

                        wrong_count += next != (phase + bytes) % 4;
                        wrong_count += target.buffer != framed{to, expected}.buffer;
                        wrong_count += source.buffer != framed{from, plain}.buffer;
                    }
                }
            }
        }
        CHECK(wrong_count == 0);
    }

    TEST_CASE("mask: a payload that comes in two pieces is unmasked as if it came at once") {
        const byte_list plain = payload_of(150);
        for (std::size_t first = 0; first <= plain.size(); ++first) {
            CAPTURE(first);
            byte_list received = masked(plain, 0);
            const unsigned phase = mask(std::span{received}.first(first), some_key);
            mask(std::span{received}.subspan(first), some_key, phase);
            CHECK(received == plain);
        }
    }

    TEST_CASE("mask: a payload that comes byte by byte is unmasked as if it came at once") {
        const byte_list plain = payload_of(150);
        byte_list received = masked(plain, 0);
        unsigned phase = 0;
        for (std::byte& byte : received) {
            phase = mask({&byte, 1}, some_key, phase);
        }
        CHECK(received == plain);
    }

    TEST_CASE("mask: is the byte-wise definition for a large payload, too") {
        const byte_list plain = payload_of(100'003);
        byte_list received = plain;
        CHECK(mask(received, some_key, 3) == 2);
        CHECK(received == masked(plain, 3));
    }

    TEST_CASE("mask: zeros change nothing") {
        byte_list received = payload_of(77);
        mask(received, mask_key{});
        CHECK(received == payload_of(77));
    }

} // TEST_SUITE
