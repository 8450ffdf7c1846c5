// SPDX-License-Identifier: MPL-2.0
#include "wire/zmtp/v1_frame.hpp"

#include "testing/bytes.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

using namespace zlink::wire::zmtp;
using zlink::testing::hex;

namespace {

using byte_list = std::vector<std::byte>;

head_status status_of(std::string_view spelled) {
    frame_head head;
    return read_v1_head(hex(spelled), head);
}

/// Some frames of version 1.0, and the same ones in version 2.0.
constexpr const char* v1_frames = "01 00 04 00 'abc' 03 01 'de' fe 00 'x'*253 "
                                  "ff 00000000000000ff 01 'y'*254 ff 0000000000000101 00 'z'*256 "
                                  "ff 0000000000000004 00 'abc'";
constexpr const char* v2_frames = "00 00 00 03 'abc' 01 02 'de' 00 fd 'x'*253 "
                                  "01 fe 'y'*254 02 0000000000000100 'z'*256 00 03 'abc'";

/// Decodes `received` in pieces, as a session does: the rest of a piece is prepended to the next
/// one.
byte_list decoded(const byte_list& received, std::size_t piece_bytes_max) {
    v1_decoder decoder;
    byte_list frames;
    byte_list held;
    for (std::size_t at = 0; at < received.size(); at += piece_bytes_max) {
        const auto begin = received.begin() + static_cast<std::ptrdiff_t>(at);
        const std::size_t bytes = std::min(piece_bytes_max, received.size() - at);
        held.insert(held.end(), begin, begin + static_cast<std::ptrdiff_t>(bytes));
        const v1_decoder::outcome outcome = decoder.decode(held);
        CHECK(!outcome.is_violation);
        CHECK(outcome.rest.size() < v1_header_bytes_max);
        frames.insert(frames.end(), outcome.frames.begin(), outcome.frames.end());
        held = byte_list(outcome.rest.begin(), outcome.rest.end());
    }
    CHECK(held.empty());
    return frames;
}

} // namespace

TEST_SUITE("wire/zmtp") {

    TEST_CASE("1.0 frame header: is written with the shortest length, which counts the flags") {
        struct {
            std::uint64_t body_bytes;
            unsigned flags;
            const char* written;
        } const examples[] = {
            {0, 0, "01 00"},
            {5, flag_more, "06 01"},
            {253, 0, "fe 00"},
            {254, flag_more, "ff 00000000000000ff 01"},
            {65536, 0, "ff 0000000000010001 00"},
        };
        for (const auto& example : examples) {
            CAPTURE(example.written);
            std::array<std::byte, v1_header_bytes_max> out{};
            const std::size_t written =
                write_v1_header(out.data(), example.body_bytes, example.flags);
            CHECK(written == v1_header_bytes(example.body_bytes));
            CHECK(byte_list(out.data(), out.data() + written) == hex(example.written));

            frame_head head;
            REQUIRE(read_v1_head({out.data(), written}, head) == head_status::complete);
            CHECK(head.body_bytes == example.body_bytes);
            CHECK(head.header_bytes == written);
            CHECK(head.flags == example.flags);
        }
    }

    TEST_CASE("1.0 frame header: waits for its last byte") {
        for (const char* spelled : {"", "01", "fe", "ff", "ff 00*8", "ff ff*8"}) {
            CAPTURE(spelled);
            CHECK(status_of(spelled) == head_status::incomplete);
        }
    }

    TEST_CASE("1.0 frame header: refuses a length that no frame has") {
        CHECK(status_of("00") == head_status::violation);
        CHECK(status_of("ff 00*8 00") == head_status::violation);
        CHECK(status_of("ff 8000000000000001 00") == head_status::violation);
        CHECK(status_of("ff ff*8 00") == head_status::violation);
        CHECK(status_of("ff 8000000000000000 00") == head_status::complete);
    }

    TEST_CASE("1.0 frame header: only MORE counts among the flags") {
        frame_head head;
        REQUIRE(read_v1_head(hex("05 fe"), head) == head_status::complete);
        CHECK(head.flags == 0);
        REQUIRE(read_v1_head(hex("05 ff"), head) == head_status::complete);
        CHECK(head.flags == flag_more);
    }

    TEST_CASE("1.0 decoder: turns frames into those of 2.0, however they are split") {
        const byte_list received = hex(v1_frames);
        for (std::size_t piece_bytes_max = 1; piece_bytes_max <= received.size();
             ++piece_bytes_max) {
            CAPTURE(piece_bytes_max);
            CHECK(decoded(received, piece_bytes_max) == hex(v2_frames));
        }
    }

    TEST_CASE("1.0 decoder: gives the frames before one that is none") {
        byte_list received = hex("03 00 'ab' 00 00");
        v1_decoder decoder;
        const v1_decoder::outcome outcome = decoder.decode(received);
        CHECK(outcome.is_violation);
        CHECK(byte_list(outcome.frames.begin(), outcome.frames.end()) == hex("00 02 'ab'"));
    }

    TEST_CASE("1.0 decoder: passes on a body of any claimed size as it comes") {
        byte_list received = hex("ff 7fffffffffffffff 00 'begin'");
        v1_decoder decoder;
        const v1_decoder::outcome outcome = decoder.decode(received);
        CHECK(!outcome.is_violation);
        CHECK(byte_list(outcome.frames.begin(), outcome.frames.end()) ==
              hex("02 7ffffffffffffffe 'begin'"));
    }

} // TEST_SUITE
