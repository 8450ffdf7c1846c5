// SPDX-License-Identifier: MPL-2.0
#include "base/copy_past_caches.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <numeric>
#include <vector>

namespace {

/// Whether `bytes` bytes arrive at an address that is `out_offset` bytes behind a line, from one
/// that is `in_offset` behind one, and nothing beside them changes.
bool arrives(std::size_t out_offset, std::size_t in_offset, std::size_t bytes) {
    constexpr std::size_t room = 1024;
    alignas(64) static unsigned char from[room];
    alignas(64) static unsigned char to[room];
    std::iota(std::begin(from), std::end(from), static_cast<unsigned char>(1));
    std::fill(std::begin(to), std::end(to), static_cast<unsigned char>(0xee));

    zlink::copy_past_caches(to + out_offset, from + in_offset, bytes);

    for (std::size_t index = 0; index < room; ++index) {
        const bool is_inside = index >= out_offset && index < out_offset + bytes;
        const unsigned char expected = is_inside ? from[in_offset + index - out_offset] : 0xee;
        if (to[index] != expected) {
            return false;
        }
    }
    return true;
}

} // namespace

TEST_SUITE("base") {

    TEST_CASE("copy_past_caches: copies any number of bytes to and from any address") {
        for (const std::size_t out_offset : {0, 1, 15, 16, 31, 63}) {
            for (const std::size_t in_offset : {0, 1, 8, 33}) {
                for (std::size_t bytes = 0; bytes < 400; ++bytes) {
                    CAPTURE(out_offset);
                    CAPTURE(in_offset);
                    CAPTURE(bytes);
                    REQUIRE(arrives(out_offset, in_offset, bytes));
                }
            }
        }
    }

} // TEST_SUITE
