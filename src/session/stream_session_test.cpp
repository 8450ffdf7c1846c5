// SPDX-License-Identifier: MPL-2.0
#include "testing/session_harness.hpp"
#include "testing/web_upgrade.hpp"

#include <cerrno>
#include <chrono>
#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace std::string_literals;
using namespace zlink;
using testing::pattern;
using testing::scripted_stream;
using testing::session_harness;

namespace {

using messages = std::vector<std::string>;

const std::string request = testing::upgrade_request();
const std::string response = testing::upgrade_response();
const std::string hello = "\x82\x85\0\0\0\0hello"s; // Masked with zeros.

socket_options stream_options() {
    return testing::session_options(socket_type::stream);
}

const std::string masked_close = "\x88\x82\0\0\0\0\x03\xe8"s; // Code 1000.
const std::string plain_close = "\x88\2\x03\xe8"s;

/// Makes the server answer the upgrade of the newest connection.
scripted_stream& reach_web(session_harness& one) {
    scripted_stream& stream = one.reach();
    one.peer_sends(testing::upgrade_response_to(stream.written()));
    REQUIRE(one.has_pipe());
    return stream;
}

void close_peer(session_harness& at, std::uint16_t code, const char* reason) {
    at.end().push_control(new pipe::close_request(code, reason));
    at.run();
}

/// The reason reported for a peer that came and went and sent nothing in between.
std::string why_gone(session_harness& at) {
    CHECK(at.announced()->properties.find(pipe::detail_property));
    return std::string(at.announced()->properties.find(pipe::reason_property).value_or("nothing"));
}

void set_requested_close(session_harness& at, std::uint16_t code, const char* reason,
                         std::chrono::milliseconds longest, std::uint32_t event) {
    at.end().whole().requested_close = new pipe::close_request(code, reason, longest);
    at.end().other().deliver(event);
}

} // namespace

