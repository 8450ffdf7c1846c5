// SPDX-License-Identifier: MPL-2.0
#include "session/session.hpp"

#include "testing/bytes.hpp"
#include "testing/queue_contents.hpp"
#include "testing/session_harness.hpp"
#include "wire/zmtp/v1_frame.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

// The test is a peer of libzmq 2.x or 3.x, at the other end of a stream in memory.

using namespace zlink;
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

std::string on_v1_wire(std::string_view body, unsigned flags = 0) {
    std::byte header[zmtp::v1_header_bytes_max];
    const std::size_t bytes = zmtp::write_v1_header(header, body.size(), flags);
    return std::string(reinterpret_cast<const char*>(header), bytes).append(body);
}

/// The bytes that a PAIR of some version sends and receives before messages, and its framing.
struct version {
    std::string peers_opening;
    std::string our_opening;
    std::string (*framed)(std::string_view body, unsigned flags);
};

std::string in_v2(std::string_view body, unsigned flags) {
    return on_wire(body, static_cast<std::uint8_t>(flags));
}

const version versions[] = {
    {signature + wire_text("01 00 00 00"), signature + wire_text("03 00 00 00"), in_v2},
    {signature + wire_text("00 00 01 00"), signature + wire_text("03 00 01 00"), on_v1_wire},
    {wire_text("01 00"), signature, on_v1_wire},
    {wire_text("ff 00000000000000ff 00 'p'*254"), signature, on_v1_wire},
};

