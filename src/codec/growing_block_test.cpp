// SPDX-License-Identifier: MPL-2.0
#include "codec/growing_block.hpp"

#include "base/limits.hpp"
#include "testing/bytes.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace zlink;
using codec::growing_block;
using testing::bytes_of;
using testing::text;

namespace {

std::string content(const growing_block& of) {
    return std::string{text({of.data(), of.filled_bytes()})};
}

} // namespace

TEST_SUITE("growing block") {
    TEST_CASE("a peer that only announces a payload gets little memory for it") {
        growing_block payload;
        payload.begin(std::uint64_t{1} << 40, bytes_of("begun"), 0);
        CHECK(payload.capacity() <= 2 * limits::unproven_bytes_max);
        CHECK(content(payload) == "begun");
        CHECK(!payload.is_whole());
    }

    TEST_CASE("the block grows no faster than bytes arrive") {
        growing_block payload;
        constexpr std::uint64_t whole_bytes = 1'000'000;
        payload.begin(whole_bytes, {}, 0);
        std::string sent;
        while (!payload.is_whole()) {
            const std::string piece(
                std::min<std::size_t>(1000, whole_bytes - payload.filled_bytes()),
                static_cast<char>('a' + sent.size() / 1000 % 26));
            std::span<const std::byte> rest = bytes_of(piece);
            while (!rest.empty()) {
                payload.fill(rest);
                CHECK(payload.capacity() <=
                      std::max<std::size_t>(2 * limits::unproven_bytes_max,
                                            2 * limits::unproven_growth * payload.filled_bytes()));
            }
            sent += piece;
        }
        CHECK(content(payload) == sent);
        CHECK(payload.room().empty());
    }

    TEST_CASE("a payload as large as one that was completed gets all of its memory at once") {
        growing_block payload;
        payload.begin(100'000, {}, 100'000);
        CHECK(payload.room().size() == 100'000);
    }

    TEST_CASE("no more than the payload is taken of what arrived") {
        growing_block payload;
        payload.begin(10, bytes_of("0123"), 0);
        std::span<const std::byte> arrived = bytes_of("456789 and the next frame");
        CHECK(payload.fill(arrived) == 6);
        CHECK(text(arrived) == " and the next frame");
        CHECK(payload.is_whole());
        CHECK(content(payload) == "0123456789");
    }

    TEST_CASE("a payload of unknown size is appended to, and its block at least doubles") {
        growing_block payload;
        payload.append({});
        CHECK(!payload.is_begun());
        std::string sent;
        int moves = 0;
        const std::byte* last = nullptr;
        while (sent.size() < 100'000) {
            payload.append(bytes_of("0123456789"));
            sent += "0123456789";
            moves += payload.data() != last ? 1 : 0;
            last = payload.data();
        }
        CHECK(content(payload) == sent);
        CHECK(moves <= 16);
    }

    TEST_CASE("a block that was taken is the caller's, and the next payload begins with nothing") {
        growing_block payload;
        payload.append(bytes_of("first"));
        pipe::block* const taken = payload.take();
        CHECK(!payload.is_begun());
        CHECK(payload.filled_bytes() == 0);
        payload.append(bytes_of("second"));
        CHECK(content(payload) == "second");
        CHECK(text({taken->data, 5}) == "first");
        taken->drop();
        payload.drop();
        CHECK(payload.take() == nullptr);
    }

    TEST_CASE("a payload that is read into place is whole, and its block the caller's") {
        growing_block payload;
        payload.begin(20'000, {}, 20'000);
        CHECK(payload.room().size() == 20'000);
        const std::byte* const place = payload.data();
        payload.advance(20'000);
        CHECK(payload.is_whole());
        pipe::block* const taken = payload.take();
        CHECK(taken->data == place);
        taken->drop();
    }
}
