// SPDX-License-Identifier: MPL-2.0
#include "base/prefetch_for_writing.hpp"

#include <array>
#include <doctest/doctest.h>
#include <set>
#include <vector>

namespace limits = zlink::limits;
namespace tuning = zlink::tuning;

namespace {

constexpr std::size_t line = limits::cache_line_bytes;
constexpr std::size_t block = tuning::owned_block_bytes;

/// Memory in which each written byte is visible.
struct memory {
    alignas(tuning::owned_block_bytes) std::array<std::byte, 8 * tuning::owned_block_bytes> data;

    memory() { data.fill(std::byte{0xff}); }

    /// Takes the lines behind a message, and returns the offsets of the bytes that were written.
    std::vector<std::size_t> own(std::size_t begin, std::size_t end, std::size_t limit) {
        zlink::prefetch_for_writing(data.data() + begin, data.data() + end, data.data() + limit);
        std::vector<std::size_t> changed;
        for (std::size_t index = 0; index < data.size(); ++index) {
            if (data[index] != std::byte{0xff}) {
                changed.push_back(index);
            }
        }
        return changed;
    }
};

} // namespace

TEST_SUITE("base") {

    TEST_CASE("own_lines_ahead: does nothing within a block") {
        memory of;
        CHECK(of.own(0, 66, sizeof of.data).empty());
        CHECK(of.own(block - 66, block - 1, sizeof of.data).empty());
    }

    TEST_CASE("own_lines_ahead: owns the rest of a block that a message begins, line by line") {
        memory of;
        std::vector<std::size_t> expected;
        for (std::size_t at = block + line; at < 2 * block; at += line) {
            expected.push_back(at);
        }
        CHECK(of.own(block - 30, block + 36, sizeof of.data) == expected);
    }

    TEST_CASE("own_lines_ahead: owns as many lines as a long message has") {
        memory of;
        std::vector<std::size_t> expected;
        for (std::size_t at = 3 * block; at < 5 * block + 200; at += line) {
            expected.push_back(at);
        }
        CHECK(of.own(block - 100, 3 * block - 50, sizeof of.data).back() < 5 * block);
        CHECK(memory{}.own(block - 300, 3 * block - 50, sizeof of.data) == expected);
    }

    TEST_CASE("own_lines_ahead: writes nothing at its limit or beyond, nor before the end") {
        for (std::size_t limit = block + 36; limit <= 2 * block; ++limit) {
            memory of;
            for (const std::size_t at : of.own(block - 30, block + 36, limit)) {
                CHECK(at >= block + 36);
                CHECK(at < limit);
            }
        }
    }

} // TEST_SUITE
