// SPDX-License-Identifier: MPL-2.0
#include "base/head_start.hpp"

#include <doctest/doctest.h>

using zlink::head_start;
namespace tuning = zlink::tuning;

namespace {

constexpr std::uint64_t far_ahead = tuning::head_start_bytes_max + 1;

bool holds_back(head_start& how, std::uint64_t ahead_bytes, std::uint64_t payload_bytes) {
    return how.holds_back(ahead_bytes, payload_bytes, []() noexcept { return true; });
}

/// A producer waits for a consumer that takes nothing.
/// @return Whether it waited at all.
bool wait_in_vain(head_start& how) {
    bool has_waited = false;
    while (holds_back(how, far_ahead, 1)) {
        has_waited = true;
    }
    return has_waited;
}

} // namespace

TEST_SUITE("base") {

    TEST_CASE("head start: holds nobody back who is close to the reader") {
        head_start how;
        CHECK(!holds_back(how, 0, 1));
        CHECK(!holds_back(how, tuning::head_start_bytes_max, 1));
    }

    TEST_CASE("head start: is a few payloads, where they are large") {
        constexpr std::uint64_t payload_bytes = 10 * tuning::head_start_bytes_max;
        head_start how;
        CHECK(!holds_back(how, tuning::head_start_payloads_max * payload_bytes, payload_bytes));
        CHECK(holds_back(how, tuning::head_start_payloads_max * payload_bytes + 1, payload_bytes));
    }

    TEST_CASE("head start: who is far ahead goes on once the reader has taken a step") {
        head_start how;
        for (int times = 0; times < 3; ++times) {
            REQUIRE(holds_back(how, far_ahead, 1));
            CHECK(!holds_back(how, far_ahead - tuning::head_start_step_bytes, 1));
        }
    }

    TEST_CASE("head start: does not wait for long, and ever less often, if the reader takes none") {
        head_start how;
        CHECK(wait_in_vain(how));
        for (const int skipped : {1, 3, 7, 15}) {
            for (int times = 0; times < skipped; ++times) {
                CHECK(!wait_in_vain(how));
            }
            CHECK(wait_in_vain(how));
        }
    }

    TEST_CASE("head start: waits each time again once that has helped") {
        head_start how;
        CHECK(wait_in_vain(how));
        CHECK(!wait_in_vain(how));
        REQUIRE(holds_back(how, far_ahead, 1));
        CHECK(!holds_back(how, 0, 1));
        CHECK(holds_back(how, far_ahead, 1));
    }

    TEST_CASE("head start: holds nobody back while giving way is not worth it") {
        head_start how;
        const auto never = []() noexcept { return false; };
        CHECK(!how.holds_back(far_ahead, 1, never));
        CHECK(!how.holds_back(far_ahead, 1, never));
        CHECK(holds_back(how, far_ahead, 1));
    }

} // TEST_SUITE
