// SPDX-License-Identifier: MPL-2.0
#include "wire/websocket/frame.hpp"

#include "testing/bytes.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string_view>
#include <vector>

using namespace zlink::wire::websocket;
using zlink::testing::hex;

namespace {

constexpr frame_rules from_client{.from = sender::client};
constexpr frame_rules from_server{.from = sender::server};
constexpr frame_rules compressing{.from = sender::server, .may_compress = true};
constexpr mask_key some_key{std::byte{0x37}, std::byte{0xfa}, std::byte{0x21}, std::byte{0x3d}};

head_status status_of(std::string_view spelled, const frame_rules& rules = from_server) {
    const auto received = hex(spelled);
    frame_head head;
    return read_head(received.data(), received.size(), rules, head);
}

head_status status_up_to(std::uint64_t payload_bytes_max, std::string_view spelled) {
    return status_of(spelled, {.from = sender::server, .payload_bytes_max = payload_bytes_max});
}

} // namespace

TEST_SUITE("wire/websocket") {

    TEST_CASE("websocket header: has the shortest length that can say how large the payload is") {
        struct {
            opcode kind;
            std::uint64_t payload_bytes;
            unsigned flags;
            const char* written;
            const char* written_masked;
        } const examples[] = {
            {opcode::binary, 0, flag_fin, "82 00", "82 80 37fa213d"},
            {opcode::text, 5, flag_fin, "81 05", "81 85 37fa213d"},
            {opcode::text, 125, 0, "01 7d", "01 fd 37fa213d"},
            {opcode::binary, 126, flag_fin, "82 7e 007e", "82 fe 007e 37fa213d"},
            {opcode::continuation, 65535, 0, "00 7e ffff", "00 fe ffff 37fa213d"},
            {opcode::continuation, 65536, flag_fin, "80 7f 0000000000010000",
             "80 ff 0000000000010000 37fa213d"},
            {opcode::binary, 0x0102030405060708, flag_fin | flag_compressed,
             "c2 7f 0102030405060708", "c2 ff 0102030405060708 37fa213d"},
            {opcode::close, 2, flag_fin, "88 02", "88 82 37fa213d"},
            {opcode::ping, 125, flag_fin, "89 7d", "89 fd 37fa213d"},
            {opcode::pong, 0, flag_fin, "8a 00", "8a 80 37fa213d"},
        };
        for (const auto& example : examples) {
            CAPTURE(example.written);
            std::array<std::byte, header_bytes_max + 1> out;
            out.fill(std::byte{0xee});
            const std::size_t written =
                write_header(out.data(), example.kind, example.payload_bytes, example.flags);
            CHECK(written == header_bytes(example.payload_bytes));
            CHECK(std::vector<std::byte>(out.data(), out.data() + written) == hex(example.written));
            CHECK(out[written] == std::byte{0xee});

            out.fill(std::byte{0xee});
            const std::size_t masked = write_masked_header(
                out.data(), example.kind, example.payload_bytes, some_key, example.flags);
            CHECK(masked == masked_header_bytes(example.payload_bytes));
            CHECK(std::vector<std::byte>(out.data(), out.data() + masked) ==
                  hex(example.written_masked));
            CHECK(out[masked] == std::byte{0xee});
        }
    }

    TEST_CASE("websocket header: waits, without a result, until its last byte") {
        for (const frame_rules& rules : {from_client, from_server}) {
            for (const std::uint64_t payload_bytes : {0, 125, 126, 65535, 65536, 1 << 30}) {
                std::array<std::byte, header_bytes_max> received;
                const std::size_t written =
                    rules.from == sender::client
                        ? write_masked_header(received.data(), opcode::binary, payload_bytes,
                                              some_key)
                        : write_header(received.data(), opcode::binary, payload_bytes);
                frame_head head;
                for (std::size_t available = 0; available < written; ++available) {
                    CHECK(read_head(received.data(), available, rules, head) ==
                          head_status::incomplete);
                    CHECK(head.header_bytes == 0);
                }
                CHECK(read_head(received.data(), written, rules, head) == head_status::complete);
                CHECK(head.header_bytes == written);
                CHECK(head.payload_bytes == payload_bytes);
                CHECK(head.frame_bytes() == written + payload_bytes);
            }
        }
    }

    TEST_CASE("websocket header: says what kind of frame it begins, and the masking key") {
        frame_head head;
        const auto fragment = hex("01 85 37fa213d 7f9f4d5158");
        CHECK(read_head(fragment.data(), fragment.size(), from_client, head) ==
              head_status::complete);
        CHECK(head.kind == opcode::text);
        CHECK(!head.is_final());
        CHECK(!head.is_compressed());
        CHECK(!head.is_control());
        CHECK(head.payload_bytes == 5);
        CHECK(head.header_bytes == 6);
        CHECK(head.key == some_key);

        const auto ping = hex("89 00");
        CHECK(read_head(ping.data(), ping.size(), from_server, head) == head_status::complete);
        CHECK(head.kind == opcode::ping);
        CHECK(head.is_final());
        CHECK(head.is_control());
        CHECK(head.key == mask_key{});

        const auto compressed = hex("c2 01");
        CHECK(read_head(compressed.data(), compressed.size(), compressing, head) ==
              head_status::complete);
        CHECK(head.kind == opcode::binary);
        CHECK(head.is_final());
        CHECK(head.is_compressed());
    }

    TEST_CASE("websocket header: of all first bytes those are accepted that RFC 6455 defines") {
        for (unsigned first = 0; first < 256; ++first) {
            CAPTURE(first);
            const unsigned kind = first & 0x0f;
            const bool is_data = kind <= 2;
            const bool is_whole_control = kind >= 8 && kind <= 10 && (first & 0x80) != 0;
            const bool is_plain = (first & 0x70) == 0 && (is_data || is_whole_control);
            const bool is_compressed = (first & 0x70) == 0x40 && (kind == 1 || kind == 2);

            const std::array<std::byte, 2> received{static_cast<std::byte>(first), std::byte{}};
            frame_head head;
            for (std::size_t available = 1; available <= 2; ++available) {
                const auto good = available == 1 ? head_status::incomplete : head_status::complete;
                CHECK(read_head(received.data(), available, from_server, head) ==
                      (is_plain ? good : head_status::violation));
                CHECK(read_head(received.data(), available, compressing, head) ==
                      (is_plain || is_compressed ? good : head_status::violation));
            }
        }
    }

    TEST_CASE("websocket header: refuses with the second byte what is not masked as it must be") {
        CHECK(status_of("82 05", from_client) == head_status::violation);
        CHECK(status_of("82 85", from_client) == head_status::incomplete);
        CHECK(status_of("82 85", from_server) == head_status::violation);
        CHECK(status_of("88 00", from_client) == head_status::violation);
        CHECK(status_of("88 80", from_server) == head_status::violation);
    }

    TEST_CASE("websocket header: refuses with the second byte a control frame above 125") {
        for (const char* spelled : {"88 7e", "89 7e", "8a 7e", "88 7f", "89 7f", "8a 7f"}) {
            CAPTURE(spelled);
            CHECK(status_of(spelled) == head_status::violation);
        }
        CHECK(status_of("89 fe", from_client) == head_status::violation);
        CHECK(status_of("89 7d") == head_status::complete);
    }

    TEST_CASE("websocket header: refuses a length that has a shorter form") {
        CHECK(status_of("82 7e 0000") == head_status::violation);
        CHECK(status_of("82 7e 007d") == head_status::violation);
        CHECK(status_of("82 7e 007e") == head_status::complete);
        CHECK(status_of("82 7f 0000000000000000") == head_status::violation);
        CHECK(status_of("82 7f 000000000000007e") == head_status::violation);
        CHECK(status_of("82 7f 000000000000ffff") == head_status::violation);
        CHECK(status_of("82 7f 0000000000010000") == head_status::complete);
        CHECK(status_of("82 fe 007d", from_client) == head_status::violation);
    }

    TEST_CASE("websocket header: refuses a length with its top bit set whatever the limit") {
        CHECK(status_of("82 7f 8000000000000000") == head_status::violation);
        CHECK(status_of("82 7f ffffffffffffffff") == head_status::violation);
        CHECK(status_up_to(16, "82 7f ffffffffffffffff") == head_status::violation);
        CHECK(status_of("82 7f 7fffffffffffffff") == head_status::complete);
    }

    TEST_CASE("websocket header: refuses a payload above the limit before the key arrives") {
        CHECK(status_up_to(16, "82 10") == head_status::complete);
        CHECK(status_up_to(16, "82 11") == head_status::too_large);
        CHECK(status_up_to(16, "00 11") == head_status::too_large);
        CHECK(status_up_to(16, "82 7e 03e8") == head_status::too_large);
        CHECK(status_up_to(1000, "82 7e 03e8") == head_status::complete);
        CHECK(status_up_to(1000, "82 7f 7fffffffffffffff") == head_status::too_large);
        CHECK(status_up_to(0, "82 00") == head_status::complete);
        CHECK(status_of("82 91", {.from = sender::client, .payload_bytes_max = 16}) ==
              head_status::too_large);
    }

    TEST_CASE("websocket header: the limit on messages does not concern control frames") {
        CHECK(status_up_to(0, "89 7d") == head_status::complete);
        CHECK(status_up_to(16, "88 11") == head_status::complete);
    }

    TEST_CASE("websocket header: leaves the result untouched when it refuses") {
        frame_head head{.payload_bytes = 42, .header_bytes = 2, .flags = flag_fin};
        const auto received = hex("82 11");
        CHECK(read_head(received.data(), 2, {.from = sender::server, .payload_bytes_max = 16},
                        head) == head_status::too_large);
        CHECK(head.payload_bytes == 42);
        CHECK(head.header_bytes == 2);
        CHECK(head.flags == flag_fin);
    }

} // TEST_SUITE
