// SPDX-License-Identifier: MPL-2.0
#include "testing/joined_sessions.hpp"
#include "testing/queue_contents.hpp"
#include "testing/tls_far_end.hpp"
#include "testing/tls_sides.hpp"

#include <cerrno>
#include <chrono>
#include <doctest/doctest.h>
#include <string>
#include <vector>

// TLS in a whole session, in virtual time, over streams in memory.

using namespace std::chrono_literals;
using namespace zlink;
using testing::joined_sessions;
using testing::make_tls_sides;
using testing::pattern;
using testing::scripted_stream;
using testing::session_harness;
using testing::session_options;
using testing::tls_far_end;
using testing::tls_sides;
using failures = std::vector<security::handshake_failure>;

namespace {

const tls_sides& sides() {
    static const tls_sides made = make_tls_sides();
    return made;
}

failures failure(int error) {
    return {{connection_event::handshake_failed_no_detail, error}};
}

socket_options raw_options() {
    socket_options made = session_options(socket_type::raw_stream);
    made.raw = true;
    return made;
}

/// All bytes that a raw session's socket got, without the peer's events.
std::string bytes_of(session_harness& session) {
    std::string all;
    for (const std::string& each : session.arrived()) {
        all += each == "*" ? "" : each;
    }
    return all;
}

} // namespace

