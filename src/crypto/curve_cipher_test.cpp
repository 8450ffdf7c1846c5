// SPDX-License-Identifier: MPL-2.0
#include "crypto/curve_cipher.hpp"

#include "base/raw.hpp"
#include "codec/frame_encoder.hpp"
#include "testing/bytes.hpp"
#include "testing/queue_contents.hpp"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <sodium.h>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// The reference is libsodium's own boxes.

using namespace zlink;
using namespace zlink::crypto;
using namespace zlink::wire::zmtp;
using testing::bytes_of;
using testing::pattern;
using testing::text;

namespace {

shared_key some_key() {
    shared_key key;
    for (std::size_t index = 0; index < shared_key::bytes; ++index) {
        key.data()[index] = static_cast<std::byte>(3 * index + 1);
    }
    return key;
}

std::vector<std::byte> sealed(curve_sealer& by, std::string_view payload, unsigned flags = 0) {
    std::vector<std::byte> frame(curve_sealer::frame_bytes(payload.size()));
    by.seal(flags, bytes_of(payload), frame.data());
    return frame;
}

/// The content of the frame, as testing::spelled; "refused" if the opener rejects it.
std::string opened(curve_opener& by, std::span<const std::byte> frame, bool in_place = false) {
    const frame_head head = read_head_trusted(frame.data());
    std::vector<std::byte> body(frame.begin() + head.header_bytes, frame.end());
    const std::span<std::byte> payload = std::span{body}.subspan(curve_message_overhead_bytes);
    std::vector<std::byte> apart(payload.size());
    std::byte* const out = in_place ? payload.data() : apart.data();
    const auto flags = by.open(body.data(), payload, out);
    return flags ? testing::spelled(*flags, text({out, payload.size()})) : "refused";
}

const std::size_t sizes[] = {0,  1,  14,  15,  30,  31,   32,   33,   63,   64,    94,   95,
                             96, 97, 222, 223, 255, 1000, 1055, 1056, 1119, 20000, 70001};

} // namespace

TEST_SUITE("crypto") {

    TEST_CASE("curve cipher: makes the boxes that libsodium makes") {
        const shared_key key = some_key();
        curve_sealer sealer{key, curve_role::client, 41};
        std::uint64_t number = 41;
        for (const std::size_t bytes : sizes) {
            CAPTURE(bytes);
            const auto frame = sealed(sealer, pattern(bytes), flag_more);
            const frame_head head = read_head_trusted(frame.data());
            REQUIRE(head.frame_bytes() == frame.size());
            CHECK(head.flags == (head.header_bytes == header_bytes_min ? 0 : flag_long));
            const std::span<const std::byte> body = std::span{frame}.subspan(head.header_bytes);
            CHECK(is_curve_message(body.data()));
            CHECK(load_big_endian<std::uint64_t>(body.data() + 8) == ++number);

            const std::string plain = "\1" + pattern(bytes);
            const auto box = seal(bytes_of(plain), {"CurveZMQMESSAGEC", number}, key);
            CHECK(text(body.subspan(16)) == text(box));
        }
    }

    TEST_CASE("curve cipher: what one side seals the other opens") {
        const shared_key key = some_key();
        for (const bool in_place : {false, true}) {
            curve_sealer sealer{key, curve_role::server, 1};
            curve_opener opener{key, curve_role::server, 1};
            for (const std::size_t bytes : sizes) {
                CAPTURE(bytes);
                const std::string payload = pattern(bytes);
                CHECK(opened(opener, sealed(sealer, payload), in_place) == payload);
                CHECK(opened(opener, sealed(sealer, payload, flag_more), in_place) ==
                      "+" + payload);
                CHECK(opened(opener, sealed(sealer, payload, flag_command), in_place) ==
                      "!" + payload);
            }
        }
    }

    TEST_CASE("curve cipher: whoever seals is the only one who does") {
        static_assert(!std::is_copy_constructible_v<curve_sealer>);
        static_assert(!std::is_copy_assignable_v<curve_sealer>);
        static_assert(!std::is_move_constructible_v<curve_sealer>);
        static_assert(!std::is_move_assignable_v<curve_sealer>);
        static_assert(!std::is_copy_constructible_v<curve_ciphers>);
        static_assert(!std::is_copy_constructible_v<codec::frame_encoder>);
        curve_ciphers from{std::make_unique<curve_sealer>(some_key(), curve_role::client, 0),
                           {some_key(), curve_role::server, 0}};

        const codec::frame_encoder to{{.sealer = std::move(from.sealer)}};

        CHECK(to.takes_commands());
        CHECK(from.sealer == nullptr);
    }

    TEST_CASE("curve cipher: a nonce counts once, and only upwards") {
        const shared_key key = some_key();
        curve_sealer sealer{key, curve_role::client, 0};
        curve_opener opener{key, curve_role::client, 0};
        std::vector<std::vector<std::byte>> frames;
        for (int count = 0; count < 40; ++count) {
            frames.push_back(sealed(sealer, std::to_string(count)));
        }
        CHECK(opened(opener, frames[3]) == "3");
        CHECK(opened(opener, frames[3]) == "refused");
        CHECK(opened(opener, frames[0]) == "refused");
        CHECK(opened(opener, frames[2]) == "refused");
        CHECK(opened(opener, frames[4]) == "4");
        CHECK(opened(opener, frames[39]) == "39");
        CHECK(opened(opener, frames[38]) == "refused");
    }

    TEST_CASE("curve cipher: refuses whatever was changed, byte by byte") {
        const shared_key key = some_key();
        curve_sealer sealer{key, curve_role::client, 0};
        curve_opener opener{key, curve_role::client, 0};
        for (const std::size_t bytes : {0, 5, 300}) {
            const auto frame = sealed(sealer, pattern(bytes));
            const std::size_t header_bytes = read_head_trusted(frame.data()).header_bytes;
            for (std::size_t at = header_bytes; at < frame.size(); ++at) {
                CAPTURE(at);
                auto changed = frame;
                changed[at] ^= std::byte{0x10};
                CHECK(opened(opener, changed) == "refused");
            }
            CHECK(opened(opener, frame) == pattern(bytes));
        }
    }

    TEST_CASE("curve cipher: refuses the other direction, another key and other flags") {
        const shared_key key = some_key();
        curve_sealer sealer{key, curve_role::client, 0};
        curve_opener other_direction{key, curve_role::server, 0};
        curve_opener other_key{shared_key{}, curve_role::client, 0};
        const auto frame = sealed(sealer, "hello");
        CHECK(opened(other_direction, frame) == "refused");
        CHECK(opened(other_key, frame) == "refused");

        curve_opener opener{key, curve_role::client, 0};
        for (unsigned flags = 0; flags < 256; ++flags) {
            CAPTURE(flags);
            const std::string plain = static_cast<char>(flags) + std::string("x");
            const auto box = seal(bytes_of(plain), {"CurveZMQMESSAGEC", flags + 1}, key);
            std::string body = std::string(curve_message_prefix) + std::string(8, '\0');
            body[14] = static_cast<char>((flags + 1) >> 8);
            body[15] = static_cast<char>(flags + 1);
            const std::string made = testing::on_wire(body.append(text(box)));
            const std::string expected = flags == 0   ? "x"
                                         : flags == 1 ? "+x"
                                         : flags == 2 ? "!x"
                                                      : "refused";
            CHECK(opened(opener, bytes_of(made)) == expected);
        }
    }

} // TEST_SUITE
