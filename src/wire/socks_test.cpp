// SPDX-License-Identifier: MPL-2.0
#include "wire/socks.hpp"

#include "testing/bytes.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace zlink;
using testing::hex;
using wire::socks_exchange;
using wire::socks_request;

namespace {

std::string sent(const socks_exchange& by) {
    return std::string(testing::text(by.outgoing()));
}

std::string spelled(std::string_view bytes_of) {
    return std::string(testing::text(hex(bytes_of)));
}

void answer(socks_exchange& to, std::string_view spelling) {
    const auto reply = hex(spelling);
    REQUIRE(reply.size() == to.wanted_bytes());
    REQUIRE(static_cast<bool>(to.on_received(reply)));
}

errc refusal(socks_exchange& to, std::string_view spelling) {
    const auto reply = hex(spelling);
    REQUIRE(reply.size() == to.wanted_bytes());
    const result<void> taken = to.on_received(reply);
    REQUIRE(!taken);
    return taken.error();
}

socks_exchange begin(const socks_request& wanted) {
    auto made = socks_exchange::make(wanted);
    REQUIRE(static_cast<bool>(made));
    return std::move(*made);
}

} // namespace

TEST_SUITE("socks") {

    TEST_CASE("socks: asks for a name, and reads no byte of the peer's") {
        socks_exchange one =
            begin({.host = "server", .port = 5555, .username = {}, .password = {}});
        CHECK(sent(one) == spelled("05 01 00"));
        answer(one, "05 00");
        CHECK(sent(one) == spelled("05 01 00 03 06 'server' 15b3"));
        answer(one, "05 00 00 01 7f");
        CHECK(sent(one).empty());
        answer(one, "000001 1f90");
        CHECK(one.wanted_bytes() == 0);
    }

    TEST_CASE("socks: asks for addresses as such, and takes every kind in the reply") {
        socks_exchange v4 = begin({.host = "192.0.2.1", .port = 1, .username = {}, .password = {}});
        answer(v4, "05 00");
        CHECK(sent(v4) == spelled("05 01 00 01 c0000201 0001"));
        answer(v4, "05 00 00 03 05");
        answer(v4, "'proxy' 0001");
        CHECK(v4.wanted_bytes() == 0);

        socks_exchange v6 = begin({.host = "::1", .port = 256, .username = {}, .password = {}});
        answer(v6, "05 00");
        CHECK(sent(v6) == spelled("05 01 00 04 00*15 01 0100"));
        answer(v6, "05 00 00 04 00");
        answer(v6, "00*15 0001");
        CHECK(v6.wanted_bytes() == 0);
    }

    TEST_CASE("socks: tells user and password if the proxy asks for them") {
        const socks_request wanted{
            .host = "h", .port = 1, .username = "me", .password = secret_text{"secret"}};
        socks_exchange asked = begin(wanted);
        CHECK(sent(asked) == spelled("05 02 00 02"));
        answer(asked, "05 02");
        CHECK(sent(asked) == spelled("01 02 'me' 06 'secret'"));
        answer(asked, "01 00");
        CHECK(sent(asked) == spelled("05 01 00 03 01 'h' 0001"));

        socks_exchange not_asked = begin(wanted);
        answer(not_asked, "05 00");
        CHECK(sent(not_asked) == spelled("05 01 00 03 01 'h' 0001"));

        socks_exchange refused = begin(wanted);
        answer(refused, "05 02");
        CHECK(refusal(refused, "01 01") == errc::not_supported);
    }

    TEST_CASE("socks: says why there is no connection") {
        const socks_request wanted{.host = "h", .port = 1, .username = {}, .password = {}};
        for (const char* const method : {"05 02", "05 ff", "05 01"}) {
            socks_exchange one = begin(wanted);
            CHECK(refusal(one, method) == errc::not_supported);
        }
        socks_exchange other = begin(wanted);
        CHECK(refusal(other, "04 00") == errc::protocol_violation);
        const struct {
            const char* reply;
            errc reason;
        } replies[] = {{"05 05 00 01 00", errc::connection_refused},
                       {"05 01 00 01 00", errc::host_unreachable},
                       {"05 ff 00 01 00", errc::host_unreachable},
                       {"04 00 00 01 00", errc::protocol_violation},
                       {"05 00 00 02 00", errc::protocol_violation}};
        for (const auto& [reply, reason] : replies) {
            CAPTURE(reply);
            socks_exchange one = begin(wanted);
            answer(one, "05 00");
            CHECK(refusal(one, reply) == reason);
        }
    }

    TEST_CASE("socks: refuses texts that its lengths cannot tell") {
        const std::string longest(255, 'x');
        CHECK(static_cast<bool>(socks_exchange::make({longest, 1, longest, secret_text{longest}})));
        CHECK(!socks_exchange::make({longest + "x", 1, {}, {}}));
        CHECK(!socks_exchange::make({"", 1, {}, {}}));
        CHECK(!socks_exchange::make({"h", 1, longest + "x", {}}));
        CHECK(!socks_exchange::make({"h", 1, "me", secret_text{longest + "x"}}));
    }
}
