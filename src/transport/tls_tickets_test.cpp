// SPDX-License-Identifier: MPL-2.0
#include "transport/tls_tickets.hpp"

#include "base/limits.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using zlink::limits::tls_ticket_key_life;
using zlink::transport::ticket_key;
using zlink::transport::ticket_keys;
using found = ticket_keys::found;

TEST_SUITE("transport") {

    TEST_CASE("tls tickets: keep a key for its life, and open its tickets for as long again") {
        ticket_keys keys;
        const ticket_keys::clock::time_point start{};
        ticket_key first;
        REQUIRE(keys.current(start, first));

        ticket_key again;
        REQUIRE(keys.current(start + tls_ticket_key_life - 1s, again));
        CHECK(again.name == first.name);
        CHECK(keys.find(first.name, start + tls_ticket_key_life - 1s, again) == found::fresh);

        ticket_key second;
        REQUIRE(keys.current(start + tls_ticket_key_life, second));
        CHECK(second.name != first.name);
        CHECK(keys.find(first.name, start + tls_ticket_key_life, again) == found::old);
        CHECK(again.name == first.name);
        CHECK(keys.find(second.name, start + tls_ticket_key_life, again) == found::fresh);
        CHECK(keys.find(first.name, start + 2 * tls_ticket_key_life - 1s, again) == found::old);
        CHECK(keys.find(first.name, start + 2 * tls_ticket_key_life, again) == found::none);
    }

    TEST_CASE("tls tickets: open none that others made") {
        ticket_keys keys;
        ticket_keys others;
        const ticket_keys::clock::time_point start{};
        ticket_key ours;
        ticket_key theirs;
        REQUIRE(keys.current(start, ours));
        REQUIRE(others.current(start, theirs));
        CHECK(keys.find(theirs.name, start, ours) == found::none);
    }

    TEST_CASE("tls tickets: forget a key that nobody asked for in time, with those before it") {
        ticket_keys keys;
        const ticket_keys::clock::time_point start{};
        ticket_key first;
        ticket_key next;
        REQUIRE(keys.current(start, first));
        REQUIRE(keys.current(start + 5 * tls_ticket_key_life, next));
        CHECK(keys.find(first.name, start + 5 * tls_ticket_key_life, next) == found::none);
    }

} // TEST_SUITE
