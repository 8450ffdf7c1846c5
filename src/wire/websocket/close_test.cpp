// SPDX-License-Identifier: MPL-2.0
#include "wire/websocket/close.hpp"

#include "testing/bytes.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

using namespace zlink;
using namespace zlink::wire::websocket;
using testing::hex;

namespace {

using payload_buffer = std::array<std::byte, close_payload_bytes_max>;

/// The close frame's payload for `code` and `reason`.
std::vector<std::byte> encoded(close_code code, std::string_view reason = {}) {
    payload_buffer out;
    const result<std::size_t> bytes = encode_close(out, code, reason);
    REQUIRE(bytes);
    return {out.begin(), out.begin() + static_cast<long>(*bytes)};
}

std::optional<close_code> failure_of(std::string_view spelled) {
    close_view out;
    return decode_close(hex(spelled), out);
}

} // namespace

TEST_SUITE("wire/websocket") {

    TEST_CASE("close: exactly the codes that RFC 6455 and the registry allow may be sent") {
        for (unsigned number = 0; number <= 0xffff; ++number) {
            const bool is_allowed = number == 1000 || number == 1001 || number == 1002 ||
                                    number == 1003 || (number >= 1007 && number <= 1014) ||
                                    (number >= 3000 && number < 5000);
            if (may_be_sent(static_cast<close_code>(number)) != is_allowed) {
                FAIL_CHECK(number);
            }
        }
    }

    TEST_CASE("close: reads the code and the reason") {
        const auto payload = hex("03e8 'bye ' e282ac");
        close_view out;
        CHECK(!decode_close(payload, out));
        CHECK(out.code == close_code::normal);
        CHECK(out.reason == "bye \xe2\x82\xac");
    }

    TEST_CASE("close: without a payload there is no code") {
        close_view out{close_code::normal, "before"};
        CHECK(!decode_close({}, out));
        CHECK(out.code == close_code::none);
        CHECK(out.reason.empty());
    }

    TEST_CASE("close: a code without a reason, and the longest reason, are valid") {
        close_view out;
        CHECK(!decode_close(hex("0bb8"), out));
        CHECK(out.code == close_code{3000});
        CHECK(out.reason.empty());

        const auto longest = hex("1387 'r'*123");
        CHECK(!decode_close(longest, out));
        CHECK(out.code == close_code{4999});
        CHECK(out.reason == std::string(123, 'r'));
    }

    TEST_CASE("close: refuses one byte, and codes that are not for the wire, with 1002") {
        for (const char* spelled : {"03", "03 'e'", "0000", "03e7", "03ec", "03ed", "03ee", "03f7",
                                    "03f8", "0bb7", "1388", "ffff"}) {
            CAPTURE(spelled);
            CHECK(failure_of(spelled) == close_code::protocol_error);
        }
    }

    TEST_CASE("close: refuses a reason that is no UTF-8, or ends within a character, with 1007") {
        CHECK(failure_of("03e8 ff") == close_code::invalid_payload);
        CHECK(failure_of("03e8 'a' e282") == close_code::invalid_payload);
        CHECK(failure_of("03e8 eda080") == close_code::invalid_payload);
    }

    TEST_CASE("close: leaves the result untouched when it refuses") {
        close_view out{close_code::going_away, "before"};
        CHECK(decode_close(hex("03ed"), out));
        CHECK(decode_close(hex("03e8 ff"), out));
        CHECK(out.code == close_code::going_away);
        CHECK(out.reason == "before");
    }

    TEST_CASE("close: is written as code and reason, or as nothing") {
        CHECK(encoded(close_code::going_away, "restart") == hex("03e9 'restart'"));
        CHECK(encoded(close_code::too_large) == hex("03f1"));
        CHECK(encoded(close_code{4000}, std::string(123, 'r')) == hex("0fa0 'r'*123"));
        CHECK(encoded(close_code::none).empty());
    }

    TEST_CASE("close: what may not be sent is not written") {
        payload_buffer out;
        const auto error_of = [&](close_code code, std::string_view reason) {
            const result<std::size_t> bytes = encode_close(out, code, reason);
            REQUIRE(!bytes);
            return bytes.error();
        };
        CHECK(error_of(close_code::abnormal, "") == errc::invalid_argument);
        CHECK(error_of(close_code::none, "reason") == errc::invalid_argument);
        CHECK(error_of(close_code{1004}, "") == errc::invalid_argument);
        CHECK(error_of(close_code{1015}, "") == errc::invalid_argument);
        CHECK(error_of(close_code{999}, "") == errc::invalid_argument);
        CHECK(error_of(close_code{5000}, "") == errc::invalid_argument);
        CHECK(error_of(close_code::normal, std::string(124, 'r')) == errc::invalid_argument);
        CHECK(error_of(close_code::normal, "\xff") == errc::invalid_argument);
        CHECK(error_of(close_code::normal, "\xe2\x82") == errc::invalid_argument);
    }

} // TEST_SUITE
