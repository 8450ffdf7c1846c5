// SPDX-License-Identifier: MPL-2.0
#include "session/session.hpp"

#include "testing/queue_contents.hpp"
#include "testing/session_harness.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

// The test is a peer without ZMTP at the other end of a stream in memory, and the socket at the
// other end of the pipe.

using namespace std::chrono_literals;
using namespace zlink;
using testing::pattern;
using testing::scripted_stream;
using testing::session_harness;
using testing::session_options;

namespace {

using messages = std::vector<std::string>;

socket_options raw_options(bool notifies = true) {
    socket_options made = session_options(socket_type::raw_stream);
    made.raw = true;
    made.stream_notify = notifies;
    return made;
}

/// The messages after the event that the peer has come, in one piece.
std::string joined(const messages& arrived) {
    std::string all;
    for (auto each = arrived.begin() + 1; each != arrived.end(); ++each) {
        all += *each;
    }
    return all;
}

const std::string outgoing = "hello" + pattern(300) + pattern(10'000) + "end";

void send_outgoing(session_harness& by) {
    by.send("hello");
    by.send(pattern(300));
    by.send_block(pattern(10'000));
    by.send("end");
}

} // namespace

TEST_SUITE("session") {

    TEST_CASE("raw session: says nothing of its own, and tells of the peer and what it says") {
        session_harness one{raw_options()};
        scripted_stream& stream = one.accept();
        CHECK(one.arrived() == messages{"*", ""});
        one.peer_sends("hello");
        one.peer_sends("world");
        CHECK(one.arrived() == messages{"*", "", "hello", "world"});
        CHECK(stream.written().empty());
        stream.peer_ends();
        one.run();
        CHECK(one.is_gone());
        CHECK(one.arrived() == messages{"*", "", "hello", "world", "", "*"});
    }

    TEST_CASE("raw session: writes bodies only, however many bytes at a time") {
        for (const std::size_t bytes : {1, 2, 5, 6, 100, 5000, 100'000}) {
            CAPTURE(bytes);
            session_harness one{raw_options()};
            scripted_stream& stream = one.accept({.write_bytes_max = bytes});
            send_outgoing(one);
            one.send(""); // No socket of ours sends it, but it would do no harm.
            one.run();
            CHECK(stream.written() == outgoing);
            CHECK(one.credit() == 100);
        }
    }

    TEST_CASE("raw session: many small messages and none are left behind") {
        session_harness one{raw_options()};
        scripted_stream& stream = one.accept({.write_bytes_max = 7});
        std::string expected;
        for (int count = 0; count < 90; ++count) {
            one.send(std::to_string(count));
            expected += std::to_string(count);
        }
        one.run();
        CHECK(stream.written() == expected);
        CHECK(one.credit() == 100);
    }

    TEST_CASE("raw session: reads in messages of at most 8192 bytes, however many come at a time") {
        const std::string sent = pattern(100'000);
        for (const std::size_t bytes : {1, 100, 8191, 8192, 8193, 100'000}) {
            CAPTURE(bytes);
            session_harness one{raw_options()};
            one.accept({.read_bytes_max = bytes});
            one.peer_sends(sent);
            for (int turn = 0; joined(one.arrived()).size() < sent.size(); ++turn) {
                REQUIRE(turn < 1000);
                one.run();
            }
            for (const std::string& each : one.arrived()) {
                CHECK(each.size() <= 8192);
            }
            CHECK(joined(one.arrived()) == sent);
        }
    }

    TEST_CASE("raw session: a limit on messages is none on bytes") {
        socket_options options = raw_options();
        options.message_bytes_max = 10;
        session_harness one{options};
        one.accept();
        one.peer_sends(pattern(100));
        CHECK(joined(one.arrived()) == pattern(100));
    }

    TEST_CASE("raw session: without news there is only what the peer says") {
        session_harness one{raw_options(false)};
        scripted_stream& stream = one.accept();
        one.peer_sends("hello");
        stream.peer_ends();
        one.run();
        CHECK(one.is_gone());
        CHECK(one.arrived() == messages{"*", "hello"});
    }

    TEST_CASE("raw session: sends the message that was cut off again from its start") {
        for (std::size_t bytes = 0; bytes <= 5 + 300; ++bytes) {
            CAPTURE(bytes);
            session_harness one{raw_options()};
            one.dial();
            scripted_stream& first = one.reach({.room_bytes = bytes});
            send_outgoing(one);
            one.run();
            CHECK(first.written() == outgoing.substr(0, bytes));
            first.peer_resets();
            one.run();
            scripted_stream& second = one.reach();
            const std::size_t begin = bytes < 5 ? 0 : bytes < 5 + 300 ? 5 : 5 + 300;
            CHECK(second.written() == outgoing.substr(begin));
            CHECK(one.arrived() == messages{"*", "", "", "*", ""});
            CHECK(one.credit() == 100);
        }
    }

    TEST_CASE("raw session: once dismissed reads no more, writes the rest and ends") {
        session_harness one{raw_options()};
        scripted_stream& stream = one.accept({.room_bytes = 10});
        send_outgoing(one);
        one.run();
        one.end().ask_to_close();
        one.run();
        one.peer_sends("late");
        CHECK(!one.is_gone());
        stream.make_room(SIZE_MAX);
        one.run();
        CHECK(stream.written() == outgoing);
        CHECK(stream.is_closed());
        CHECK(one.is_gone());
        CHECK(one.arrived() == messages{"*", ""});
    }

    TEST_CASE("raw session: once dismissed ends with the connection, and dials no more") {
        session_harness one{raw_options()};
        one.dial();
        scripted_stream& stream = one.reach({.room_bytes = 10});
        send_outgoing(one);
        one.run();
        one.end().ask_to_close();
        one.run();
        CHECK(!one.is_gone());
        stream.peer_resets();
        one.run();
        CHECK(one.is_gone());
    }

    TEST_CASE("raw session: once dismissed it lingers no longer than the socket that closes") {
        session_harness one{raw_options()};
        one.accept({.room_bytes = 10});
        send_outgoing(one);
        one.run();
        one.end().ask_to_close();
        one.run();
        CHECK(!one.is_gone());
        one.close_socket(0ms);
        one.run();
        CHECK(one.is_gone());
    }

    TEST_CASE("raw session: dismissed with nothing to write it ends at once, also unreached") {
        session_harness accepted{raw_options()};
        accepted.accept();
        accepted.end().ask_to_close();
        accepted.run();
        CHECK(accepted.is_gone());

        session_harness dialing{raw_options()};
        dialing.dial();
        dialing.end().ask_to_close();
        dialing.run();
        CHECK(dialing.is_gone());
    }

} // TEST_SUITE
