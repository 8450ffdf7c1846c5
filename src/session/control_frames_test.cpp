// SPDX-License-Identifier: MPL-2.0
#include "testing/session_harness.hpp"
#include "testing/web_upgrade.hpp"

#include <chrono>
#include <doctest/doctest.h>
#include <string>

// Control frames of a peer cost the other sessions of its I/O thread little, however many there
// are: counted in actions of the thread, and in turns.

using namespace std::chrono_literals;
using namespace std::string_literals;
using namespace zlink;
using testing::scripted_stream;
using testing::session_harness;
using testing::session_options;
using testing::times;

namespace {

/// The bytes that a connecting peer sends before its first message.
std::string opening() {
    std::string greeting = "\xff\0\0\0\0\0\0\0\1\x7f\3\1NULL"s;
    greeting.resize(64, '\0');
    return greeting + "\x04\x1a\5READY\xbSocket-Type\0\0\0\4PAIR"s;
}

/// A PING whose sender may be silent for so many tenths of a second.
std::string ping(char ttl) {
    return "\x04\x07\x04PING\0"s + ttl;
}

const std::string web_ping = "\x89\x80\0\0\0\0"s;

} // namespace

TEST_SUITE("session") {

    TEST_CASE("control frames: PINGs that come at once take one timer and one answer's writing") {
        session_harness one;
        scripted_stream& stream = one.accept();
        one.peer_sends(opening());
        REQUIRE(one.has_pipe());
        const std::size_t before = stream.operation_count();
        stream.peer_sends(times(5000, ping(9)) + ping(3));
        CHECK(one.run_counting() < 20);
        CHECK(stream.operation_count() - before < 10);

        // The last one counts.
        one.pass(299ms);
        CHECK(!stream.is_closed());
        one.pass(1ms);
        CHECK(stream.is_closed());
    }

    TEST_CASE("control frames: a PING without a TTL cancels those of earlier PINGs") {
        session_harness one;
        scripted_stream& stream = one.accept();
        one.peer_sends(opening() + ping(1) + ping(0));
        one.pass(10s);
        CHECK(!stream.is_closed());
    }

    TEST_CASE("control frames: pings of WebSocket that come at once are answered in one writing") {
        session_harness one{session_options(socket_type::stream), {}, scheme::ws};
        scripted_stream& stream = one.accept();
        one.peer_sends(testing::upgrade_request());
        const std::size_t before = stream.operation_count();
        stream.peer_sends(times(5000, web_ping));
        CHECK(one.run_counting() < 20);
        CHECK(stream.operation_count() - before < 10);
    }

    TEST_CASE("control frames: other sessions have their turn after fewer bytes than of messages") {
        // Each reading brings 64 KiB, and of messages there would be one or two turns.
        SUBCASE("commands") {
            session_harness one;
            scripted_stream& stream = one.accept();
            one.peer_sends(opening());
            const std::size_t before = stream.read_waits().size();
            one.peer_sends(times(512 << 10, "\x04\x02\1F"s));
            CHECK(stream.read_waits().size() - before >= 16);
        }
        SUBCASE("PINGs") {
            session_harness one;
            scripted_stream& stream = one.accept();
            one.peer_sends(opening());
            const std::size_t before = stream.read_waits().size();
            one.peer_sends(times((1 << 20) / 9, ping(0)));
            CHECK(stream.read_waits().size() - before >= 4);
        }
        SUBCASE("pings of WebSocket") {
            session_harness one{session_options(socket_type::stream), {}, scheme::ws};
            scripted_stream& stream = one.accept();
            one.peer_sends(testing::upgrade_request());
            const std::size_t before = stream.read_waits().size();
            one.peer_sends(times((1 << 20) / 6, web_ping));
            CHECK(stream.read_waits().size() - before >= 8);
        }
    }

} // TEST_SUITE
