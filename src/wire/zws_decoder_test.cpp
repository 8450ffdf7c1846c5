// SPDX-License-Identifier: MPL-2.0
#include "wire/zws_decoder.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace std::string_literals;
using namespace zlink::wire;
using piece = zws::decoder::piece;
using websocket::close_code;
using websocket::sender;

namespace {

std::string text_of(std::span<const std::byte> data) {
    return {reinterpret_cast<const char*>(data.data()), data.size()};
}

std::span<std::byte> bytes_of(std::string& data) {
    return std::as_writable_bytes(std::span{data});
}

/// The pieces of `data`, decoded in steps of `step_bytes`: frames as "flags:body", control frames
/// as "kind!payload", a refusal as its code.
std::vector<std::string> decoded(std::string_view data, sender from, std::size_t step_bytes,
                                 std::uint64_t body_bytes_max = 1000) {
    zws::decoder by{from, body_bytes_max};
    std::vector<std::string> found;
    std::string fragments;
    for (std::size_t at = 0; at < data.size(); at += step_bytes) {
        std::string step{data.substr(at, step_bytes)};
        std::span<std::byte> input = bytes_of(step);
        for (piece next = by.next(input); next != piece::nothing; next = by.next(input)) {
            if (next == piece::refused) {
                found.push_back(std::to_string(static_cast<int>(by.refusal())));
                return found;
            }
            if (next == piece::header) {
                found.push_back(std::to_string(by.flags()) + ":");
                CHECK(by.is_inside() == (by.body_bytes() != 0));
            } else if (next == piece::body) {
                found.back() += text_of(by.body());
            } else if (next == piece::fragment) {
                fragments += text_of(by.body());
            } else if (next == piece::end) {
                found.push_back(std::to_string(by.flags()) + ":" + std::exchange(fragments, {}));
            } else {
                found.push_back(std::to_string(static_cast<int>(by.control_kind())) + "!" +
                                text_of(by.control_payload()));
            }
        }
        CHECK(input.empty());
    }
    return found;
}

using list = std::vector<std::string>;

/// A client's frame, masked with 1, 2, 3, 4.
std::string masked(unsigned first, std::string_view payload) {
    const std::string key = "\1\2\3\4";
    std::string made{static_cast<char>(first), static_cast<char>(0x80 | payload.size())};
    made += key;
    for (std::size_t index = 0; index < payload.size(); ++index) {
        made += static_cast<char>(payload[index] ^ key[index % 4]);
    }
    return made;
}

} // namespace

TEST_SUITE("zws") {

    TEST_CASE("zws decoder: finds frames, commands and what WebSocket says between them, however "
              "they are cut") {
        const std::string long_body(300, 'x');
        const std::string from_server = "\x82\6\0hello\x82\1\1\x82\3\2ab\x89\2hi\x8a\0"s +
                                        "\x82\x7e\x01\x2d\0"s + long_body + "\x88\2\x03\xe8"s;
        const std::string from_client = masked(0x82, "\0hello"s) + masked(0x82, "\1"s) +
                                        masked(0x82, "\2ab"s) + masked(0x89, "hi") +
                                        masked(0x8a, "");
        const list expected{"0:hello", "1:", "4:ab", "9!hi", "10!"};
        for (std::size_t bytes = 1; bytes < 30; ++bytes) {
            CAPTURE(bytes);
            list of_server = expected;
            of_server.push_back("0:" + long_body);
            of_server.push_back("8!\x03\xe8");
            CHECK(decoded(from_server, sender::server, bytes) == of_server);
            CHECK(decoded(from_client, sender::client, bytes) == expected);
        }
    }

    TEST_CASE("zws decoder: refuses what is no frame of ZWS, with the code that says why") {
        struct refused {
            std::string data;
            sender from;
            int code;
        };
        const refused cases[] = {
            {"\x81\2\0a"s, sender::server, 1003},        // Text.
            {"\x80\2\0a"s, sender::server, 1002},        // The last of no frames.
            {"\2\2\0a\x82\2\0b"s, sender::server, 1002}, // A message in another.
            {"\2\0\x80\0"s, sender::server, 1002},       // No flags in several frames.
            {"\2\1\3"s, sender::server, 1002},
            {"\x82\0"s, sender::server, 1002},             // No flags.
            {"\x82\1\3"s, sender::server, 1002},           // A command with more.
            {"\x82\1\4"s, sender::server, 1002},           // Invalid flags.
            {"\xc2\1\0"s, sender::server, 1002},           // Compressed.
            {"\x82\x81\0\0\0\0\0"s, sender::server, 1002}, // A server that masks.
            {"\x82\1\0"s, sender::client, 1002},           // A client that does not.
            {"\x82\x7e\x03\xea"s, sender::server, 1009},   // 1002 octets, flags included.
            {"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"s, sender::server, 1009},
            {"\x82\x7f\xff\0\0\0\0\0\0\0"s, sender::server, 1002}, // A length with its top bit set.
        };
        for (const refused& each : cases) {
            for (std::size_t bytes = 1; bytes <= each.data.size(); ++bytes) {
                CAPTURE(each.data);
                CAPTURE(bytes);
                CHECK(decoded(each.data, each.from, bytes) == list{std::to_string(each.code)});
            }
        }
    }

    TEST_CASE("zws decoder: takes a body of exactly the limit") {
        const std::string body(1000, 'x');
        CHECK(decoded("\x82\x7e\x03\xe9\0"s + body, sender::server, 5000) == list{"0:" + body});
    }

    TEST_CASE("zws decoder: puts a message in several frames together, with pings between them") {
        const std::string from_client =
            masked(0x02, "") + masked(0x00, "\1he"s) + masked(0x89, "p") + masked(0x00, "l") +
            masked(0x80, "lo") + masked(0x82, "\0next"s) + masked(0x02, "\0"s) + masked(0x80, "");
        for (std::size_t bytes = 1; bytes < 60; ++bytes) {
            CAPTURE(bytes);
            CHECK(decoded(from_client, sender::client, bytes) ==
                  list{"9!p", "1:hello", "0:next", "0:"});
        }
        const std::string frame = "\x7e\x01\xf5\0"s + std::string(500, 'x');
        CHECK(decoded("\2" + frame + "\x80" + frame, sender::server, 7) == list{"1009"});
    }

    TEST_CASE("zws decoder: takes nothing behind what it refused") {
        zws::decoder by{sender::server, 10};
        std::string data = "\x81\1a\x82\1\0"s;
        std::span<std::byte> input = bytes_of(data);
        CHECK(by.next(input) == piece::refused);
        CHECK(by.next(input) == piece::refused);
        CHECK(by.refusal() == close_code::unsupported_data);
    }

} // TEST_SUITE
