// SPDX-License-Identifier: MPL-2.0
#include "base/socket_type.hpp"

#include <doctest/doctest.h>

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
        CHECK(socket_type_name(socket_type{12}).empty());
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

} // TEST_SUITE
