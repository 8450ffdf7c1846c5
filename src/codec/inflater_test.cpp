// SPDX-License-Identifier: MPL-2.0
#include "codec/inflater.hpp"
#include "testing/queue_contents.hpp"
#include "testing/web_compression.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace std::string_literals;
using namespace zlink;
using codec::inflater;
using testing::pattern;
using testing::web_compressed;
using testing::web_compressor;

namespace {

constexpr wire::websocket::deflate_direction kept{.window_bits = 15, .keeps_context = true};
constexpr wire::websocket::deflate_direction alone{.window_bits = 15, .keeps_context = false};

/// Appends the output that `by` makes of its input.
bool drain(inflater& by, std::string& message, std::size_t room_bytes) {
    std::vector<std::byte> room(room_bytes);
    while (!by.is_corrupt()) {
        const std::size_t made = by.inflate(room);
        message.append(reinterpret_cast<const char*>(room.data()), made);
        if (made < room.size()) {
            break;
        }
    }
    return !by.is_corrupt();
}

/// @return The message; nothing if it is corrupt.
std::optional<std::string> inflate(inflater& by, std::string_view payload,
                                   std::size_t part_bytes = SIZE_MAX,
                                   std::size_t room_bytes = 4096) {
    std::string message;
    while (!payload.empty()) {
        const std::string part{payload.substr(0, part_bytes)}; // Destroyed afterwards.
        payload.remove_prefix(part.size());
        by.begin_part(std::as_bytes(std::span{part}));
        if (!drain(by, message, room_bytes)) {
            return std::nullopt;
        }
    }
    by.end_message();
    if (!drain(by, message, room_bytes) || !by.is_whole()) {
        return std::nullopt;
    }
    by.rest();
    return message;
}

} // namespace

TEST_SUITE("codec") {

    TEST_CASE("inflater: undoes what deflate did, whatever the pieces") {
        for (const std::size_t bytes : {0, 1, 100, 4096, 100'000}) {
            for (const std::size_t part_bytes : {std::size_t{1}, std::size_t{7}, SIZE_MAX}) {
                for (const std::size_t room_bytes : {1, 2, 3, 100, 4096}) {
                    for (const auto& how : {kept, alone}) {
                        CAPTURE(bytes);
                        CAPTURE(part_bytes);
                        CAPTURE(room_bytes);
                        inflater by{how};
                        const std::string message = pattern(bytes);
                        CHECK(inflate(by, web_compressed(message), part_bytes, room_bytes) ==
                              message);
                        CHECK(inflate(by, web_compressed(message), part_bytes, room_bytes) ==
                              message);
                    }
                }
            }
        }
    }

    TEST_CASE("inflater: reads the examples of RFC 7692, 7.2.3") {
        inflater by{kept};
        CHECK(inflate(by, "\xf2\x48\xcd\xc9\xc9\x07\x00"s) == "Hello");
        CHECK(inflate(by, "\xf2\x00\x11\x00\x00"s) == "Hello"); // Refers to the message before.
        CHECK(inflate(by, "\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00"s) == "Hello");
        CHECK(inflate(by, "\xf3\x48\xcd\xc9\xc9\x07\x00\x00"s) == "Hello"); // BFINAL
        CHECK(inflate(by, "\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00"s) == "Hello");
        CHECK(inflate(by, "\x00"s) == "");
        CHECK(inflate(by, "") == "");
    }

    TEST_CASE("inflater: takes streams that end within a message, and after them what follows") {
        for (const std::size_t part_bytes : {std::size_t{1}, std::size_t{3}, SIZE_MAX}) {
            inflater by{kept};
            web_compressor from;
            const std::string ended = from.compress_to_end("one ");
            CHECK(inflate(by, ended, part_bytes) == "one ");
            CHECK(inflate(by, ended + ended + from.compress("two"), part_bytes) == "one one two");
        }
    }

    TEST_CASE("inflater: a message refers to those before it where that was agreed, only there") {
        const std::string message = pattern(1000);
        web_compressor from;
        const std::string first = from.compress(message);
        const std::string second = from.compress(message);
        CHECK(second.size() < 30);
        inflater keeping{kept};
        CHECK(inflate(keeping, first) == message);
        CHECK(inflate(keeping, second) == message);
        inflater forgetting{alone};
        CHECK(inflate(forgetting, first) == message);
        CHECK(inflate(forgetting, second) == std::nullopt);
    }

    TEST_CASE("inflater: refuses what is no deflate, and what is cut off") {
        const std::string payload = web_compressed(pattern(300));
        for (std::size_t bytes = 1; bytes < payload.size(); ++bytes) {
            CAPTURE(bytes);
            inflater by{alone};
            CHECK(inflate(by, std::string_view{payload}.substr(0, bytes)) == std::nullopt);
        }
        for (const std::string& each : {"\x07"s, "\xff\xff\xff\xff"s, "\x00\x05\x00\xfa\xfe"s,
                                        "\x02"s, "\x01\x00\x00\xff"s}) {
            CAPTURE(each);
            inflater by{alone};
            CHECK(inflate(by, each) == std::nullopt);
        }
    }

    TEST_CASE("inflater: takes as much memory as its limit allows, none before the first message, "
              "and gives it back between messages where it may") {
        const std::string message = pattern(200'000);
        for (const auto& how : {kept, alone}) {
            inflater by{how};
            CHECK(by.bytes() == 0);
            const std::string payload = web_compressed(message);
            by.begin_part(std::as_bytes(std::span{payload}));
            std::string out;
            CHECK(drain(by, out, 4096));
            CHECK(by.bytes() > 32 * 1024);
            CHECK(by.bytes() <= 48 * 1024);
            by.rest(); // Not within a message.
            CHECK(by.bytes() > 32 * 1024);
            by.end_message();
            CHECK(drain(by, out, 4096));
            CHECK(by.is_whole());
            CHECK(out == message);
            by.rest();
            CHECK((by.bytes() != 0) == how.keeps_context);
        }
    }

    TEST_CASE("inflater: says so where memory is refused, each time that it asks for some") {
        const std::string message = pattern(200'000);
        const std::string payload = web_compressed(message);
        std::size_t refused_count = 0;
        for (std::size_t bytes_max = 0; bytes_max <= limits::inflater_bytes_max;
             bytes_max += 1024) {
            inflater by{alone, bytes_max};
            try {
                const bool is_right = inflate(by, payload) == message;
                CHECK(is_right);
            } catch (const std::bad_alloc&) {
                ++refused_count;
            }
        }
        CHECK(refused_count > 30);
        CHECK(refused_count < 60);
    }

} // TEST_SUITE