TEST_SUITE("session") {

    TEST_CASE("tls: messages pass however the bytes come and go") {
        const std::vector<std::string> contents{"",
                                                "x",
                                                pattern(255),
                                                pattern(8192),
                                                pattern(16'384),
                                                pattern(70'000),
                                                pattern(300'000),
                                                "end"};
        for (const std::size_t bytes : {7, 1000, 16'384, 1'000'000}) {
            CAPTURE(bytes);
            joined_sessions both{session_options(socket_type::pair),
                                 session_options(socket_type::pair), sides().dialing,
                                 sides().accepting};
            both.connect({.read_bytes_max = bytes, .write_bytes_max = bytes},
                         {.read_bytes_max = bytes, .write_bytes_max = bytes});
            REQUIRE(both.accepting.has_pipe());
            std::vector<std::string> expected{"*"};
            for (const std::string& each : contents) {
                both.dialing.send(each);
                both.accepting.send(each);
                expected.push_back(each);
            }
            both.run();
            CHECK(both.dialing.arrived() == expected);
            CHECK(both.accepting.arrived() == expected);
        }
    }

    TEST_CASE("tls: many small messages share a record") {
        joined_sessions both{session_options(socket_type::pair), session_options(socket_type::pair),
                             sides().dialing, sides().accepting};
        both.connect();
        const std::size_t before = both.dialing_stream().written().size();
        for (int count = 0; count < 90; ++count) {
            both.dialing.send(pattern(64));
        }
        both.run();
        CHECK(both.accepting.arrived().size() == 91);
        // 66 bytes each, and 22 bytes around the record.
        CHECK(both.dialing_stream().written().size() - before == 90 * 66 + 22);
    }

    TEST_CASE("tls: a peer that stalls at any point of the handshake is ended by its deadline") {
        tls_far_end probe{false};
        socket_options options = session_options(socket_type::pair);
        options.handshake_interval = 300;
        const std::size_t hello_bytes = probe.take_said().size();
        for (std::size_t bytes = 0; bytes < hello_bytes; bytes += 50) {
            CAPTURE(bytes);
            session_harness one{options, sides().accepting};
            scripted_stream& stream = one.accept();
            tls_far_end peer{false};
            one.peer_sends(peer.take_said().substr(0, bytes));
            one.pass(299ms);
            CHECK(!stream.is_closed());
            one.pass(1ms);
            CHECK(stream.is_closed());
            CHECK(one.is_gone());
            CHECK(one.failures() == failure(EAGAIN));
        }
    }

    TEST_CASE("tls: a peer that is silent once it has been let in is ended by the same deadline") {
        socket_options options = session_options(socket_type::pair);
        options.handshake_interval = 300;
        session_harness one{options, sides().accepting};
        scripted_stream& stream = one.accept();
        one.pass(200ms);
        tls_far_end peer{false};
        peer.converse(one, stream);
        REQUIRE(peer.is_established());
        one.pass(99ms);
        CHECK(!stream.is_closed());
        one.pass(1ms);
        CHECK(stream.is_closed());
        CHECK(one.failures() == failure(EAGAIN));
    }

    TEST_CASE("tls: a raw peer is announced when its handshake is done, and its bytes pass") {
        session_harness one{raw_options(), sides().accepting};
        scripted_stream& stream = one.accept();
        CHECK(!one.has_pipe());
        tls_far_end peer{false};
        peer.converse(one, stream);
        REQUIRE(one.has_pipe());
        peer.say(pattern(200'000, 1));
        one.send(pattern(300'000, 2));
        peer.converse(one, stream);
        CHECK(bytes_of(one) == pattern(200'000, 1));
        CHECK(peer.heard() == pattern(300'000, 2));
    }

    TEST_CASE("tls: what came with the end of the handshake is not left lying") {
        session_harness one{raw_options(), sides().accepting};
        scripted_stream& stream = one.accept();
        tls_far_end peer{false};
        one.peer_sends(peer.take_said());
        peer.hear(stream.written());
        REQUIRE(peer.is_established());
        peer.say("at once");
        one.peer_sends(peer.take_said());
        CHECK(bytes_of(one) == "at once");
    }

    TEST_CASE("tls: what was received before the socket took it is not left lying") {
        socket_options options = session_options(socket_type::pair);
        options.recv_hwm = 2;
        joined_sessions both{session_options(socket_type::pair), options, sides().dialing,
                             sides().accepting};
        both.connect();
        for (int count = 0; count < 90; ++count) {
            both.dialing.send(pattern(1000));
        }
        both.run();
        std::size_t got = both.accepting.arrived().size();
        CHECK(got < 91);
        for (std::size_t before = 0; got != before;) {
            before = got;
            both.run();
            got = both.accepting.arrived().size();
        }
        CHECK(got == 91);
    }

    TEST_CASE("tls: garbage in place of a handshake, and after it, ends the peer") {
        for (const bool is_established : {false, true}) {
            CAPTURE(is_established);
            session_harness one{raw_options(), sides().accepting};
            scripted_stream& stream = one.accept();
            tls_far_end peer{false};
            if (is_established) {
                peer.converse(one, stream);
                REQUIRE(one.has_pipe());
            }
            one.peer_sends(pattern(100));
            CHECK(stream.is_closed());
            CHECK(one.is_gone());
            CHECK(one.failures() == (is_established ? failures{} : failure(EPROTO)));
        }
    }

    TEST_CASE(
        "tls: a record that was changed on its way ends the peer, and nothing of it arrives") {
        session_harness one{raw_options(), sides().accepting};
        scripted_stream& stream = one.accept();
        tls_far_end peer{false};
        peer.converse(one, stream);
        peer.say("good");
        std::string said = peer.take_said();
        one.peer_sends(said);
        peer.say("changed");
        said = peer.take_said();
        said[10] = static_cast<char>(said[10] ^ 1);
        one.peer_sends(said);
        CHECK(stream.is_closed());
        CHECK(bytes_of(one) == "good");
    }

    TEST_CASE("tls: says goodbye when it closes, and hears the peer's") {
        session_harness one{raw_options(), sides().accepting};
        scripted_stream& stream = one.accept();
        tls_far_end peer{false};
        peer.converse(one, stream);
        SUBCASE("ours") {
            one.close_socket(0ms);
            one.run();
            peer.hear_rest(stream);
            CHECK(peer.has_heard_goodbye());
        }
        SUBCASE("the peer's") {
            peer.send_close_notify();
            one.peer_sends(peer.take_said());
            CHECK(stream.is_closed());
            peer.hear_rest(stream);
            CHECK(peer.has_heard_goodbye());
        }
    }

    TEST_CASE("tls: a closed socket's messages go out though the peer takes them late") {
        session_harness one{raw_options(), sides().accepting};
        scripted_stream& stream = one.accept();
        tls_far_end peer{false};
        peer.converse(one, stream);
        stream.make_room(100);
        one.send(pattern(40'000));
        one.close_socket();
        one.run();
        CHECK(!stream.is_closed());
        for (int turn = 0; turn < 1000 && !stream.is_closed(); ++turn) {
            stream.make_room(100);
            one.run();
        }
        CHECK(stream.is_closed());
        peer.hear_rest(stream);
        CHECK(peer.heard() == pattern(40'000));
        CHECK(peer.has_heard_goodbye());
    }

    TEST_CASE("tls: lingering ends in time though what is encrypted has not gone") {
        session_harness one{raw_options(), sides().accepting};
        scripted_stream& stream = one.accept();
        tls_far_end peer{false};
        peer.converse(one, stream);
        stream.make_room(100);
        one.send(pattern(4000));
        one.close_socket(50ms);
        one.pass(49ms);
        CHECK(!stream.is_closed());
        one.pass(1ms);
        CHECK(stream.is_closed());
        CHECK(one.is_gone());
    }

    TEST_CASE("tls: a peer that has us answer and does not read waits, with what it says") {
        session_harness one{raw_options(), sides().accepting};
        scripted_stream& stream = one.accept();
        tls_far_end peer{false};
        peer.converse(one, stream);
        stream.make_room(0);
        const std::size_t before = stream.written().size();
        for (int count = 0; count < 4900; ++count) { // Up to 4854 answers of 27 bytes may wait.
            if (count % 60 == 0) {
                one.pass(1s); // More in a second would be too many.
            }
            peer.ask_for_new_keys();
            one.peer_sends(peer.take_said());
        }
        peer.say("after all");
        one.peer_sends(peer.take_said());
        CHECK(bytes_of(one).empty());
        stream.make_room(1 << 20);
        one.run();
        CHECK(bytes_of(one) == "after all");
        CHECK(stream.written().size() > before + (100 << 10));
        peer.hear_rest(stream);
        one.send("and back");
        peer.converse(one, stream);
        CHECK(peer.heard() == "and back");
    }

    TEST_CASE("tls: a peer that sends nothing but new keys is ended soon") {
        session_harness one{raw_options(), sides().accepting};
        scripted_stream& stream = one.accept();
        tls_far_end peer{false};
        peer.converse(one, stream);
        REQUIRE(!one.is_gone());
        peer.announce_new_keys(10'000);
        one.peer_sends(peer.take_said());
        CHECK(stream.is_closed());
        CHECK(one.is_gone());
        // Not all of it was read: one read brings 64 KiB of 270 KB.
        CHECK(stream.unread_bytes() > 100'000);
    }

    TEST_CASE("tls: a peer may change its keys again and again, if that takes time") {
        session_harness one{raw_options(), sides().accepting};
        scripted_stream& stream = one.accept();
        tls_far_end peer{false};
        peer.converse(one, stream);
        std::string expected;
        for (int count = 0; count < 50; ++count) {
            peer.announce_new_keys(60);
            peer.say("x");
            expected += "x";
            one.peer_sends(peer.take_said());
            one.pass(1s);
        }
        CHECK(bytes_of(one) == expected);
        CHECK(!stream.is_closed());
    }

    TEST_CASE("tls: a handshake in thousands of pieces is ended") {
        session_harness one{raw_options(), sides().accepting};
        scripted_stream& stream = one.accept();
        const auto piece = [](char byte) { return std::string{"\x16\x03\x01\0\1", 5} + byte; };
        // A ClientHello of 60,000 bytes.
        std::string said = piece('\1') + piece('\0') + piece('\xea') + piece('\x60');
        for (int count = 0; count < 20'000; ++count) {
            said += piece('\0');
        }
        one.peer_sends(said);
        CHECK(stream.is_closed());
        CHECK(one.failures() == failure(EPROTO));
    }

    TEST_CASE("tls: new keys are agreed on while messages pass") {
        session_harness one{raw_options(), sides().accepting};
        scripted_stream& stream = one.accept();
        tls_far_end peer{false};
        peer.converse(one, stream);
        std::string expected;
        for (int count = 0; count < 20; ++count) {
            peer.ask_for_new_keys();
            peer.say(pattern(3000));
            one.send(pattern(3000));
            expected += pattern(3000);
            peer.converse(one, stream);
        }
        CHECK(bytes_of(one) == expected);
        CHECK(peer.heard() == expected);
    }

    TEST_CASE("tls: dialling resumes what it has of the last connection") {
        const tls_sides own = make_tls_sides();
        joined_sessions both{session_options(socket_type::pair), session_options(socket_type::pair),
                             own.dialing, own.accepting};
        both.connect();
        const std::size_t whole_bytes = both.accepting_stream().written().size();
        both.dialing.lose_connection();
        both.dialing.pass_until([&] { return both.dialing.is_dialing(); });
        both.connect();
        both.dialing.send("again");
        both.run();
        CHECK(both.accepting.arrived().back() == "again");
        CHECK(both.accepting_stream().written().size() < whole_bytes - 300); // No certificate.
    }

    TEST_CASE("tls: an older server is refused, and an older client") {
        for (const int version : {TLS1_VERSION, TLS1_1_VERSION}) {
            CAPTURE(version);
            for (const bool is_server : {false, true}) {
                CAPTURE(is_server);
                tls_far_end peer{is_server, version};
                session_harness one{raw_options(), is_server ? sides().dialing : sides().accepting};
                if (is_server) {
                    one.dial();
                }
                scripted_stream& stream = is_server ? one.reach() : one.accept();
                peer.converse(one, stream);
                CHECK(!peer.is_established());
                CHECK(stream.is_closed());
                CHECK(one.failures() == failure(EPROTO));
            }
        }
    }

    TEST_CASE("tls: 1.2 is spoken, without renegotiation") {
        session_harness one{raw_options(), sides().accepting};
        scripted_stream& stream = one.accept();
        tls_far_end peer{false, TLS1_2_VERSION};
        peer.converse(one, stream);
        REQUIRE(peer.is_established());
        peer.say("x");
        peer.converse(one, stream);
        CHECK(bytes_of(one) == "x");
        peer.renegotiate();
        peer.say("y");
        peer.converse(one, stream);
        CHECK(!peer.is_established());
        CHECK(bytes_of(one) == "x");
    }

} // TEST_SUITE
