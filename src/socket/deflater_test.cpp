// SPDX-License-Identifier: MPL-2.0
#include "socket/deflater.hpp"
#include "testing/queue_contents.hpp"
#include "testing/web_compression.hpp"

#include <doctest/doctest.h>

#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace zlink;
using socket::deflater;
using testing::pattern;
using testing::web_decompressor;

namespace {

/// @return The payload; empty if it would take more than `bytes_max`.
std::string deflate(deflater& by, std::string_view message, std::size_t bytes_max) {
    std::vector<std::byte> out(bytes_max + deflater::spare_bytes);
    const std::size_t bytes = by.deflate(std::as_bytes(std::span{message}), out);
    return {reinterpret_cast<const char*>(out.data()), bytes};
}

/// Bytes that do not compress.
std::string noise(std::size_t bytes) {
    std::string made;
    for (unsigned state = 1; made.size() < bytes; state = state * 1664525 + 1013904223) {
        made += static_cast<char>(state >> 24);
    }
    return made;
}

} // namespace

TEST_SUITE("socket") {

    TEST_CASE("deflater: others read what it writes, at every level and window") {
        for (std::uint8_t window_bits = 9; window_bits <= 15; ++window_bits) {
            for (int level = 1; level <= 9; ++level) {
                CAPTURE(window_bits);
                CAPTURE(level);
                deflater by{window_bits, level};
                web_decompressor there{window_bits};
                for (const std::size_t bytes : {100, 5000, 100'000, 100}) {
                    const std::string message = std::string(50, 'x') + pattern(bytes);
                    const std::string payload = deflate(by, message, message.size() + 100);
                    CHECK(payload.size() < message.size());
                    CHECK(there.decompress(payload) == message);
                }
            }
        }
    }

    TEST_CASE("deflater: a message refers to those before it") {
        deflater by{15, 6};
        web_decompressor there;
        const std::string message = noise(1000);
        CHECK(there.decompress(deflate(by, message, 2000)) == message);
        const std::string again = deflate(by, message, 2000);
        CHECK(again.size() < 50);
        CHECK(there.decompress(again) == message);
    }

    TEST_CASE("deflater: says whether the payload fits, to the byte") {
        for (const std::string& message : {noise(500), pattern(500), std::string(1, 'x')}) {
            const std::size_t bytes = [&] {
                deflater by{15, 6};
                return deflate(by, message, message.size() + 100).size();
            }();
            for (std::size_t room = 0; room < bytes + 3; ++room) {
                CAPTURE(room);
                deflater by{15, 6};
                CHECK(deflate(by, message, room).size() == (room < bytes ? 0 : bytes));
            }
        }
    }

    TEST_CASE("deflater: takes as much memory as its limit allows, and says so where it is "
              "refused") {
        deflater largest{15, 9};
        CHECK(largest.bytes() <= 272 * 1024);
        deflater smallest{9, 9};
        CHECK(smallest.bytes() <= 16 * 1024);
        std::size_t refused_count = 0;
        for (std::size_t bytes_max = 0; bytes_max <= limits::deflater_bytes_max;
             bytes_max += 8192) {
            try {
                deflater by{15, 6, bytes_max};
                const bool is_done = !deflate(by, pattern(500), 500).empty();
                CHECK(is_done);
            } catch (const std::bad_alloc&) {
                ++refused_count;
            }
        }
        CHECK(refused_count > 25);
        CHECK(refused_count < 40);
    }

} // TEST_SUITE
