// SPDX-License-Identifier: MPL-2.0
#include "wire/length/frame.hpp"

#include "testing/bytes.hpp"

#include <doctest/doctest.h>

#include <array>
#include <vector>

using namespace zlink::wire::length;
using zlink::testing::hex;

TEST_SUITE("wire/length") {

    TEST_CASE("length header: is four bytes, the first one the highest") {
        struct {
            std::uint64_t body_bytes;
            const char* written;
        } const examples[] = {
            {0, "00000000"},
            {5, "00000005"},
            {0x01020304, "01020304"},
            {body_bytes_limit, "ffffffff"},
        };
        for (const auto& example : examples) {
            CAPTURE(example.written);
            std::array<std::byte, header_bytes> out{};
            write_header(out.data(), example.body_bytes);
            CHECK(std::vector<std::byte>(out.begin(), out.end()) == hex(example.written));

            const frame_head head = read_head_trusted(out.data());
            CHECK(head.body_bytes == example.body_bytes);
            CHECK(head.frame_bytes() == 4 + example.body_bytes);
        }
    }

    TEST_CASE("length header: waits, without a result, until its last byte") {
        const auto received = hex("00000007 'payload'");
        frame_head head;
        for (std::size_t available = 0; available < 4; ++available) {
            CHECK(read_head(received.data(), available, 7, head) == head_status::incomplete);
            CHECK(head.body_bytes == 0);
        }
        CHECK(read_head(received.data(), 4, 7, head) == head_status::complete);
        CHECK(head.body_bytes == 7);
    }

    TEST_CASE("length header: refuses a size above the limit, and leaves the result untouched") {
        const auto received = hex("00000401");
        frame_head head{.body_bytes = 42};
        CHECK(read_head(received.data(), 4, 1024, head) == head_status::too_large);
        CHECK(head.body_bytes == 42);
        CHECK(read_head(received.data(), 4, 1025, head) == head_status::complete);
        CHECK(head.body_bytes == 1025);
    }

    TEST_CASE("length header: an empty message is within every limit, the largest within its own") {
        frame_head head;
        CHECK(read_head(hex("00000000").data(), 4, 0, head) == head_status::complete);
        CHECK(read_head(hex("00000001").data(), 4, 0, head) == head_status::too_large);
        CHECK(read_head(hex("ffffffff").data(), 4, body_bytes_limit, head) ==
              head_status::complete);
        CHECK(head.body_bytes == 0xffffffff);
        CHECK(head.frame_bytes() == 0x100000003);
    }

} // TEST_SUITE