/// Messages in either direction, and their frames on the wire.
struct part {
    std::string body;
    unsigned flags = 0;
};
const part parts[] = {{"hello"},     {"one", zmtp::flag_more}, {pattern(300), zmtp::flag_more},
                      {"three"},     {pattern(20'000)},        {""},
                      {pattern(254)}};

std::string wire_image(const version& of) {
    std::string all;
    for (const part& each : parts) {
        all += of.framed(each.body, each.flags);
    }
    return all;
}

messages spelled_parts() {
    messages all;
    for (const part& each : parts) {
        all.push_back(testing::spelled(static_cast<std::uint8_t>(each.flags), each.body));
    }
    return all;
}

void send_parts(session_harness& by) {
    for (const part& each : parts) {
        by.send(each.body, static_cast<std::uint8_t>(each.flags));
    }
}

socket_options options_of(socket_type type, std::string routing_id) {
    socket_options made = session_options(type);
    made.routing_id = std::move(routing_id);
    return made;
}

} // namespace

TEST_SUITE("session") {

    TEST_CASE("older peer: messages pass both ways, however much is moved at a time") {
        for (const version& chosen : versions) {
            for (const std::size_t bytes : {1, 2, 3, 11, 12, 13, 100, 1000, 100'000}) {
                CAPTURE(bytes);
                session_harness one;
                scripted_stream& stream =
                    one.accept({.read_bytes_max = bytes, .write_bytes_max = bytes});
                one.peer_sends(chosen.peers_opening + wire_image(chosen));
                messages expected = spelled_parts();
                expected.insert(expected.begin(), "*");
                CHECK(one.arrived() == expected);

                send_parts(one);
                one.run();
                CHECK(stream.written() == chosen.our_opening + wire_image(chosen));
                CHECK(one.credit() == 100);
                CHECK(!one.is_gone());
            }
        }
    }

    TEST_CASE("older peer: is told no more than it has shown to understand") {
        session_harness two;
        scripted_stream& to_two = two.accept();
        CHECK(to_two.written() == signature);
        two.peer_sends(signature);
        CHECK(to_two.written() == signature + wire_text("03"));
        two.peer_sends(wire_text("01"));
        CHECK(to_two.written() == signature + wire_text("03 00"));
        two.peer_sends(wire_text("00"));
        CHECK(to_two.written() == signature + wire_text("03 00 00 00"));
        CHECK(!two.has_pipe());
        two.peer_sends(wire_text("00 00"));
        CHECK(two.has_pipe());

        session_harness one{options_of(socket_type::pair, "me")};
        scripted_stream& to_one = one.accept();
        CHECK(to_one.written() == wire_text("ff 00*7 03 7f"));
        one.peer_sends(wire_text("01"));
        CHECK(to_one.written() == wire_text("ff 00*7 03 7f 'me'"));
        CHECK(!one.has_pipe());
        one.peer_sends(wire_text("00"));
        CHECK(one.has_pipe());
    }

    TEST_CASE("older peer: takes the message from its start that was cut off at any byte") {
        for (const version& chosen : versions) {
            std::size_t message_begins[] = {0, 0, 0, 0};
            const std::string image = chosen.framed("hello", 0) +
                                      chosen.framed("one", zmtp::flag_more) +
                                      chosen.framed(pattern(300), 0) + chosen.framed("end", 0);
            message_begins[1] = chosen.framed("hello", 0).size();
            message_begins[3] = image.size();
            message_begins[2] = image.size() - chosen.framed("end", 0).size();
            for (std::size_t bytes = 0; bytes <= image.size(); ++bytes) {
                CAPTURE(bytes);
                session_harness one;
                one.dial();
                scripted_stream& first = one.reach();
                one.peer_sends(chosen.peers_opening);
                first.make_room(bytes);
                one.send("hello");
                one.send("one", zmtp::flag_more);
                one.send(pattern(300));
                one.send("end");
                one.run();
                first.peer_resets();
                one.run();
                scripted_stream& second = one.reach();
                one.peer_sends(chosen.peers_opening);

                const std::size_t begin = *(
                    std::upper_bound(std::begin(message_begins), std::end(message_begins), bytes) -
                    1);
                CHECK(second.written() == chosen.our_opening + image.substr(begin));
                CHECK(one.credit() == 100);
            }
        }
    }

    TEST_CASE("older peer: waits while its messages have no room") {
        for (const version& chosen : versions) {
            session_harness one;
            one.accept();
            std::string sent = chosen.peers_opening;
            for (int count = 0; count < 3000; ++count) {
                sent += chosen.framed(std::to_string(count), 0);
            }
            one.peer_sends(sent);
            while (one.arrived().size() < 3001) {
                const std::size_t before = one.arrived().size();
                one.run();
                REQUIRE(one.arrived().size() > before);
            }
            CHECK(one.arrived()[3000] == "2999");
        }
    }

    TEST_CASE("older peer: is refused where there is a mechanism, or a ZAP domain") {
        for (const version& chosen : versions) {
            socket_options plain = session_options(socket_type::pair);
            plain.mechanism = security_mechanism::plain;
            socket_options curve = session_options(socket_type::pair);
            curve.mechanism = security_mechanism::curve;
            socket_options asks = session_options(socket_type::pair);
            asks.zap_domain = "global";
            for (const socket_options& each : {plain, curve, asks}) {
                session_harness one{each};
                one.accept();
                one.peer_sends(chosen.peers_opening + wire_image(chosen));
                CHECK(one.is_gone());
                CHECK(!one.has_pipe());
            }
        }
    }

    TEST_CASE("older peer: stays outside if it is of the wrong type") {
        for (const char* const opening : {"ff 00*7 01 7f 01 08", "ff 00*7 01 7f 00 ff"}) {
            session_harness one;
            one.accept();
            one.peer_sends(wire_text(opening));
            CHECK(one.is_gone());
        }
    }

    TEST_CASE("older peer: stays outside if it breaks the rules") {
        for (const char* const sent :
             {"00", "01 01", "'GET / HTTP/1.1'", "ff 0000000000000101 00", "01 00 00",
              "01 00 ff 00*8 00", "01 00 ff ff*8 00", "ff 00*7 01 7f 01 00 01 00",
              "ff 00*7 01 7f 01 00 02 0000000000000100", "ff 00*7 01 7f 01 00 00 00 08 00"}) {
            CAPTURE(sent);
            session_harness one;
            one.accept();
            one.peer_sends(wire_text(sent));
            CHECK(one.is_gone());
        }
    }

    TEST_CASE("older peer: a frame that is too large ends the connection, before it is there") {
        for (const version& chosen : versions) {
            socket_options options = session_options(socket_type::pair);
            options.message_bytes_max = 300;
            session_harness one{options};
            one.accept();
            one.peer_sends(chosen.peers_opening + chosen.framed(pattern(300), 0));
            CHECK(one.arrived() == messages{"*", pattern(300)});
            one.peer_sends(chosen.framed(pattern(301), 0).substr(0, 12));
            CHECK(one.is_gone());
        }
    }

    TEST_CASE("older peer: tells its identity") {
        for (const char* const opening : {"04 00 'you'", "ff 00*7 01 7f 01 05 00 03 'you'",
                                          "ff 00*7 01 7f 00 05 04 00 'you'"}) {
            session_harness one{session_options(socket_type::router)};
            one.accept();
            one.peer_sends(wire_text(opening));
            REQUIRE(one.has_pipe());
            CHECK(one.announced()->routing_id == "you");
        }
    }

    TEST_CASE("older peer: a subscriber of 1.0 gets everything without a word") {
        for (const socket_type type : {socket_type::pub, socket_type::xpub}) {
            session_harness one{session_options(type)};
            scripted_stream& stream = one.accept();
            one.peer_sends(wire_text("01 00"));
            CHECK(one.arrived() == messages{"*", "\x01"});
            one.send("news");
            one.run();
            CHECK(stream.written() == signature + wire_text("05 00 'news'"));
        }
        session_harness two{session_options(socket_type::pub)};
        two.accept();
        two.peer_sends(signature + wire_text("01 02 00 00"));
        CHECK(two.arrived() == messages{"*"});
    }

    TEST_CASE("older peer: gets subscriptions as messages, at every byte") {
        const version publishers[] = {
            {signature + wire_text("01 01 00 00"), signature + wire_text("03 02 00 00"), in_v2},
            {wire_text("01 00"), signature, on_v1_wire},
        };
        for (const version& chosen : publishers) {
            const std::string expected = chosen.framed("\x01one", 0) +
                                         chosen.framed("\x01" + pattern(300), 0) +
                                         chosen.framed(std::string("\0one", 4), 0);
            for (std::size_t bytes = 0; bytes <= expected.size(); ++bytes) {
                CAPTURE(bytes);
                session_harness one{session_options(socket_type::sub)};
                one.dial();
                scripted_stream& stream = one.reach();
                one.peer_sends(chosen.peers_opening);
                stream.make_room(bytes);
                one.send("\x09SUBSCRIBEone", zmtp::flag_command);
                one.send("\x09SUBSCRIBE" + pattern(300), zmtp::flag_command);
                one.send("\x06"
                         "CANCELone",
                         zmtp::flag_command);
                one.run();
                CHECK(stream.written() == chosen.our_opening + expected.substr(0, bytes));
                stream.make_room(SIZE_MAX);
                one.run();
                CHECK(stream.written() == chosen.our_opening + expected);
                CHECK(one.credit() == 100);
            }
        }
    }

} // TEST_SUITE
