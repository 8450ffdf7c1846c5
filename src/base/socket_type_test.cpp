// SPDX-License-Identifier: MPL-2.0
#include "base/socket_type.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <iterator>
#include <utility>

using zlink::may_talk;
using zlink::socket_type;
using zlink::socket_type_name;
using zlink::socket_type_named;

TEST_SUITE("base") {

    TEST_CASE("socket type: has its name and number on the wire") {
        CHECK(socket_type_name(socket_type{0}) == "PAIR");
        CHECK(socket_type_name(socket_type{1}) == "PUB");
        CHECK(socket_type_name(socket_type{2}) == "SUB");
        CHECK(socket_type_name(socket_type{3}) == "REQ");
        CHECK(socket_type_name(socket_type{4}) == "REP");
        CHECK(socket_type_name(socket_type{5}) == "DEALER");
        CHECK(socket_type_name(socket_type{6}) == "ROUTER");
        CHECK(socket_type_name(socket_type{7}) == "PULL");
        CHECK(socket_type_name(socket_type{8}) == "PUSH");
        CHECK(socket_type_name(socket_type{9}) == "XPUB");
        CHECK(socket_type_name(socket_type{10}) == "XSUB");
        CHECK(socket_type_name(socket_type{11}) == "STREAM");
        CHECK(socket_type_name(socket_type{12}) == "SERVER");
        CHECK(socket_type_name(socket_type{13}) == "CLIENT");
        CHECK(socket_type_name(socket_type{14}) == "RADIO");
        CHECK(socket_type_name(socket_type{15}) == "DISH");
        CHECK(socket_type_name(socket_type{16}) == "GATHER");
        CHECK(socket_type_name(socket_type{17}) == "SCATTER");
        CHECK(socket_type_name(socket_type{18}) == "DGRAM");
        CHECK(socket_type_name(socket_type{19}) == "PEER");
        CHECK(socket_type_name(socket_type{20}) == "CHANNEL");
        CHECK(socket_type_name(socket_type{21}).empty());
        CHECK(socket_type_name(socket_type{-1}).empty());
    }

    TEST_CASE("socket type: is found by its exact name") {
        CHECK(socket_type_named("ROUTER") == socket_type::router);
        CHECK(socket_type_named("PUB") == socket_type::pub);
        CHECK(!socket_type_named("Router"));
        CHECK(!socket_type_named("ROUTE"));
        CHECK(!socket_type_named("ROUTERS"));
        CHECK(!socket_type_named(""));
    }

    TEST_CASE("socket type: talks to the types that its pattern names, and to no others") {
        // A row is the own type, a column the peer's.
        constexpr const char* table[] = {
            // PAIR PUB SUB REQ REP DEALER ROUTER PULL PUSH XPUB XSUB STREAM
            "1 0 0 0 0 0 0 0 0 0 0 0", // PAIR
            "0 0 1 0 0 0 0 0 0 0 1 0", // PUB
            "0 1 0 0 0 0 0 0 0 1 0 0", // SUB
            "0 0 0 0 1 0 1 0 0 0 0 0", // REQ
            "0 0 0 1 0 1 0 0 0 0 0 0", // REP
            "0 0 0 0 1 1 1 0 0 0 0 0", // DEALER
            "0 0 0 1 0 1 1 0 0 0 0 0", // ROUTER
            "0 0 0 0 0 0 0 0 1 0 0 0", // PULL
            "0 0 0 0 0 0 0 1 0 0 0 0", // PUSH
            "0 0 1 0 0 0 0 0 0 0 1 0", // XPUB
            "0 1 0 0 0 0 0 0 0 1 0 0", // XSUB
            "0 0 0 0 0 0 0 0 0 0 0 0", // STREAM
        };
        for (int own = 0; own < 12; ++own) {
            for (int peer = 0; peer < 12; ++peer) {
                CAPTURE(own);
                CAPTURE(peer);
                CHECK(may_talk(socket_type{own}, socket_type{peer}) ==
                      (table[own][peer * 2] == '1'));
            }
        }
    }

    TEST_CASE("socket type: the draft types talk to their counterparts only") {
        using enum socket_type;
        constexpr std::pair<socket_type, socket_type> couples[] = {
            {server, client},
            {radio, dish},
            {gather, scatter},
            {socket_type::peer, socket_type::peer},
            {channel, channel}};
        for (int own = 0; own <= 21; ++own) {
            for (int other = own < 12 ? 12 : 0; other <= 21; ++other) {
                CAPTURE(own);
                CAPTURE(other);
                const bool is_couple =
                    std::any_of(std::begin(couples), std::end(couples), [&](const auto& each) {
                        return std::pair{socket_type{own}, socket_type{other}} == each ||
                               std::pair{socket_type{other}, socket_type{own}} == each;
                    });
                CHECK(may_talk(socket_type{own}, socket_type{other}) == is_couple);
            }
        }
    }

} // TEST_SUITE
