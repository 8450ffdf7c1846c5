// SPDX-License-Identifier: MPL-2.0
#include "wire/zmtp/identity.hpp"

#include "testing/bytes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

using namespace zlink::wire::zmtp;
using zlink::errc;
using zlink::result;
using zlink::socket_type;
using zlink::testing::hex;

namespace {

constexpr peer_greeting v2{.version = peer_version::v2, .type = socket_type::dealer};
constexpr peer_greeting v1{.version = peer_version::v1, .type = socket_type::dealer};
constexpr peer_greeting unsigned_v1{.version = peer_version::v1};

std::vector<std::byte> sent_to(const peer_greeting& peer, std::string_view own_identity) {
    std::vector<std::byte> out;
    identity_exchange{peer}.start(own_identity, out);
    return out;
}

/// The outcome of an exchange whose peer sends `spelled` one octet at a time.
result<void> outcome_of(const peer_greeting& peer, std::string_view spelled) {
    identity_exchange exchange{peer};
    for (const std::byte& each : hex(spelled)) {
        std::span<const std::byte> input{&each, 1};
        if (const result<void> taken = exchange.on_received(input); !taken) {
            return taken;
        }
    }
    return {};
}

} // namespace

TEST_SUITE("wire/zmtp") {

    TEST_CASE("identity: is one frame, of which 1.0 without a signature has the header already") {
        CHECK(sent_to(v2, "") == hex("00 00"));
        CHECK(sent_to(v2, "me") == hex("00 02 'me'"));
        CHECK(sent_to(v1, "") == hex("01 00"));
        CHECK(sent_to(v1, "me") == hex("03 00 'me'"));
        CHECK(sent_to(unsigned_v1, "").empty());
        CHECK(sent_to(unsigned_v1, "me") == hex("'me'"));
        CHECK(sent_to(v1, std::string(255, 'i')) == hex("ff 0000000000000100 00 'i'*255"));
    }

    TEST_CASE("identity: is taken up to its last byte, and what follows is left alone") {
        struct {
            peer_greeting peer;
            const char* received;
            std::string identity;
        } const examples[] = {
            {v2, "00 00 'rest'", ""},
            {v2, "00 03 'you' 'rest'", "you"},
            {v2, "02 00000000000000ff 'y'*255 'rest'", std::string(255, 'y')},
            {v1, "01 00 'rest'", ""},
            {unsigned_v1, "04 00 'you' 'rest'", "you"},
            {unsigned_v1, "ff 0000000000000100 00 'y'*255 'rest'", std::string(255, 'y')},
        };
        for (const auto& example : examples) {
            CAPTURE(example.received);
            const auto received = hex(example.received);
            std::span<const std::byte> input{received};
            identity_exchange exchange{example.peer};
            CHECK(exchange.on_received(input));
            CHECK(exchange.is_complete());
            CHECK(exchange.identity() == example.identity);
            CHECK(input.size() == 4);
        }
    }

    TEST_CASE("identity: waits for its last byte") {
        for (const peer_greeting& peer : {v1, v2}) {
            const bool is_v1 = peer.version == peer_version::v1;
            const auto received = hex(is_v1 ? "04 00 'you'" : "00 03 'you'");
            identity_exchange exchange{peer};
            for (const std::byte& each : received) {
                CHECK(!exchange.is_complete());
                std::span<const std::byte> input{&each, 1};
                CHECK(exchange.on_received(input));
            }
            CHECK(exchange.is_complete());
        }
    }

    TEST_CASE("identity: refuses other frames, and other protocols") {
        for (const char* spelled : {"01 00", "04 00", "05 00", "08 00", "80 00"}) {
            CAPTURE(spelled);
            CHECK(outcome_of(v2, spelled).error() == errc::protocol_violation);
        }
        for (const char* spelled : {"00", "01 01", "01 80", "'GET / HTTP/1.1'", "16 03 01",
                                    "'SSH-2.0'", "ff 00*8 00", "ff 0000000000000100 7f"}) {
            CAPTURE(spelled);
            CHECK(outcome_of(unsigned_v1, spelled).error() == errc::protocol_violation);
        }
    }

    TEST_CASE("identity: refuses a size above the limit before the body arrives") {
        CHECK(outcome_of(v2, "02 0000000000000100").error() == errc::message_too_large);
        CHECK(outcome_of(v1, "ff 0000000000000101 00").error() == errc::message_too_large);
        CHECK(outcome_of(v1, "ff 7fffffffffffffff 00").error() == errc::message_too_large);
    }

} // TEST_SUITE
