// SPDX-License-Identifier: MPL-2.0
#include "wire/zmtp/frame.hpp"

#include "testing/bytes.hpp"

#include <doctest/doctest.h>

#include <array>
#include <limits>

using namespace zlink::wire::zmtp;
using zlink::testing::hex;

namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

head_status status_of(std::string_view spelled, std::uint64_t body_bytes_max = no_limit) {
    const auto received = hex(spelled);
    frame_head head;
    return read_head(received.data(), received.size(), body_bytes_max, head);
}

} // namespace

TEST_SUITE("wire/zmtp") {

    TEST_CASE("frame header: has 2 bytes up to a body of 255, and 9 from 256") {
        CHECK(header_bytes(0) == 2);
        CHECK(header_bytes(255) == 2);
        CHECK(header_bytes(256) == 9);
        CHECK(header_bytes(body_bytes_limit) == 9);
    }

    TEST_CASE("frame header: is written with the shortest size") {
        struct {
            std::uint64_t body_bytes;
            unsigned flags;
            const char* written;
        } const examples[] = {
            {0, 0, "00 00"},
            {5, flag_more, "01 05"},
            {255, flag_command, "04 ff"},
            {256, 0, "02 0000000000000100"},
            {256, flag_more, "03 0000000000000100"},
            {0x0102030405060708, flag_command, "06 0102030405060708"},
        };
        for (const auto& example : examples) {
            std::array<std::byte, header_bytes_max> out{};
            const std::size_t written = write_header(out.data(), example.body_bytes, example.flags);
            CHECK(std::vector<std::byte>(out.data(), out.data() + written) == hex(example.written));
        }
    }

    TEST_CASE("frame header: writes nothing behind itself") {
        std::array<std::byte, 3> out{std::byte{0xee}, std::byte{0xee}, std::byte{0xee}};
        CHECK(write_header(out.data(), 7, 0) == 2);
        CHECK(out[2] == std::byte{0xee});
    }

    TEST_CASE("frame header: is read without a check when it is trusted") {
        const auto brief = hex("01 ff");
        const frame_head brief_head = read_head_trusted(brief.data());
        CHECK(brief_head.body_bytes == 255);
        CHECK(brief_head.header_bytes == 2);
        CHECK(brief_head.more());
        CHECK(!brief_head.command());
        CHECK(brief_head.frame_bytes() == 257);

        const auto extended = hex("06 0000000100000002");
        const frame_head extended_head = read_head_trusted(extended.data());
        CHECK(extended_head.body_bytes == 0x100000002);
        CHECK(extended_head.header_bytes == 9);
        CHECK(!extended_head.more());
        CHECK(extended_head.command());
    }

    TEST_CASE("frame header: waits, without a result, until its last byte") {
        for (const char* spelled : {"01 ff", "00 00", "04 05", "03 0000000000000100",
                                    "02 7fffffffffffffff", "06 0000000000000001"}) {
            const auto received = hex(spelled);
            frame_head head;
            for (std::size_t available = 0; available < received.size(); ++available) {
                CHECK(read_head(received.data(), available, no_limit, head) ==
                      head_status::incomplete);
                CHECK(head.header_bytes == 0);
            }
            CHECK(read_head(received.data(), received.size(), no_limit, head) ==
                  head_status::complete);
            CHECK(head.header_bytes == received.size());
        }
    }

    TEST_CASE("frame header: does not look at the bytes behind it") {
        const auto received = hex("00 03 ff ff ff ff ff ff ff ff ff");
        frame_head head;
        CHECK(read_head(received.data(), received.size(), 3, head) == head_status::complete);
        CHECK(head.body_bytes == 3);
        CHECK(head.flags == 0);
    }

    TEST_CASE("frame header: accepts a long size where a short one would do, as libzmq does") {
        const auto received = hex("02 0000000000000005");
        frame_head head;
        CHECK(read_head(received.data(), received.size(), 5, head) == head_status::complete);
        CHECK(head.body_bytes == 5);
        CHECK(head.header_bytes == 9);
    }

    TEST_CASE("frame header: refuses each reserved flag at the first byte") {
        for (unsigned bit = 3; bit < 8; ++bit) {
            const std::byte flags{static_cast<unsigned char>(1u << bit)};
            frame_head head;
            CHECK(read_head(&flags, 1, no_limit, head) == head_status::violation);
        }
    }

    TEST_CASE("frame header: refuses a command with MORE at the first byte") {
        CHECK(status_of("05") == head_status::violation);
        CHECK(status_of("07") == head_status::violation);
    }

    TEST_CASE("frame header: accepts the six flags that exist and no others") {
        for (unsigned flags = 0; flags < 256; ++flags) {
            std::array<std::byte, header_bytes_max> received{static_cast<std::byte>(flags)};
            frame_head head;
            const bool exists = flags <= 4 || flags == 6;
            CHECK((read_head(received.data(), received.size(), no_limit, head) ==
                   head_status::complete) == exists);
        }
    }

    TEST_CASE("frame header: refuses a size with its top bit set whatever the limit") {
        CHECK(status_of("02 8000000000000000") == head_status::violation);
        CHECK(status_of("02 ffffffffffffffff") == head_status::violation);
        CHECK(status_of("02 ffffffffffffffff", 16) == head_status::violation);
        CHECK(status_of("02 7fffffffffffffff") == head_status::complete);
    }

    TEST_CASE("frame header: refuses a size above the limit before the body arrives") {
        CHECK(status_of("00 10", 16) == head_status::complete);
        CHECK(status_of("00 11", 16) == head_status::too_large);
        CHECK(status_of("02 00000000000003e8", 1000) == head_status::complete);
        CHECK(status_of("02 00000000000003e9", 1000) == head_status::too_large);
        CHECK(status_of("02 7fffffffffffffff", 1000) == head_status::too_large);
        CHECK(status_of("00 00", 0) == head_status::complete);
        CHECK(status_of("00 01", 0) == head_status::too_large);
    }

    TEST_CASE("frame header: leaves the result untouched when it refuses") {
        const auto received = hex("02 00000000000003e9");
        frame_head head{.body_bytes = 42, .header_bytes = 2, .flags = 1};
        CHECK(read_head(received.data(), received.size(), 1000, head) == head_status::too_large);
        CHECK(head.body_bytes == 42);
        CHECK(head.header_bytes == 2);
        CHECK(head.flags == 1);
    }

} // TEST_SUITE