TEST_SUITE("session") {

    TEST_CASE("stream session: says nothing of its own, and tells of the peer and its messages") {
        for (const std::size_t bytes : {1, 2, 5, 100'000}) {
            session_harness one{stream_options()};
            scripted_stream& stream =
                one.accept({.read_bytes_max = bytes, .write_bytes_max = bytes});
            one.peer_sends("\0\0\0\5hello\0\0\0\0"s);
            CHECK(one.arrived() == messages{"*", "hello", ""});
            one.send("world");
            one.send(pattern(300));
            one.run();
            CHECK(stream.written() == "\0\0\0\5world\0\0\1\x2c"s + pattern(300));
            stream.peer_ends();
            one.run();
            CHECK(one.is_gone());
            CHECK(one.arrived() == messages{"*", "hello", "", "*"});
        }
    }

    TEST_CASE(
        "stream session: a peer that has ended its direction takes what waits, however slowly") {
        session_harness one{stream_options()};
        scripted_stream& stream = one.accept({.room_bytes = 3});
        one.peer_sends("\0\0\0\2hi"s);
        one.send("world");
        one.send("and more");
        one.run();
        stream.peer_ends();
        one.pass(4s);
        one.send("what comes later"); // The socket does not know of the end yet.
        const std::string all = "\0\0\0\5world\0\0\0\x08"
                                "and more\0\0\0\x10what comes later"s;
        while (stream.written().size() + 1 < all.size()) {
            REQUIRE(!one.is_gone());
            stream.make_room(1);
            one.pass(4s);
        }
        CHECK(one.arrived() == messages{"*", "hi"});
        stream.make_room(1);
        one.run();
        CHECK(stream.written() == all);
        CHECK(one.is_gone());
        CHECK(one.arrived() == messages{"*", "hi", "*"});
    }

    TEST_CASE("stream session: a peer that has ended its direction and takes nothing is given up") {
        session_harness one{stream_options()};
        scripted_stream& stream = one.accept({.room_bytes = 3});
        one.send("world");
        one.run();
        stream.peer_ends();
        CHECK(one.pass_until([&] { return one.is_gone(); }) == limits::half_closed_idle_max);
        CHECK(stream.is_closed());
        CHECK(one.arrived() == messages{"*", "*"});
    }

    TEST_CASE("stream session: a peer that has ended its direction goes when it is to be closed, "
              "and is dialled again when not") {
        for (const bool is_asked_for : {false, true}) {
            CAPTURE(is_asked_for);
            session_harness one{stream_options()};
            one.dial();
            scripted_stream& stream = one.reach({.room_bytes = 3});
            one.send("world");
            one.run();
            stream.peer_ends();
            if (is_asked_for) {
                close_peer(one, 1000, "");
            }
            stream.make_room(SIZE_MAX);
            one.run();
            CHECK(stream.written() == "\0\0\0\5world"s);
            CHECK(one.is_gone() == is_asked_for);
            CHECK(one.is_dialing() == !is_asked_for);
        }
    }

    TEST_CASE("stream session: a peer that is asked to go has so long for all of it") {
        for (const std::size_t room : {std::size_t{0}, std::size_t{3}, SIZE_MAX}) {
            CAPTURE(room);
            session_harness one{stream_options()};
            scripted_stream& stream = one.accept({.room_bytes = room});
            one.send("world");
            one.run();
            set_requested_close(one, 4000, "bye", 3s, pipe::event::leaving);
            close_peer(one, 4000, "bye");
            CHECK(one.pass_until([&] { return one.is_gone(); }) == 3s);
            CHECK(stream.is_closed());
            CHECK(why_gone(one) == "4000 bye");
        }
    }

    TEST_CASE("stream session: a peer that is cut off goes at once, in whatever state it is") {
        enum class state : std::uint8_t { idle, stalled, half_closed, parting };
        for (const bool is_web : {false, true}) {
            for (const state now :
                 {state::idle, state::stalled, state::half_closed, state::parting}) {
                CAPTURE(is_web);
                CAPTURE(static_cast<int>(now));
                session_harness one{stream_options(), nullptr, is_web ? scheme::ws : scheme::tcp};
                scripted_stream& stream = one.accept();
                if (is_web) {
                    one.peer_sends(request);
                }
                const std::size_t before = stream.written().size();
                stream.make_room(now == state::idle ? SIZE_MAX : 1);
                if (now != state::idle) {
                    one.send("world");
                    one.run();
                }
                if (now == state::half_closed) {
                    stream.peer_ends();
                }
                if (now == state::parting) {
                    close_peer(one, 4000, "bye");
                }
                set_requested_close(one, 4000, "bye", 0s, pipe::event::cut_off);
                one.run();
                CHECK(one.is_gone());
                CHECK(stream.is_closed());
                CHECK(why_gone(one) == "4000 bye");
                const std::string last = stream.written().substr(before);
                CHECK(last == (now != state::idle ? last.substr(0, 1)
                               : is_web           ? "\x88\5\x0f\xa0"
                                                    "bye"
                                                  : ""));
            }
        }
    }

    TEST_CASE("stream session: the memory of received messages is free once all are taken") {
        session_harness one{stream_options()};
        one.accept();
        std::string sent;
        for (int count = 0; count < 30; ++count) {
            sent += "\0\0\4\0"s + pattern(1024);
        }
        one.peer_sends(sent);
        CHECK(one.end().in.holds_memory()); // The application has not taken it.
        CHECK(one.arrived().size() == 1 + 30);
        one.end().in.mark_reader_parked();
        one.run();
        CHECK(!one.end().in.holds_memory());
        one.peer_sends(sent);
        CHECK(one.arrived().size() == 1 + 60);
    }

    TEST_CASE("stream session: has another turn before others once it was answered") {
        session_harness one{stream_options()};
        scripted_stream& stream = one.accept();
        const std::string message = "\0\1\0\0"s + pattern(65536);
        std::string data;
        while (data.size() < 2 * (tuning::driven_bytes_max + message.size())) {
            data += message;
        }
        for (const bool is_answered : {false, true, false}) {
            CAPTURE(is_answered);
            if (is_answered) {
                one.send("answer");
                one.run();
            }
            const std::size_t before = stream.read_waits().size();
            one.peer_sends(data);
            const std::string waits = stream.read_waits().substr(before);
            CAPTURE(waits);
            CHECK(waits.rfind('s') == (is_answered ? 0 : std::string::npos)); // In the first wait.
            CHECK(waits.ends_with("w"));
        }
        CHECK(one.arrived().size() == 1 + 3 * data.size() / message.size());
    }

    TEST_CASE("stream session: a peer that does not read is still received from, beside others") {
        session_harness one{stream_options()};
        scripted_stream& stream = one.accept({.room_bytes = 3});
        one.send("world");
        one.run();
        CHECK(stream.written() == "\0\0\0"s);
        for (int turn = 0; turn < 20; ++turn) {
            const std::size_t arrived = one.arrived().size();
            one.peer_sends_beside_others("\0\0\0\5hello"s);
            CHECK(one.arrived().size() == arrived + 1);
            CHECK(one.arrived().back() == "hello");
        }
        stream.make_room(SIZE_MAX);
        one.run();
        CHECK(stream.written() == "\0\0\0\5world"s);
    }

    TEST_CASE("stream session: a peer that was told to go and stays is ended") {
        session_harness one{stream_options()};
        scripted_stream& stream = one.accept();
        one.send("last");
        close_peer(one, 1000, "go");
        CHECK(stream.written() == "\0\0\0\4last"s);
        CHECK(stream.has_ended_writing());
        one.peer_sends("\0\0\0\2no"s);
        one.pass(4999ms);
        CHECK(!stream.is_closed());
        one.pass(1ms);
        CHECK(stream.is_closed());
        CHECK(one.is_gone());
        CHECK(one.arrived() == messages{"*", "no", "*"});
    }

    TEST_CASE("stream session: where nothing can be written a peer that is told to go is ended, "
              "too, though what was sent is not out") {
        session_harness one{stream_options()};
        scripted_stream& stream = one.accept({.room_bytes = 3});
        one.send("last");
        close_peer(one, 1000, "go");
        CHECK(!stream.has_ended_writing());
        stream.make_room(SIZE_MAX);
        one.run();
        CHECK(stream.written() == "\0\0\0\4last"s);
        CHECK(stream.has_ended_writing());
    }

    TEST_CASE("stream session: upgrades and exchanges frames, however many bytes at a time") {
        for (const std::size_t bytes : {1, 2, 7, 100'000}) {
            CAPTURE(bytes);
            session_harness one{stream_options(), {}, scheme::ws};
            scripted_stream& stream =
                one.accept({.read_bytes_max = bytes, .write_bytes_max = bytes});
            one.peer_sends(request + hello + "\x89\x80\0\0\0\0"s + hello);
            CHECK(one.arrived() == messages{"*", "hello", "hello"});
            one.send("world");
            one.run();
            CHECK(stream.written() == response + "\x8a\0\x82\5world"s);
        }
    }

    TEST_CASE("stream session: a ping is answered between messages, never inside of one") {
        for (std::size_t room = 0; room <= 20; ++room) {
            CAPTURE(room);
            session_harness one{stream_options(), {}, scheme::ws};
            scripted_stream& stream = one.accept();
            one.peer_sends(request);
            stream.make_room(room);
            one.send("0123456789");
            one.send("more");
            one.run();
            one.peer_sends("\x89\x80\0\0\0\0"s);
            stream.make_room(SIZE_MAX);
            one.run();
            const std::string first = "\x82\x0a"
                                      "0123456789";
            const std::string second = "\x82\4more";
            const std::string pong = "\x8a\0"s;
            const std::string written = stream.written().substr(response.size());
            CHECK((written == first + second + pong || written == first + pong + second ||
                   written == pong + first + second));
        }
    }

    TEST_CASE("stream session: an upgrade has as long as the handshake's deadline says") {
        socket_options options = stream_options();
        options.handshake_interval = 100;
        session_harness one{options, {}, scheme::ws};
        scripted_stream& stream = one.accept();
        for (int count = 0; count < 99; ++count) {
            one.peer_sends(request.substr(static_cast<std::size_t>(count), 1));
            one.pass(1ms);
        }
        CHECK(!stream.is_closed());
        one.pass(1ms);
        CHECK(stream.is_closed());
        CHECK(one.is_gone());
        CHECK(!one.has_pipe());
    }

    TEST_CASE("stream session: a WebSocket peer that does not answer a close frame is ended") {
        session_harness one{stream_options(), {}, scheme::ws};
        scripted_stream& stream = one.accept();
        one.peer_sends(request);
        close_peer(one, 4000, "go");
        CHECK(stream.written() == response + "\x88\4\x0f\xa0go");
        CHECK(!stream.has_ended_writing());
        one.peer_sends(hello);
        one.pass(4999ms);
        CHECK(!stream.is_closed());
        one.pass(1ms);
        CHECK(stream.is_closed());
        CHECK(one.arrived() == messages{"*", "hello", "*"});
    }

    TEST_CASE("stream session: no message follows a close frame, whenever the socket is closed") {
        for (const bool is_cut_off : {false, true}) {
            CAPTURE(is_cut_off);
            session_harness one{stream_options(), {}, scheme::ws};
            scripted_stream& stream = one.accept();
            one.peer_sends(request);
            stream.make_room(0);
            one.peer_sends("\x88\x82\0\0\0\0\x03\xe8"s);
            one.send("late");
            one.run();
            if (is_cut_off) {
                stream.make_room(1);
                one.run();
            }
            one.close_socket();
            stream.make_room(SIZE_MAX);
            one.run();
            CHECK(stream.written() == response + "\x88\2\x03\xe8"s);
            CHECK(one.is_gone());
        }
    }

    TEST_CASE("stream session: a close code that was given counts, also if the socket is closed "
              "before it is written") {
        session_harness one{stream_options(), {}, scheme::ws};
        scripted_stream& stream = one.accept();
        one.peer_sends(request);
        stream.make_room(0);
        one.send("late");
        one.run();
        one.end().push_control(new pipe::close_request(4000, "go"));
        one.close_socket();
        one.run();
        stream.make_room(SIZE_MAX);
        one.run();
        CHECK(stream.written() == response + "\x82\4late\x88\4\x0f\xa0go");
        CHECK(stream.has_ended_writing());
        stream.peer_ends();
        one.run();
        CHECK(one.is_gone());
    }

    TEST_CASE(
        "stream session: after its socket is closed it reads until its peer goes, or is late") {
        for (const scheme via : {scheme::tcp, scheme::ws}) {
            for (const bool is_late : {false, true}) {
                session_harness one{stream_options(), {}, via};
                scripted_stream& stream = one.accept();
                one.peer_sends(via == scheme::ws ? request : "");
                one.close_socket();
                one.run();
                CHECK(stream.has_ended_writing());
                CHECK(!stream.is_closed());
                one.peer_sends(std::string(100'000, 'x'));
                one.pass(4999ms);
                CHECK(!stream.is_closed());
                if (is_late) {
                    one.pass(1ms);
                } else {
                    stream.peer_ends();
                    one.run();
                }
                CHECK(stream.is_closed());
                CHECK(one.is_gone());
            }
        }
    }

    TEST_CASE("stream session: after the close frames of both sides the server closes") {
        for (const bool is_asked_for : {false, true}) {
            CAPTURE(is_asked_for);
            session_harness one{stream_options(), {}, scheme::ws};
            scripted_stream& stream = one.accept();
            one.peer_sends(request);
            if (is_asked_for) {
                close_peer(one, 1000, "");
            }
            CHECK(!stream.is_closed());
            one.peer_sends("\x88\x82\0\0\0\0\x03\xe8"s);
            CHECK(stream.written() == response + "\x88\2\x03\xe8"s);
            CHECK(stream.is_closed());
            CHECK(one.is_gone());
        }
    }

    TEST_CASE(
        "stream session: whose endpoint is gone does not dial again, also if the peer is lost "
        "before it was told to go") {
        session_harness one{stream_options()};
        one.dial();
        scripted_stream& stream = one.reach({.room_bytes = 3});
        one.send("never read");
        close_peer(one, 1001, "");
        one.end_origin();
        CHECK(!one.is_gone());
        stream.peer_resets();
        one.run();
        CHECK(one.is_gone());
    }

    TEST_CASE("stream session: a peer that leaves within a message has not said that it goes") {
        session_harness one{stream_options()};
        scripted_stream& stream = one.accept();
        one.peer_sends("\0\0\0\5hell"s);
        stream.peer_ends();
        one.run();
        CHECK(one.is_gone());
        one.announced(); // The event that the peer has come.
        CHECK(one.announced()->properties.find(pipe::reason_property) == "1006 closed by the peer");
    }

    TEST_CASE(
        "stream session: a WebSocket peer that leaves without a close frame has not said so") {
        session_harness one{stream_options(), {}, scheme::ws};
        scripted_stream& stream = one.accept();
        one.peer_sends(request);
        stream.peer_ends();
        one.run();
        CHECK(one.is_gone());
        one.announced(); // The event that the peer has come.
        CHECK(one.announced()->properties.find(pipe::reason_property) == "1006 closed by the peer");
    }

    TEST_CASE("stream session: that a peer has said that it goes is told at once, and what waits "
              "for it is dropped") {
        enum class then : std::uint8_t { goes_on, ends };
        for (const bool dials : {false, true}) {
            for (const then next : {then::goes_on, then::ends}) {
                CAPTURE(dials);
                CAPTURE(next == then::ends);
                session_harness one{stream_options(), {}, scheme::ws};
                scripted_stream* stream = nullptr;
                if (dials) {
                    one.dial();
                    stream = &reach_web(one);
                } else {
                    stream = &one.accept();
                    one.peer_sends(request);
                }
                const std::size_t before = stream->written().size();
                stream->make_room(3);
                one.send("0123456789");
                one.send("late");
                one.run();

                one.peer_sends((dials ? plain_close : masked_close) + hello);

                CHECK(one.arrived() == messages{"*", "*"});
                CHECK(one.end().peer_is_closed());
                CHECK(one.end().out.untaken().message_count == 2);
                CHECK(!stream->is_closed());
                if (next == then::ends) {
                    one.close_socket();
                    one.end_origin();
                    CHECK(one.is_gone());
                    continue;
                }
                stream->make_room(SIZE_MAX);
                one.run();
                if (!dials) {
                    CHECK(stream->written().substr(before) == "\x82\x0a"
                                                              "0123456789" +
                                                                  plain_close);
                    CHECK(one.is_gone());
                    continue;
                }
                const std::size_t frame_bytes = 6 + 10;
                const std::size_t answer_bytes = 6 + 2;
                CHECK(stream->written().size() == before + frame_bytes + answer_bytes);
                CHECK(stream->has_ended_writing());
                one.close_socket(); // As when all messages were received.
                one.peer_sends(hello);
                stream->peer_ends();
                one.pass(1ms);
                CHECK(stream->is_closed());
                CHECK(one.is_dialing());
                one.end_origin();
                CHECK(one.is_gone());
            }
        }
    }

    TEST_CASE("stream session: a client whose server stays behind its close frame ends it in time, "
              "and dials again") {
        session_harness one{stream_options(), {}, scheme::ws};
        one.dial();
        const scripted_stream& stream = reach_web(one);
        one.peer_sends(plain_close);
        CHECK(stream.has_ended_writing());
        one.pass(4999ms);
        CHECK(!stream.is_closed());
        one.pass(2ms);
        CHECK(stream.is_closed());
        CHECK(one.is_dialing());
        CHECK(one.arrived() == messages{"*", "*"});
    }

    TEST_CASE("stream session: a client whose server has said that it goes keeps no socket waiting "
              "that was drained before") {
        session_harness one{stream_options(), {}, scheme::ws};
        one.dial();
        const scripted_stream& stream = reach_web(one);
        one.end_origin();
        one.peer_sends(plain_close);
        CHECK(stream.has_ended_writing());
        CHECK(!one.end().peer_is_closed());
        one.send("late");
        one.run();
        one.close_socket();
        one.run();
        CHECK(one.is_gone());
    }

    TEST_CASE("stream session: a peer that does not go has as long as linger says, whenever it was "
              "told") {
        for (const scheme via : {scheme::tcp, scheme::ws}) {
            for (const bool is_told_before : {false, true}) {
                for (const auto linger : {0ms, 50ms}) {
                    session_harness one{stream_options(), {}, via};
                    const scripted_stream& stream = one.accept();
                    one.peer_sends(via == scheme::ws ? request : "");
                    if (is_told_before) {
                        close_peer(one, 1000, "");
                    }
                    one.close_socket(linger);
                    one.run();
                    if (linger != 0ms) {
                        one.pass(linger - 1ms);
                        CHECK(!one.is_gone());
                        one.pass(1ms);
                    }
                    CHECK(one.is_gone());
                    CHECK(stream.is_closed());
                }
            }
        }
    }

    TEST_CASE("stream session: a peer told to go before the socket is closed has no longer for "
              "that") {
        for (const scheme via : {scheme::tcp, scheme::ws}) {
            session_harness one{stream_options(), {}, via};
            one.accept();
            one.peer_sends(via == scheme::ws ? request : "");
            close_peer(one, 1000, "");
            one.pass(3000ms);
            one.close_socket();
            one.pass(1999ms);
            CHECK(!one.is_gone());
            one.pass(1ms);
            CHECK(one.is_gone());
        }
    }

    TEST_CASE(
        "stream session: a peer that does not even take the close frame is ended in time, too") {
        session_harness one{stream_options(), {}, scheme::ws};
        scripted_stream& stream = one.accept();
        one.peer_sends(request);
        stream.make_room(0);
        one.close_socket();
        one.pass(4999ms);
        CHECK(!one.is_gone());
        one.pass(1ms);
        CHECK(one.is_gone());
    }

    TEST_CASE("stream session: dials again in its own time, though the socket has received nothing "
              "of the connection before") {
        socket_options options = stream_options();
        options.reconnect_interval = 100;
        session_harness one{options};
        one.dial();
        one.reach();
        one.peer_sends("\0\0\0\3old"s);
        one.lose_connection();
        one.pass(99ms);
        CHECK(!one.is_dialing());
        one.pass(101ms);
        REQUIRE(one.is_dialing());
        CHECK(one.arrived() == messages{"*", "old", "*"});
        one.reach();
        CHECK(bool{one.end().replaces_lost});
        one.peer_sends("\0\0\0\3new"s);
        CHECK(one.arrived() == messages{"*", "old", "*", "*", "new"});
    }

    TEST_CASE("stream session: does not dial while the socket has not heard of as many departures "
              "as there may be") {
        session_harness one{stream_options()};
        one.dial();
        one.reach();
        one.departures().unreported_count += 1000;
        one.lose_connection();
        one.pass(1000ms);
        CHECK(!one.is_dialing());
        one.departures().unreported_count -= 1000;
        one.pass(1000ms);
        CHECK(one.is_dialing());
    }

    TEST_CASE("stream session: answers that a peer leaves unread are not kept without end") {
        session_harness one{stream_options(), {}, scheme::ws};
        scripted_stream& stream = one.accept();
        one.peer_sends(request);
        stream.make_room(0);
        std::string pings;
        for (int count = 0; count < 10'000; ++count) {
            pings += "\x89\x80\0\0\0\0"s;
        }
        one.peer_sends(pings);
        stream.make_room(SIZE_MAX);
        one.run();
        CHECK(stream.written().size() <= response.size() + 4096 + 2);
    }

} // TEST_SUITE
