// SPDX-License-Identifier: MPL-2.0
#include "wire/tls_records.hpp"

#include <cstddef>
#include <doctest/doctest.h>
#include <span>
#include <string>
#include <vector>

using zlink::wire::tls_records;

namespace {

std::string record(std::size_t content_bytes) {
    std::string made{"\x17\x03\x03", 3};
    made += static_cast<char>(content_bytes >> 8);
    made += static_cast<char>(content_bytes & 0xff);
    return made + std::string(content_bytes, '\x03');
}

std::span<const std::byte> data(const std::string& text) {
    return std::as_bytes(std::span{text});
}

} // namespace

TEST_SUITE("wire") {

    TEST_CASE("tls records: stops behind as many as were asked for") {
        const std::string all = record(0) + record(22) + record(16'640) + record(1);
        const std::vector<std::size_t> ends{5, 32, 32 + 16'645, 32 + 16'645 + 6};
        for (unsigned count = 1; count <= ends.size(); ++count) {
            CAPTURE(count);
            CHECK(tls_records{}.step_over(data(all), count) == ends[count - 1]);
        }
        CHECK(tls_records{}.step_over(data(all), 5) == all.size());
    }

    TEST_CASE("tls records: goes on where a piece ended, wherever that is") {
        const std::string all = record(3) + record(300) + record(0) + record(2);
        for (std::size_t piece_bytes = 1; piece_bytes < all.size(); ++piece_bytes) {
            tls_records records;
            std::vector<std::size_t> ends;
            for (std::size_t begin = 0; begin < all.size();) {
                const std::string piece = all.substr(begin, piece_bytes);
                const std::size_t taken = records.step_over(data(piece), 1);
                begin += taken;
                if (taken < piece.size()) {
                    ends.push_back(begin); // A record ends within the piece.
                }
            }
            for (const std::size_t end : ends) {
                CAPTURE(piece_bytes);
                CHECK((end == 8 || end == 8 + 305 || end == 8 + 305 + 5));
            }
        }
    }

    TEST_CASE("tls records: takes nothing of nothing") {
        CHECK(tls_records{}.step_over({}, 1) == 0);
    }

} // TEST_SUITE
