// SPDX-License-Identifier: MPL-2.0
// Peers are given as octets; each exchange gets them at once and one by one.
#include "wire/zmtp/greeting.hpp"

#include "testing/bytes.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace zlink::wire::zmtp;
using zlink::socket_type;
using zlink::testing::hex;

namespace {

constexpr const char* libzmq_greeting =
    "ff 00*7 01 7f 03 01 'NULL' 00*16 00 00*31"; // Sent by libzmq 4.3.

std::vector<std::byte> staged(const greeting_exchange& exchange) {
    const auto outgoing = exchange.outgoing();
    return {outgoing.begin(), outgoing.end()};
}

/// Passes `spelled` to `exchange` at once, and returns the number of octets left.
std::size_t left_after(greeting_exchange& exchange, std::string_view spelled) {
    const auto received = hex(spelled);
    std::span<const std::byte> input{received};
    exchange.on_received(input);
    return input.size();
}

} // namespace

TEST_SUITE("wire/zmtp") {

    TEST_CASE("greeting: begins with the signature alone") {
        const greeting_exchange exchange{"NULL", 0, socket_type::pull};
        CHECK(exchange.state() == greeting_state::signature);
        CHECK(staged(exchange) == hex("ff 00*7 01 7f"));
    }

    TEST_CASE("greeting: tells a 1.0 peer the size of the routing id, one added") {
        CHECK(staged(greeting_exchange{"NULL", 5, socket_type::pull}) == hex("ff 00*7 06 7f"));
        CHECK(staged(greeting_exchange{"NULL", 255, socket_type::pull}) == hex("ff 00*6 01 00 7f"));
    }

    TEST_CASE(
        "greeting: sends its version once the signature is there, the rest after the version") {
        greeting_exchange exchange{"PLAIN", 0, socket_type::pull};
        exchange.on_sent(10);

        CHECK(left_after(exchange, "ff 00*7 01") == 0);
        CHECK(staged(exchange).empty());
        CHECK(left_after(exchange, "7f") == 0);
        CHECK(exchange.state() == greeting_state::version);
        CHECK(staged(exchange) == hex("03"));
        exchange.on_sent(1);
        CHECK(left_after(exchange, "03") == 0);
        CHECK(exchange.state() == greeting_state::rest);
        CHECK(staged(exchange) == hex("01 'PLAIN' 00*15 00 00*31"));
    }

    TEST_CASE("greeting: sends 64 bytes in all, however many of them are sent at a time") {
        greeting_exchange exchange{"CURVE", 0, socket_type::pull};
        const auto received = hex("ff 00*8 7f 03 01 'CURVE' 00*15 01 00*31");
        std::vector<std::byte> sent;
        const auto send_one = [&] {
            sent.push_back(exchange.outgoing().front());
            exchange.on_sent(1);
        };

        for (std::size_t byte = 0; byte < received.size(); ++byte) {
            std::span<const std::byte> input{&received[byte], 1};
            exchange.on_received(input);
            if (!exchange.outgoing().empty()) {
                send_one();
            }
        }
        while (!exchange.outgoing().empty()) {
            send_one();
        }

        CHECK(exchange.state() == greeting_state::complete);
        CHECK(sent == hex("ff 00*7 01 7f 03 01 'CURVE' 00*15 00 00*31"));
    }

    TEST_CASE("greeting: learns version, mechanism and role of the peer") {
        greeting_exchange exchange{"CURVE", 0, socket_type::pull};
        CHECK(left_after(exchange, "ff 00*8 7f 03 00 'CURVE' 00*15 01 00*31") == 0);
        CHECK(exchange.state() == greeting_state::complete);
        CHECK(exchange.peer().version == peer_version::v3);
        CHECK(exchange.peer().major == 3);
        CHECK(exchange.peer().minor == 0);
        CHECK(exchange.peer().mechanism == "CURVE");
        CHECK(exchange.peer().as_server);
        CHECK(!exchange.peer().has_subscribe_command());
    }

    TEST_CASE("greeting: is complete with its 64th byte and not before") {
        greeting_exchange exchange{"NULL", 0, socket_type::pull};
        const auto received = hex(libzmq_greeting);
        CHECK(received.size() == 64);
        for (std::size_t byte = 0; byte < 64; ++byte) {
            CHECK(exchange.state() != greeting_state::complete);
            std::span<const std::byte> input{&received[byte], 1};
            exchange.on_received(input);
            CHECK(input.empty());
        }
        CHECK(exchange.state() == greeting_state::complete);
        CHECK(exchange.peer().has_subscribe_command());
    }

    TEST_CASE("greeting: leaves what follows it alone, wherever the input is split") {
        const auto received = hex(std::string{libzmq_greeting} + " 04 05 'READY'");
        for (std::size_t split = 0; split <= received.size(); ++split) {
            greeting_exchange exchange{"NULL", 0, socket_type::pull};
            std::span<const std::byte> first{received.data(), split};
            exchange.on_received(first);
            std::span<const std::byte> second{received.data() + split, received.size() - split};
            exchange.on_received(second);

            CHECK(exchange.state() == greeting_state::complete);
            CHECK(first.size() + second.size() == 7);
            CHECK(exchange.received().size() == 64);
        }
    }

    TEST_CASE("greeting: does not look at padding, filler and the other bits of the 10th byte") {
        greeting_exchange exchange{"NULL", 0, socket_type::pull};
        CHECK(left_after(exchange, "ff ff*8 01 03 01 'NULL' 00*16 fe ee*31") == 0);
        CHECK(exchange.state() == greeting_state::complete);
        CHECK(!exchange.peer().as_server);
    }

    TEST_CASE("greeting: accepts versions that are yet to come") {
        greeting_exchange minor_seven{"NULL", 0, socket_type::pull};
        left_after(minor_seven, "ff 00*8 7f 03 07 'NULL' 00*16 00*32");
        CHECK(minor_seven.state() == greeting_state::complete);
        CHECK(minor_seven.peer().has_subscribe_command());

        greeting_exchange major_last{"NULL", 0, socket_type::pull};
        left_after(major_last, "ff 00*8 7f ff 00 'NULL' 00*16 00*32");
        CHECK(major_last.state() == greeting_state::complete);
        CHECK(major_last.peer().major == 255);
        CHECK(major_last.peer().has_subscribe_command());
    }

    TEST_CASE("greeting: takes a first byte other than ff for version 1.0, and no more than it") {
        greeting_exchange exchange{"NULL", 0, socket_type::pull};
        CHECK(left_after(exchange, "01 00 'abc'") == 4);
        CHECK(exchange.state() == greeting_state::older_peer);
        CHECK(exchange.peer().version == peer_version::v1);
        CHECK(!exchange.peer().type);
        CHECK(exchange.received().size() == 1);
        CHECK(staged(exchange).size() == 10);
    }

    TEST_CASE("greeting: takes an even 10th byte for version 1.0 with a long identity") {
        greeting_exchange exchange{"NULL", 0, socket_type::pull};
        CHECK(left_after(exchange, "ff 00*6 01 00 7e 'a'*255") == 255);
        CHECK(exchange.state() == greeting_state::older_peer);
        CHECK(exchange.peer().version == peer_version::v1);
        CHECK(exchange.received().size() == 10);
        CHECK(staged(exchange).size() == 10);
    }

    TEST_CASE("greeting: takes revisions 1 and 2 for version 2.0, and tells our type") {
        for (const char* spelled : {"ff 00*7 01 7f 01 08 00 00", "ff 00*7 01 7f 02 08 00 00"}) {
            greeting_exchange exchange{"NULL", 0, socket_type::pull};
            CHECK(left_after(exchange, spelled) == 2);
            CHECK(exchange.state() == greeting_state::older_peer);
            CHECK(exchange.peer().version == peer_version::v2);
            CHECK(exchange.peer().type == socket_type::push);
            CHECK(exchange.received().size() == 12);
            CHECK(staged(exchange) == hex("ff 00*7 01 7f 03 07"));
        }
    }

    TEST_CASE("greeting: knows an older peer from its revision on, before its type is there") {
        greeting_exchange exchange{"NULL", 0, socket_type::pull};
        CHECK(left_after(exchange, "ff 00*7 01 7f 01") == 0);
        CHECK(exchange.state() == greeting_state::socket_type);
        CHECK(exchange.peer().version == peer_version::v2);
        CHECK(staged(exchange) == hex("ff 00*7 01 7f 03 07"));
    }

    TEST_CASE("greeting: takes revision 0 for version 1.0 behind a signature") {
        greeting_exchange exchange{"NULL", 0, socket_type::pull};
        CHECK(left_after(exchange, "ff 00*7 01 7f 00 08 01 00") == 2);
        CHECK(exchange.state() == greeting_state::older_peer);
        CHECK(exchange.peer().version == peer_version::v1);
        CHECK(exchange.peer().type == socket_type::push);
        CHECK(exchange.received().size() == 12);
    }

    TEST_CASE("greeting: takes nothing more from a peer that is older") {
        greeting_exchange exchange{"NULL", 0, socket_type::pull};
        left_after(exchange, "01");
        CHECK(left_after(exchange, "00 'abc'") == 4);
        CHECK(exchange.received().size() == 1);
    }

    TEST_CASE("greeting: refuses a mechanism that is not exactly ours") {
        for (const char* spelled :
             {"ff 00*8 7f 03 01 'PLAIN' 00*15 00*32", // Another one.
              "ff 00*8 7f 03 01 00*20 00*32",         // None.
              "ff 00*8 7f 03 01 'NULLL' 00*15 00*32", // A longer one.
              "ff 00*8 7f 03 01 'NUL' 00*17 00*32",   // A shorter one.
              "ff 00*8 7f 03 01 'null' 00*16 00*32",
              "ff 00*8 7f 03 01 'NULL' 00*15 01 00*32", // Padding that is not zero.
              "ff 00*8 7f 03 01 'N'*20 00*32"}) {
            greeting_exchange exchange{"NULL", 0, socket_type::pull};
            CHECK(left_after(exchange, spelled) == 0);
            CHECK(exchange.state() == greeting_state::mechanism_mismatch);
        }
    }

    TEST_CASE("greeting: carries a mechanism of 20 characters") {
        greeting_exchange exchange{"ABCDEFGHIJKLMNOPQRST", 0, socket_type::pull};
        left_after(exchange, "ff 00*8 7f 03 01 'ABCDEFGHIJKLMNOPQRST' 00*32");
        CHECK(exchange.state() == greeting_state::complete);
        CHECK(exchange.peer().mechanism == "ABCDEFGHIJKLMNOPQRST");
    }

} // TEST_SUITE
