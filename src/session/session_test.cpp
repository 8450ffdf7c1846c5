// SPDX-License-Identifier: MPL-2.0
#include "session/session.hpp"

#include "testing/bytes.hpp"
#include "testing/queue_contents.hpp"
#include "testing/session_harness.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

// Each test plays the peer at the other end of a stream in memory, and the socket at the other end
// of the pipe. run() drives the session until it waits for one of them.

using namespace std::chrono_literals;
using namespace zlink;
using std::chrono::milliseconds;
using testing::hex;
using testing::on_wire;
using testing::pattern;
using testing::scripted_stream;
using testing::session_harness;
using testing::session_options;
namespace zmtp = wire::zmtp;

namespace {

using messages = std::vector<std::string>;

std::string wire_text(std::string_view spelled) {
    return std::string(testing::text(hex(spelled)));
}

const std::string signature = wire_text("ff 00*7 01 7f");
const std::string greeting = signature + wire_text("03 01 'NULL' 00*16 00 00*31");
const std::string ready = wire_text("04 1a 05 'READY' 0b 'Socket-Type' 00000004 'PAIR'");
const std::string opening = greeting + ready;

/// Bytes that a peer may send after its opening, and the frames that the socket gets.
const std::string incoming = on_wire("hello") + on_wire("one", zmtp::flag_more) +
                             on_wire(pattern(300), zmtp::flag_more) + on_wire("three") +
                             on_wire(pattern(20'000)) + on_wire("");
const messages incoming_frames{"*",     "hello",         "+one", "+" + pattern(300),
                               "three", pattern(20'000), ""};

/// The messages that the socket sends, the ends of these, and the bytes that the peer gets.
void send_all(session_harness& by) {
    by.send("hello");
    by.send("one", zmtp::flag_more);
    by.send(pattern(300), zmtp::flag_more);
    by.send("three");
    by.send_block(pattern(500));
    by.send("end");
}
constexpr std::size_t outgoing_ends[] = {0, 7, 7 + 5 + 309 + 7, 328 + 509, 837 + 5};
const std::string outgoing = on_wire("hello") + on_wire("one", zmtp::flag_more) +
                             on_wire(pattern(300), zmtp::flag_more) + on_wire("three") +
                             on_wire(pattern(500)) + on_wire("end");

/// The start of the message that the byte `position` of `outgoing` belongs to.
std::size_t message_begin(std::size_t position) {
    return *(std::upper_bound(std::begin(outgoing_ends), std::end(outgoing_ends), position) - 1);
}

const std::string publisher_opening =
    greeting + wire_text("04 19 05 'READY' 0b 'Socket-Type' 00000003 'PUB'");
const std::string subscriber_opening =
    greeting + wire_text("04 19 05 'READY' 0b 'Socket-Type' 00000003 'SUB'");

std::string subscribe(std::string_view topic) {
    return std::string("\x09SUBSCRIBE").append(topic);
}

bool begins_with(const messages& all, const messages& first) {
    return first.size() <= all.size() && std::equal(first.begin(), first.end(), all.begin());
}

} // namespace

TEST_SUITE("session") {

    TEST_CASE("session: says no more than the peer's greeting allows, then gives a pipe") {
        session_harness one;
        scripted_stream& stream = one.accept();
        CHECK(stream.written() == signature);
        one.peer_sends(greeting.substr(0, 11));
        CHECK(stream.written() == greeting);
        one.peer_sends(greeting.substr(11));
        CHECK(stream.written() == opening);
        CHECK(!one.has_pipe());

        one.peer_sends(ready);

        REQUIRE(one.has_pipe());
        CHECK(one.arrived() == messages{"*"});
        CHECK(!one.is_gone());
    }

    TEST_CASE("session: takes a peer that speaks byte by byte") {
        session_harness one;
        scripted_stream& stream = one.accept();
        for (const char byte : opening + incoming) {
            one.peer_sends({&byte, 1});
        }
        CHECK(one.arrived() == incoming_frames);
        CHECK(stream.written() == opening);
    }

    TEST_CASE("session: takes what a peer says at once, however much of it is read at a time") {
        for (const std::size_t bytes : {1, 2, 3, 63, 64, 65, 92, 93, 1000, 100'000}) {
            CAPTURE(bytes);
            session_harness one;
            scripted_stream& stream = one.accept({.read_bytes_max = bytes});
            one.peer_sends(opening + incoming);
            CHECK(one.arrived() == incoming_frames);
            CHECK(stream.written() == opening);
        }
    }

    TEST_CASE("session: ends when the peer goes before its opening is whole") {
        for (std::size_t bytes = 0; bytes < opening.size(); ++bytes) {
            for (const bool resets : {false, true}) {
                CAPTURE(bytes);
                CAPTURE(resets);
                session_harness one;
                scripted_stream& stream = one.accept();
                one.peer_sends(std::string_view(opening).substr(0, bytes));
                CHECK(!one.is_gone());

                resets ? stream.peer_resets() : stream.peer_ends();
                one.run();

                CHECK(one.is_gone());
                CHECK(stream.is_closed());
                CHECK(!one.has_pipe());
            }
        }
    }

    TEST_CASE("session: ends when the socket is gone by the time the peer has opened") {
        session_harness one;
        scripted_stream& stream = one.accept();
        one.end_socket();
        one.peer_sends(opening + incoming);
        CHECK(one.is_gone());
        CHECK(stream.is_closed());
    }

    TEST_CASE("session: ends at once when the peer does not speak as it should") {
        const std::string wrong[] = {
            wire_text("'GET / HTTP/1.1' 0d 0a 0d 0a"),
            wire_text("ff 00*7 01 7e"),
            signature + wire_text("03 01 'PLAIN' 00*15 00 00*31"),
            greeting + on_wire("no command"),
            greeting + on_wire("\x05HELLO", zmtp::flag_command),
            greeting + on_wire("\x05READY\x0bSocket-Type", zmtp::flag_command),
            greeting + wire_text("04 19 05 'READY' 0b 'Socket-Type' 00000003 'PUB'"),
            greeting + wire_text("04 09 05 'ERROR' 02 'no'"),
            greeting + wire_text("08 01 00"),
        };
        for (const std::string& each : wrong) {
            CAPTURE(&each - wrong);
            session_harness one;
            scripted_stream& stream = one.accept();
            one.peer_sends(each);
            CHECK(one.is_gone());
            CHECK(stream.is_closed());
            CHECK(!one.has_pipe());
        }
    }

    TEST_CASE("session: tells a monitor how a handshake ended") {
        using enum connection_event;
        using enum protocol_fault;
        const auto fault = [](protocol_fault which) { return static_cast<int>(which); };
        const struct {
            std::string data;
            std::pair<connection_event, int> told;
        } examples[] = {
            {opening, {handshake_succeeded, 0}},
            {"GET / HTTP/1.1\r\n\r\n", {handshake_failed_protocol, fault(zmtp_unspecified)}},
            {signature + wire_text("03 01 'PLAIN' 00*15 00 00*31"),
             {handshake_failed_protocol, fault(mechanism_mismatch)}},
            {greeting + on_wire("no command"),
             {handshake_failed_protocol, fault(unexpected_command)}},
            {greeting + on_wire("\x05HELLO", zmtp::flag_command),
             {handshake_failed_protocol, fault(unexpected_command)}},
            {greeting + wire_text("04 00"), {handshake_failed_protocol, fault(unexpected_command)}},
            {greeting + wire_text("08 01 00"),
             {handshake_failed_protocol, fault(unexpected_command)}},
            {greeting + on_wire("\x05READY\x0bSocket-Type", zmtp::flag_command),
             {handshake_failed_protocol, fault(invalid_metadata)}},
            {greeting + wire_text("04 19 05 'READY' 0b 'Socket-Type' 00000003 'PUB'"),
             {handshake_failed_protocol, fault(invalid_metadata)}},
            {greeting + wire_text("04 0a 05 'ERROR' 03 '400'"), {handshake_failed_auth, 400}},
            {greeting + wire_text("04 09 05 'ERROR' 02 'no'"),
             {handshake_failed_no_detail, EACCES}},
            {greeting + wire_text("04 09 05 'ERROR' 09 'no'"),
             {handshake_failed_protocol, fault(malformed_error)}},
        };
        for (const auto& [data, told] : examples) {
            CAPTURE(&data);
            session_harness one;
            one.accept();
            one.peer_sends(data);
            std::vector<std::pair<connection_event, int>> expected{told};
            if (told.first != handshake_succeeded) {
                expected.emplace_back(disconnected, -1);
            }
            CHECK(one.events() == expected);
        }
    }

    TEST_CASE("session: tells a monitor of connections that are lost") {
        using enum connection_event;
        using events = std::vector<std::pair<connection_event, int>>;
        session_harness one;
        one.dial();
        one.reach().peer_ends();
        one.run();
        CHECK(one.events() == events{{connected, -1},
                                     {handshake_failed_no_detail, EPIPE},
                                     {disconnected, -1},
                                     {connect_retried, 0}});
        while (!one.is_dialing()) {
        }
        scripted_stream& stream = one.reach();
        one.peer_sends(opening);
        stream.peer_resets();
        one.run();
        CHECK(events(one.events().begin() + 4, one.events().end()) ==
              events{{connected, -1},
                     {handshake_succeeded, 0},
                     {disconnected, -1},
                     {connect_retried, 0}});
    }

    TEST_CASE("session: refuses a size when it is claimed") {
        socket_options limited = session_options(socket_type::pair);
        limited.message_bytes_max = 1000;
        const struct {
            std::string data;
            messages arrives;
        } examples[] = {
            {greeting + wire_text("06 0000000000010001"), {}}, // READY of more than 64 KiB.
            {greeting + wire_text("06 7fffffffffffffff"), {}},
            {greeting + wire_text("06 ffffffffffffffff"), {}},
            {opening + on_wire("good") + wire_text("02 00000000000003e9"), {"*", "good"}},
            {opening + on_wire("good") + wire_text("02 ffffffffffffffff"), {"*", "good"}},
            {opening + on_wire("good") + wire_text("06 0000000000010001"), {"*", "good"}},
        };
        for (const auto& [data, arrives] : examples) {
            CAPTURE(&data);
            session_harness one{limited};
            scripted_stream& stream = one.accept();
            one.peer_sends(data);
            CHECK(one.is_gone());
            CHECK(stream.is_closed());
            CHECK(one.has_pipe() == !arrives.empty());
            if (one.has_pipe()) {
                CHECK(one.arrived() == arrives);
                CHECK(one.was_told(pipe::event::closed));
            }
        }
    }

    TEST_CASE("session: writes what the socket sends, however little the stream takes") {
        for (std::size_t bytes = 1; bytes < 900; bytes += bytes < 20 ? 1 : 83) {
            CAPTURE(bytes);
            session_harness one;
            scripted_stream& stream = one.accept({.write_bytes_max = bytes});
            one.peer_sends(opening);
            send_all(one);
            one.run();
            CHECK(stream.written() == opening + outgoing);
        }
    }

    TEST_CASE("session: goes on where the stream was full, at every byte") {
        for (std::size_t bytes = 0; bytes <= outgoing.size(); ++bytes) {
            CAPTURE(bytes);
            session_harness one;
            scripted_stream& stream = one.accept();
            one.peer_sends(opening);
            stream.make_room(bytes);
            send_all(one);
            one.run();
            CHECK(stream.written().size() == opening.size() + bytes);

            stream.make_room(SIZE_MAX);
            one.run();

            CHECK(stream.written() == opening + outgoing);
        }
    }

    TEST_CASE("session: sends its opening through a stream that is full, at every byte") {
        for (std::size_t bytes = 0; bytes < opening.size(); ++bytes) {
            CAPTURE(bytes);
            session_harness one;
            scripted_stream& stream = one.accept({.room_bytes = bytes});
            one.peer_sends(opening + incoming);
            CHECK(stream.written().size() <= bytes);

            stream.make_room(SIZE_MAX);
            one.run();

            CHECK(stream.written() == opening);
            CHECK(one.arrived() == incoming_frames);
        }
    }

    TEST_CASE("session: answers a PING between two frames, wherever the stream was full") {
        const std::string ping = on_wire(std::string("\x04PING\0\0ctx", 10), zmtp::flag_command);
        const std::string pong = on_wire("\x04PONGctx", zmtp::flag_command);
        const std::string frames[] = {on_wire("one", zmtp::flag_more),
                                      on_wire(pattern(100), zmtp::flag_more), on_wire("three"),
                                      on_wire("next")};
        constexpr std::size_t frame_ends[] = {0, 5, 107, 114, 120};
        const std::string all = frames[0] + frames[1] + frames[2] + frames[3];
        for (std::size_t bytes = 0; bytes <= all.size(); ++bytes) {
            CAPTURE(bytes);
            session_harness one;
            scripted_stream& stream = one.accept();
            one.peer_sends(opening);
            stream.make_room(bytes);
            one.send("one", zmtp::flag_more);
            one.send(pattern(100), zmtp::flag_more);
            one.send("three");
            one.send("next");
            one.run();
            one.peer_sends(ping + on_wire("after"));
            CHECK(one.arrived() == messages{"*", "after"});

            stream.make_room(SIZE_MAX);
            one.run();

            const std::size_t pong_begin =
                *std::lower_bound(std::begin(frame_ends), std::end(frame_ends), bytes);
            CHECK(stream.written() ==
                  opening + all.substr(0, pong_begin) + pong + all.substr(pong_begin));
        }
    }

    TEST_CASE("session: keeps few answers for a peer that asks and does not read") {
        const std::string ping = on_wire(std::string("\x04PING\0\0", 7), zmtp::flag_command);
        const std::string pong = on_wire("\x04PONG", zmtp::flag_command);
        session_harness one;
        scripted_stream& stream = one.accept();
        one.peer_sends(opening);
        stream.make_room(0);
        for (int count = 0; count < 10'000; ++count) {
            stream.peer_sends(ping);
        }
        one.run();

        stream.make_room(SIZE_MAX);
        one.run();

        CHECK(stream.written().starts_with(opening + pong + pong));
        CHECK(stream.written().size() < 5000);
        CHECK(!one.is_gone());
    }

    TEST_CASE("session: sends heartbeats, with its TTL, for as long as the peer answers") {
        socket_options beating = session_options(socket_type::pair);
        beating.heartbeat_interval = 300;
        beating.heartbeat_ttl = 2500;
        beating.heartbeat_timeout = 299;
        const std::string ping = on_wire(std::string("\x04PING\0\x19", 7), zmtp::flag_command);
        session_harness one{beating};
        scripted_stream& stream = one.accept();
        one.peer_sends(opening);
        std::string expected = opening;
        for (int count = 0; count < 5; ++count) {
            one.pass(299ms);
            CHECK(stream.written() == expected);
            one.pass(1ms);
            expected += ping;
            CHECK(stream.written() == expected);
            one.peer_sends(on_wire("\x04PONG", zmtp::flag_command));
        }
        CHECK(one.arrived() == messages{"*"});
        CHECK(!one.is_gone());
    }

    TEST_CASE("session: ends when a heartbeat is not answered, by a dialer to dial again") {
        socket_options beating = session_options(socket_type::pair);
        beating.heartbeat_interval = 1000;
        milliseconds patience = 1000ms;
        SUBCASE("within the interval") {}
        SUBCASE("within the time-out") {
            beating.heartbeat_timeout = 2500;
            patience = 2500ms;
        }
        session_harness one{beating};
        one.dial();
        scripted_stream& stream = one.reach();
        one.peer_sends(opening);

        one.pass(1000ms + patience - 1ms);
        CHECK_FALSE(stream.is_closed());
        one.pass(1ms);

        CHECK(stream.is_closed());
        CHECK(one.is_dialing());
        CHECK(stream.written().find("\x04PING") != std::string::npos);
        CHECK(!one.is_gone());
    }

    TEST_CASE("session: is not taken in by its own slowness when the peer falls silent") {
        socket_options beating = session_options(socket_type::pair);
        beating.heartbeat_interval = 1000;
        beating.recv_hwm = 1;
        session_harness one{beating};
        one.accept();
        one.peer_sends(opening + on_wire("one") + on_wire("two"));
        one.pass(10s);
        CHECK(!one.is_gone());

        CHECK(one.arrived().size() == 3); // Room to read on.
        one.pass(2s);
        CHECK(one.is_gone());
    }

    TEST_CASE("session: ends when a peer is silent for longer than it announced") {
        session_harness one;
        scripted_stream& stream = one.accept();
        one.peer_sends(opening);
        one.peer_sends(on_wire(std::string("\x04PING\0\x19", 7), zmtp::flag_command));
        one.pass(2000ms);
        one.peer_sends(on_wire(std::string("\x04PING\0\x0a", 7), zmtp::flag_command));

        one.pass(999ms);
        CHECK_FALSE(stream.is_closed());
        one.pass(1ms);

        CHECK(stream.is_closed());
        CHECK(one.is_gone());
    }

    TEST_CASE("session: a handshake has a deadline, however far it has come") {
        socket_options hurried = session_options(socket_type::pair);
        hurried.handshake_interval = 300;
        for (std::size_t said = 0; said < opening.size(); ++said) {
            CAPTURE(said);
            session_harness one{hurried};
            one.accept();
            one.pass(150ms);
            one.peer_sends(opening.substr(0, said));
            one.pass(149ms);
            CHECK_FALSE(one.is_gone());
            one.pass(1ms);
            CHECK(one.is_gone());
        }
    }

    TEST_CASE("session: a peer that has opened in time may be silent") {
        socket_options hurried = session_options(socket_type::pair);
        hurried.handshake_interval = 300;
        session_harness one{hurried};
        one.accept();
        one.pass(299ms);
        one.peer_sends(opening);
        one.pass(600ms);
        CHECK_FALSE(one.is_gone());
    }

    TEST_CASE("session: after a handshake that took too long dials again") {
        socket_options hurried = session_options(socket_type::pair);
        hurried.handshake_interval = 2000;
        hurried.reconnect_interval = 100;
        session_harness one{hurried};
        one.dial();
        const scripted_stream& stream = one.reach();
        one.pass(2000ms);
        CHECK(stream.is_closed());
        const milliseconds wait = one.pass_until([&] { return one.is_dialing(); });
        CHECK(wait >= 100ms);
        CHECK(wait < 200ms);
    }

    TEST_CASE("session: gives up an attempt to connect that takes too long, and tries again") {
        socket_options hurried = session_options(socket_type::pair);
        hurried.connect_timeout = 5000;
        hurried.reconnect_interval = 100;
        session_harness one{hurried};
        one.dial();
        one.pass(4999ms);
        CHECK(one.is_dialing());
        one.pass(1ms);
        CHECK_FALSE(one.is_dialing());
        one.pass_until([&] { return one.is_dialing(); });
        one.reach();
        one.peer_sends(opening);
        one.pass(10s); // The time that the attempt had is over.
        CHECK(one.arrived() == messages{"*"});
        CHECK_FALSE(one.is_dialing());
    }

    TEST_CASE(
        "session: waits between attempts, longer each time if it may, until it gets through") {
        socket_options patient = session_options(socket_type::pair);
        patient.reconnect_interval = 100;
        std::vector<milliseconds> least(8, 100ms);
        std::vector<milliseconds> most(8, 199ms);
        SUBCASE("always as long") {}
        SUBCASE("twice as long each time, up to a limit") {
            patient.reconnect_interval_max = 1000;
            least = {100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms, 1000ms, 1000ms};
            most = {199ms, 399ms, 799ms, 1000ms, 1000ms, 1000ms, 1000ms, 1000ms};
        }
        session_harness one{patient};
        one.dial();
        const auto wait_after_failure = [&] {
            one.fail_to_reach(errc::connection_refused);
            return one.pass_until([&] { return one.is_dialing(); });
        };
        for (std::size_t attempt = 0; attempt < least.size(); ++attempt) {
            CAPTURE(attempt);
            const milliseconds wait = wait_after_failure();
            CHECK(wait >= least[attempt]);
            CHECK(wait <= most[attempt]);
        }
        scripted_stream& stream = one.reach();
        one.peer_sends(opening);
        stream.peer_resets();
        const milliseconds wait = one.pass_until([&] { return one.is_dialing(); });
        CHECK(wait >= least[0]);
        CHECK(wait <= most[0]);
    }

    TEST_CASE("session: a closed socket's messages have until its linger is over") {
        session_harness one;
        one.dial();
        SUBCASE("with nobody there") {}
        SUBCASE("with a peer that does not read") {
            one.reach({.room_bytes = opening.size()});
            one.peer_sends(opening);
        }
        SUBCASE("with a peer that never opens") {
            one.reach();
        }
        one.send("unread");
        one.close_socket(3000ms);
        one.pass(2999ms);
        CHECK_FALSE(one.is_gone());
        one.pass(1ms);
        CHECK(one.is_gone());
    }

    TEST_CASE("session: loses nothing when any one operation would block") {
        std::size_t operation_count = 1;
        for (std::size_t index = 0; index < operation_count; ++index) {
            CAPTURE(index);
            session_harness one;
            scripted_stream& stream =
                one.accept({.read_bytes_max = 500, .write_bytes_max = 50, .blocks_at = index});
            one.peer_sends(opening);
            REQUIRE(one.has_pipe());
            send_all(one);
            one.peer_sends(incoming.substr(0, 500));
            one.peer_sends(incoming.substr(500));
            CHECK(one.arrived() == incoming_frames);
            CHECK(stream.written() == opening + outgoing);
            CHECK(!one.is_gone());
            operation_count = std::max(operation_count, stream.operation_count());
        }
        CHECK(operation_count > 50);
    }

    TEST_CASE("session: reads no more than the socket has room for, and goes on unasked") {
        socket_options limited = session_options(socket_type::pair);
        limited.recv_hwm = 2;
        messages expected{"*"};
        std::string data;
        for (int count = 0; count < 20; ++count) {
            expected.push_back(pattern(1000, static_cast<unsigned>(count)));
            data += on_wire(expected.back());
        }
        for (const std::size_t bytes : {1, 700, 1009, 100'000}) {
            CAPTURE(bytes);
            session_harness one{limited};
            scripted_stream& stream = one.accept({.read_bytes_max = bytes});
            one.peer_sends(opening + data);
            // Beyond the high-water mark only the messages of the same read.
            const std::uint64_t read_count_max = 1 + 2 * limits::scratch_bytes / 1009;
            const std::uint64_t ahead_max = bytes < 1009 ? 2 : 2 + read_count_max;
            CHECK(one.end().in.published().message_count >= 2);
            CHECK(one.end().in.published().message_count <= ahead_max);
            const std::size_t operation_count = stream.operation_count();
            one.run();
            CHECK(stream.operation_count() == operation_count);

            while (one.arrived().size() < expected.size()) {
                const std::uint64_t taken_count = one.arrived().size() - 1;
                one.run();
                REQUIRE(one.end().in.published().message_count > taken_count);
                CHECK(one.end().in.published().message_count <= taken_count + ahead_max);
            }
            CHECK(one.arrived() == expected);
        }
    }

    TEST_CASE("session: notices an end while the socket has no room, and keeps what came before") {
        socket_options limited = session_options(socket_type::pair);
        limited.recv_hwm = 2;
        messages expected{"*"};
        std::string data;
        for (int count = 0; count < 200; ++count) {
            expected.push_back(pattern(1000, static_cast<unsigned>(count)));
            data += on_wire(expected.back());
        }
        for (const std::size_t bytes : {10, 700, 100'000}) {
            for (const bool is_early : {false, true}) {
                for (const bool is_reset : {false, true}) {
                    CAPTURE(bytes);
                    CAPTURE(is_early);
                    CAPTURE(is_reset);
                    session_harness one{limited};
                    scripted_stream& stream = one.accept({.read_bytes_max = bytes});
                    one.peer_sends(opening);
                    stream.peer_sends(data + on_wire("incomplete").substr(0, 5));
                    if (!is_early) {
                        one.run();
                        CHECK(stream.unread_bytes() != 0);
                        CHECK(!one.is_gone());
                    }
                    is_reset ? stream.peer_resets() : stream.peer_ends();
                    one.run();

                    CHECK(one.is_gone());
                    CHECK(stream.is_closed());
                    CHECK(one.events().back().first == connection_event::disconnected);
                    messages received = one.arrived();
                    if (is_reset) { // The stream drops what was not read.
                        CHECK(received.size() >= (is_early ? 1 : 3));
                        received.insert(received.end(), expected.begin() + received.size(),
                                        expected.end());
                    }
                    CHECK(received == expected);
                }
            }
        }
    }

    TEST_CASE("session: the rest of a connection that ends is left where the pipe's bytes are "
              "used up, until there is room or the connection is lost") {
        socket_options limited = session_options(socket_type::pair);
        limited.recv_hwm = 1;
        const std::string large(limits::pipe_bytes_max / 2 + 1, 'x');
        for (const bool is_reset : {false, true}) {
            CAPTURE(is_reset);
            session_harness one{limited};
            scripted_stream& stream = one.accept();
            one.peer_sends(opening);
            stream.peer_sends(on_wire(large) + on_wire(large));
            one.run();
            stream.peer_sends(on_wire(large) + on_wire("last"));
            stream.peer_ends();
            one.run();
            CHECK(!one.is_gone());
            CHECK(stream.unread_bytes() != 0);
            const std::size_t operation_count = stream.operation_count();
            one.run();
            CHECK(stream.operation_count() == operation_count);

            if (is_reset) {
                stream.peer_resets();
                one.run();
                CHECK(one.is_gone());
                CHECK(one.arrived().size() == 3);
            } else {
                CHECK(one.arrived().size() == 3);
                one.run();
                CHECK(one.is_gone());
                CHECK(one.arrived().size() == 5);
                CHECK(one.arrived().back() == "last");
            }
        }
    }

    TEST_CASE("session: gives the socket what a peer sent before it went") {
        for (const std::size_t bytes : {1, 700, 100'000}) {
            CAPTURE(bytes);
            session_harness one;
            scripted_stream& stream = one.accept({.read_bytes_max = bytes});
            stream.peer_sends(opening + incoming);
            stream.peer_ends();
            one.run();
            CHECK(one.is_gone());
            REQUIRE(one.has_pipe());
            CHECK(one.was_told(pipe::event::closed));
            CHECK(one.arrived() == incoming_frames);
        }
    }

    TEST_CASE("session: ends, with whole messages only, when any one operation fails") {
        bool has_failed = true;
        for (std::size_t index = 0; has_failed; ++index) {
            CAPTURE(index);
            session_harness one;
            scripted_stream& stream =
                one.accept({.read_bytes_max = 700, .write_bytes_max = 70, .fails_at = index});
            one.peer_sends(opening);
            if (one.has_pipe()) {
                send_all(one);
            }
            one.peer_sends(incoming);

            has_failed = stream.operation_count() > index;
            CHECK(one.is_gone() == has_failed);
            CHECK(stream.is_closed() == has_failed);
            CHECK((opening + outgoing).starts_with(stream.written()));
            if (one.has_pipe()) {
                CHECK(one.was_told(pipe::event::closed) == has_failed);
                CHECK(begins_with(incoming_frames, one.arrived()));
                const messages& frames = one.arrived();
                CHECK((frames.empty() || frames.back().front() != '+'));
            }
        }
    }

    TEST_CASE("session: ends although its socket would wait for ever, when any operation fails") {
        bool has_failed = true;
        for (std::size_t index = 0; has_failed; ++index) {
            CAPTURE(index);
            session_harness one;
            scripted_stream& stream = one.accept({.write_bytes_max = 70, .fails_at = index});
            one.peer_sends(opening);
            if (one.has_pipe()) {
                send_all(one);
                one.close_socket();
                one.run();
            }
            has_failed = stream.operation_count() > index;
            CHECK(one.is_gone());
            CHECK(stream.is_closed());
            if (!has_failed) {
                CHECK(stream.written() == opening + outgoing);
            }
        }
    }

    TEST_CASE("session: a socket that is closed waits until all was sent, or nobody takes it") {
        for (const bool resets : {false, true}) {
            CAPTURE(resets);
            session_harness one;
            scripted_stream& stream = one.accept();
            one.peer_sends(opening);
            stream.make_room(10);
            send_all(one);
            one.close_socket();
            one.run();
            CHECK(!one.is_gone());

            resets ? stream.peer_resets() : stream.make_room(SIZE_MAX);
            one.run();

            CHECK(one.is_gone());
            CHECK(stream.written() == opening + outgoing.substr(0, resets ? 10 : SIZE_MAX));
        }
    }

    TEST_CASE("session: ends at once when its socket does not wait") {
        session_harness one;
        scripted_stream& stream = one.accept();
        one.peer_sends(opening);
        stream.make_room(10);
        send_all(one);
        one.run();

        one.close_socket(0ms);
        one.run();

        CHECK(one.is_gone());
        CHECK(stream.is_closed());
        CHECK(stream.written() == opening + outgoing.substr(0, 10));
    }

    TEST_CASE("session: dials until it reaches the peer, and then sends what waited") {
        session_harness one;
        one.dial();
        send_all(one);
        CHECK(one.is_dialing());

        scripted_stream& stream = one.reach();
        one.peer_sends(opening + incoming);

        CHECK(stream.written() == opening + outgoing);
        CHECK(one.arrived() == incoming_frames);
        CHECK(!one.is_gone());
    }

    TEST_CASE("session: sends the message again from its start that was cut off at any byte") {
        for (const bool resets : {false, true}) {
            for (std::size_t bytes = 0; bytes <= outgoing.size(); ++bytes) {
                CAPTURE(resets);
                CAPTURE(bytes);
                session_harness one;
                one.dial();
                scripted_stream& first = one.reach();
                one.peer_sends(opening);
                first.make_room(bytes);
                send_all(one);
                one.run();
                CHECK(first.written() == opening + outgoing.substr(0, bytes));

                resets ? first.peer_resets() : first.peer_ends();
                one.run();
                CHECK(first.is_closed());
                scripted_stream& second = one.reach();
                one.peer_sends(opening);
                one.send("after");
                one.run();

                CHECK(second.written() ==
                      opening + outgoing.substr(message_begin(bytes)) + on_wire("after"));
            }
        }
    }

    TEST_CASE("session: gives back the credit for all that was sent, over two connections") {
        for (std::size_t bytes = 0; bytes <= outgoing.size(); bytes += 3) {
            CAPTURE(bytes);
            session_harness one;
            one.dial();
            scripted_stream& first = one.reach();
            one.peer_sends(opening);
            first.make_room(bytes);
            send_all(one);
            one.run();
            first.peer_resets();
            one.run();
            one.reach();
            one.peer_sends(opening);
            CHECK(one.credit() == 100);
        }
    }

    TEST_CASE("session: tells of the newest of the connections that brought nothing") {
        const auto opening_of = [](const std::string& name) {
            return signature +
                   wire_text("03 00 'NULL' 00*16 00*32 04 2e 05 'READY' "
                             "0b 'Socket-Type' 00000006 'DEALER' "
                             "08 'Identity' 00000005") +
                   name;
        };
        session_harness one{session_options(socket_type::router)};
        one.dial();
        const auto visit = [&](const std::string& name, const std::string& sent) {
            one.reach();
            one.peer_sends(opening_of(name) + sent);
            one.lose_connection();
        };
        bool wakes = false;
        visit("anna1", "");
        visit("berta", "");
        visit("carla", on_wire("from carla"));
        visit("doris", "");
        visit("emily", "");
        visit("frida", on_wire("from frida"));

        CHECK(one.announced()->routing_id == "carla");
        CHECK(testing::take(one.end().in, wakes) == "from carla");
        CHECK(one.announced()->routing_id == "frida");
        visit("gerda", "");
        visit("helga", "");
        CHECK(testing::take(one.end().in, wakes) == "from frida");
        CHECK(one.announced()->routing_id == "helga");
        visit("ilona", "");
        CHECK(one.announced()->routing_id == "ilona");
        CHECK(!one.end().in.has_frame());
    }

    TEST_CASE("session: drops what a lost connection brought in part") {
        for (std::size_t bytes = 0; bytes < 400; ++bytes) {
            CAPTURE(bytes);
            session_harness one;
            one.dial();
            scripted_stream& first = one.reach();
            one.peer_sends(opening + incoming.substr(0, bytes));
            messages expected = one.arrived();
            CHECK(begins_with(incoming_frames, expected));

            first.peer_ends();
            one.run();
            one.reach();
            one.peer_sends(opening + incoming);

            expected.insert(expected.end(), incoming_frames.begin(), incoming_frames.end());
            CHECK(one.arrived() == expected);
        }
    }

    TEST_CASE("session: dials again when any one operation fails, and loses no message") {
        bool has_failed = true;
        for (std::size_t index = 0; has_failed; ++index) {
            CAPTURE(index);
            session_harness one;
            one.dial();
            send_all(one);
            scripted_stream& first =
                one.reach({.read_bytes_max = 700, .write_bytes_max = 70, .fails_at = index});
            one.peer_sends(opening + incoming);
            has_failed = first.operation_count() > index;
            CHECK(first.is_closed() == has_failed);
            CHECK(one.is_dialing() == has_failed);
            std::string written = first.written();
            if (has_failed) {
                const std::size_t sent_bytes =
                    written.size() - std::min(written.size(), opening.size());
                scripted_stream& second = one.reach();
                one.peer_sends(opening);
                CHECK(second.written() == opening + outgoing.substr(message_begin(sent_bytes)));
            } else {
                CHECK(written == opening + outgoing);
            }
        }
    }

    TEST_CASE("session: dials again to send what is left although its socket is closed") {
        for (std::size_t bytes = 0; bytes < outgoing.size(); bytes += 7) {
            CAPTURE(bytes);
            session_harness one;
            one.dial();
            scripted_stream& first = one.reach();
            one.peer_sends(opening);
            first.make_room(bytes);
            send_all(one);
            one.close_socket();
            one.run();
            CHECK(!one.is_gone());
            first.peer_resets();
            one.run();
            CHECK(first.is_closed());

            scripted_stream& second = one.reach();
            one.peer_sends(opening);

            CHECK(second.written() == opening + outgoing.substr(message_begin(bytes)));
            CHECK(one.is_gone());
        }
    }

    TEST_CASE("session: tells a subscriber that its peer has come back, and sends nothing stale") {
        session_harness one{session_options(socket_type::sub)};
        one.dial();
        one.send(subscribe("old"), zmtp::flag_command);
        scripted_stream& first = one.reach();
        one.peer_sends(publisher_opening);
        CHECK(first.written() ==
              subscriber_opening + on_wire(subscribe("old"), zmtp::flag_command));
        CHECK(!one.was_told(pipe::event::restarted));
        first.peer_ends();
        one.run();
        one.send(subscribe("stale"), zmtp::flag_command);

        scripted_stream& second = one.reach();
        one.peer_sends(publisher_opening);
        CHECK(one.was_told(pipe::event::restarted));
        CHECK(second.written() == subscriber_opening);
        one.end().push_control(pipe::make_block(1)); // The current state follows.
        one.send(subscribe("new"), zmtp::flag_command);
        one.run();

        CHECK(second.written() ==
              subscriber_opening + on_wire(subscribe("new"), zmtp::flag_command));
    }

    TEST_CASE("session: sends subscriptions as messages to a 3.0 publisher, at every byte") {
        const std::string older_opening =
            signature + wire_text("03 00 'NULL' 00*16 00 00*31") +
            wire_text("04 19 05 'READY' 0b 'Socket-Type' 00000003 'PUB'");
        const std::string expected =
            on_wire("\x01one") + on_wire("\x01" + pattern(300)) + on_wire(std::string("\0one", 4));
        for (std::size_t bytes = 0; bytes <= expected.size(); ++bytes) {
            CAPTURE(bytes);
            session_harness one{session_options(socket_type::sub)};
            one.dial();
            scripted_stream& stream = one.reach();
            one.peer_sends(older_opening);
            stream.make_room(bytes);
            one.send(subscribe("one"), zmtp::flag_command);
            one.send(subscribe(pattern(300)), zmtp::flag_command);
            one.send("\x06"
                     "CANCELone",
                     zmtp::flag_command);
            one.run();
            CHECK(stream.written() == subscriber_opening + expected.substr(0, bytes));

            stream.make_room(SIZE_MAX);
            one.run();

            CHECK(stream.written() == subscriber_opening + expected);
            CHECK(one.credit() == 100);
        }
    }

} // TEST_SUITE
