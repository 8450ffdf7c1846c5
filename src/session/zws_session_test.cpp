// SPDX-License-Identifier: MPL-2.0
//
// A pattern over ws; the test plays the peer, byte by byte, and controls the time.
#include "testing/session_harness.hpp"
#include "testing/web_upgrade.hpp"
#include "wire/zmtp/command.hpp"

#include <doctest/doctest.h>

#include <cerrno>
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

std::string request(std::string_view subprotocols) {
    std::string offer;
    if (!subprotocols.empty()) {
        offer.append("Sec-WebSocket-Protocol: ").append(subprotocols).append("\r\n");
    }
    return testing::upgrade_request("/any", offer);
}
std::string response(std::string_view subprotocol) {
    return testing::upgrade_response("Sec-WebSocket-Protocol: " + std::string(subprotocol) +
                                     "\r\n");
}

/// A frame that a server sends.
std::string plain(std::string_view payload, unsigned first = 0x82) {
    std::string made(1, static_cast<char>(first));
    if (payload.size() < 126) {
        made += static_cast<char>(payload.size());
    } else {
        made += {126, static_cast<char>(payload.size() >> 8), static_cast<char>(payload.size())};
    }
    return made.append(payload);
}
/// A frame that a client sends, masked with zeros.
std::string masked(std::string_view payload, unsigned first = 0x82) {
    std::string made = plain(payload, first);
    made[1] = static_cast<char>(made[1] | 0x80);
    made.insert(payload.size() < 126 ? 2 : 4, "\0\0\0\0"s);
    return made;
}

std::string property(std::string_view name, std::string_view value) {
    std::string made(1, static_cast<char>(name.size()));
    made.append(name).append("\0\0\0"s);
    made += static_cast<char>(value.size());
    return made.append(value);
}
std::string ready(std::string_view type) {
    return "\2\5READY" + property("Socket-Type", type);
}

/// Splits a client's bytes into frames and unmasks them: the masked bytes differ each time.
std::vector<std::string> unmasked(std::string_view data) {
    std::vector<std::string> found;
    while (data.size() >= 6) {
        const std::size_t bytes = static_cast<unsigned char>(data[1]) & 0x7f;
        REQUIRE((static_cast<unsigned char>(data[1]) & 0x80) != 0);
        REQUIRE(bytes < 126);
        const std::string_view key = data.substr(2, 4);
        std::string payload;
        for (std::size_t index = 0; index < bytes; ++index) {
            payload += static_cast<char>(data[6 + index] ^ key[index % 4]);
        }
        found.push_back(payload);
        data.remove_prefix(6 + bytes);
    }
    CHECK(data.empty());
    return found;
}

/// The value of a field of a client's request.
std::string field(std::string_view header, std::string_view name) {
    const std::size_t begin = header.find(name) + name.size() + 2;
    return std::string(header.substr(begin, header.find("\r\n", begin) - begin));
}

socket_options options_of(socket_type type) {
    return testing::session_options(type);
}

/// Establishes the connection of a client. The key differs each time, so a second session plays the
/// peer.
void upgrade(session_harness& client, scripted_stream& stream) {
    session_harness server{options_of(socket_type::pair), {}, scheme::ws};
    scripted_stream& other = server.accept();
    server.peer_sends(stream.written());
    client.peer_sends(other.written());
    client.run();
    const std::string& first = stream.written();
    server.peer_sends(first.substr(first.find("\r\n\r\n") + 4));
}

} // namespace

TEST_SUITE("session") {

    TEST_CASE("zws session: NULL greets, then exchanges messages, however many bytes at a time") {
        for (const std::size_t bytes : {1, 2, 7, 100'000}) {
            CAPTURE(bytes);
            session_harness one{options_of(socket_type::pair), {}, scheme::ws};
            scripted_stream& stream =
                one.accept({.read_bytes_max = bytes, .write_bytes_max = bytes});
            one.peer_sends(request("other, ZWS2.0/NULL,ZWS2.0") + masked(ready("PAIR")) +
                           masked("\0hello"s) + masked("\1first"s) + masked("\0second"s));
            CHECK(one.arrived() == messages{"*", "hello", "+first", "second"});
            one.send("more", wire::zmtp::flag_more);
            one.send(pattern(300));
            one.run();
            CHECK(stream.written() == response("ZWS2.0/NULL") + plain(ready("PAIR")) +
                                          plain("\1more"s) + plain("\0"s + pattern(300)));
            stream.peer_ends();
            one.run();
            CHECK(one.is_gone());
        }
    }

    TEST_CASE("zws session: without a mechanism each side sends its identity first") {
        socket_options chosen = options_of(socket_type::router);
        chosen.routing_id = "me";
        session_harness one{chosen, {}, scheme::ws};
        scripted_stream& stream = one.accept();
        one.peer_sends(request("ZWS2.0"));
        CHECK(stream.written() == response("ZWS2.0") + plain("\0me"s));
        one.peer_sends(masked("\0you"s) + masked("\0hello"s));
        const pipe::peer_info_ptr peer = one.announced();
        CHECK(peer->routing_id == "you");
        CHECK(peer->properties.find("Path") == "/any");
        CHECK(peer->properties.find("Subprotocol") == "ZWS2.0");
        CHECK(one.arrived() == messages{"*", "hello"});
    }

    TEST_CASE("zws session: a client offers what its mechanism needs, and masks what it sends") {
        session_harness one{options_of(socket_type::dealer), {}, scheme::ws};
        one.dial();
        scripted_stream& stream = one.reach();
        const std::string asked = stream.written();
        CHECK(field(asked, "Sec-WebSocket-Protocol") == "ZWS2.0/NULL,ZWS2.0");
        one.lose_connection();
        CHECK(one.is_dialing());
    }

    TEST_CASE("zws session: a client's upgrade needs a subprotocol that was offered") {
        for (const std::string subprotocol : {"", "ZWS2.0/PLAIN", "chat"}) {
            CAPTURE(subprotocol);
            session_harness one{options_of(socket_type::dealer), {}, scheme::ws};
            one.dial();
            one.reach();
            std::string said = response(subprotocol);
            if (subprotocol.empty()) {
                said.erase(said.find("Sec-WebSocket-Protocol"));
                said += "\r\n";
            }
            one.peer_sends(said);
            CHECK(!one.was_told(pipe::event::attached));
            REQUIRE(one.failures().size() == 1);
            CHECK(one.failures().front() ==
                  security::failure_of(protocol_fault::websocket_unspecified));
        }
    }

    TEST_CASE("zws session: a listener refuses clients that offer no subprotocol that it speaks") {
        struct refused {
            std::string_view offered;
            security_mechanism mechanism;
            std::string_view zap_domain;
        };
        for (const refused& each : {refused{"", security_mechanism::null, ""},
                                    {"chat", security_mechanism::null, ""},
                                    {"ZWS2.0/PLAIN", security_mechanism::null, ""},
                                    {"ZWS2.0/NULL, ZWS2.0", security_mechanism::plain, ""},
                                    // ZAP cannot be asked about such a client.
                                    {"ZWS2.0", security_mechanism::null, "domain"}}) {
            CAPTURE(each.offered);
            socket_options chosen = options_of(socket_type::pull);
            chosen.mechanism = each.mechanism;
            chosen.as_server = each.mechanism != security_mechanism::null;
            chosen.zap_domain = each.zap_domain;
            session_harness one{chosen, {}, scheme::ws};
            scripted_stream& stream = one.accept();
            one.peer_sends(request(each.offered));
            CHECK(stream.written().starts_with("HTTP/1.1 400 "));
            CHECK(stream.is_closed());
            CHECK(!one.has_pipe());
            CHECK(one.is_gone());
        }
    }

    TEST_CASE("zws session: the origins that may connect are those of the option") {
        socket_options chosen = options_of(socket_type::pull);
        chosen.web_origins = "https://example.org";
        session_harness one{chosen, {}, scheme::ws};
        scripted_stream& stream = one.accept();
        std::string asked = request("ZWS2.0");
        asked.insert(asked.find("Upgrade"), "Origin: https://example.com\r\n");
        one.peer_sends(asked);
        CHECK(stream.written().starts_with("HTTP/1.1 403 "));
    }

    TEST_CASE("zws session: what is no frame of ZWS ends the peer with the code that says why") {
        struct refused {
            std::string data;
            unsigned code;
        };
        const refused cases[] = {
            {masked("\0text"s, 0x81), 1003},
            {masked("\0stray"s, 0x80), 1002},
            {plain("\0bare"s), 1002},
            {masked("\3"s), 1002},
            {masked(""), 1002},
            {masked("\0"s + pattern(101)), 1009},
            {masked("\2x"s), 1002},
        };
        for (const refused& each : cases) {
            CAPTURE(each.code);
            socket_options chosen = options_of(socket_type::pull);
            chosen.message_bytes_max = 100;
            session_harness one{chosen, {}, scheme::ws};
            scripted_stream& stream = one.accept();
            one.peer_sends(request("ZWS2.0") + masked("\0"s) + masked("\0"s + pattern(100)));
            const std::size_t before = stream.written().size();
            one.peer_sends(each.data + masked("\0late"s));
            const std::string said = stream.written().substr(before);
            REQUIRE(said.size() >= 4);
            CHECK(said[0] == '\x88');
            CHECK((static_cast<unsigned char>(said[2]) << 8 |
                   static_cast<unsigned char>(said[3])) == each.code);
            CHECK(stream.has_ended_writing());
            CHECK(one.arrived() == messages{"*", pattern(100)});
            one.pass(5000ms);
            CHECK(stream.is_closed());
            CHECK(one.is_gone());
        }
    }

    TEST_CASE("zws session: a handshake that breaks its rules ends with a close frame") {
        struct refused {
            std::string data;
            unsigned code;
        };
        for (const refused& each : {refused{masked("\0no command"s), 1002},
                                    {masked(ready("PUSH")), 1008},
                                    {masked("hello", 0x81), 1003},
                                    {masked("\2\5ERROR\0"s), 1008},
                                    {masked("", 0x88), 1000}}) {
            CAPTURE(each.code);
            session_harness one{options_of(socket_type::pair), {}, scheme::ws};
            scripted_stream& stream = one.accept();
            one.peer_sends(request("ZWS2.0/NULL"));
            const std::size_t before = stream.written().size();
            one.peer_sends(each.data);
            const std::string said = stream.written().substr(before);
            CHECK(said == plain(std::string{static_cast<char>(each.code >> 8),
                                            static_cast<char>(each.code & 0xff)},
                                0x88));
            CHECK(stream.is_closed());
            CHECK(!one.has_pipe());
        }
    }

    TEST_CASE("zws session: an upgrade and the handshake behind it have as long as the deadline "
              "says") {
        for (const std::string& said :
             {""s, request("ZWS2.0").substr(0, 30), request("ZWS2.0/NULL"),
              request("ZWS2.0/NULL") + masked(ready("PAIR")).substr(0, 10)}) {
            socket_options chosen = options_of(socket_type::pair);
            chosen.handshake_interval = 100;
            session_harness one{chosen, {}, scheme::ws};
            scripted_stream& stream = one.accept();
            one.pass(60ms);
            one.peer_sends(said);
            one.pass(39ms);
            CHECK(!stream.is_closed());
            one.pass(1ms);
            CHECK(stream.is_closed());
        }
    }

    TEST_CASE("zws session: PLAIN asks ZAP, and its commands travel in frames") {
        socket_options chosen = options_of(socket_type::pull);
        chosen.mechanism = security_mechanism::plain;
        chosen.as_server = true;
        session_harness one{chosen, {}, scheme::ws};
        testing::scripted_zap_handler zap;
        one.ask_of(zap);
        scripted_stream& stream = one.accept();
        one.peer_sends(request("ZWS2.0/PLAIN") + masked("\2\5HELLO\3joe\6secret"s));
        REQUIRE(!zap.asked().empty());
        zap.reply("200");
        one.run();
        CHECK(stream.written() == response("ZWS2.0/PLAIN") + plain("\2\7WELCOME"s));
        one.peer_sends(masked("\2\x8INITIATE" + property("Socket-Type", "PUSH")) +
                       masked("\0hello"s));
        CHECK(one.arrived() == messages{"*", "hello"});
        one.end_socket();
    }

    TEST_CASE(
        "zws session: a ZAP reply that is there at once loses nothing that came with the rest") {
        for (const bool is_plain : {false, true}) {
            CAPTURE(is_plain);
            socket_options chosen = options_of(socket_type::pull);
            chosen.zap_domain = "global";
            if (is_plain) {
                chosen.mechanism = security_mechanism::plain;
                chosen.as_server = true;
            }
            session_harness one{chosen, {}, scheme::ws};
            testing::scripted_zap_handler zap;
            zap.reply_at_once("200");
            one.ask_of(zap);
            scripted_stream& stream = one.accept();
            one.peer_sends(request(is_plain ? "ZWS2.0/PLAIN" : "ZWS2.0/NULL") +
                           (is_plain ? masked("\2\5HELLO\3joe\6secret"s) + masked("b", 0x89) : ""));
            one.peer_sends((is_plain ? masked("\2\x8INITIATE" + property("Socket-Type", "PUSH"))
                                     : masked(ready("PUSH"))) +
                           masked("\0hello"s) + masked("a", 0x89));
            CHECK(stream.written().ends_with("\x8a\1a")); // The pong.
            CHECK(one.arrived() == messages{"*", "hello"});
            one.end_socket();
        }
    }

    TEST_CASE("zws session: subscriptions are messages in both directions") {
        session_harness one{options_of(socket_type::xpub), {}, scheme::ws};
        one.accept();
        one.peer_sends(request("ZWS2.0/NULL") + masked(ready("SUB")) + masked("\0\1topic"s) +
                       masked("\2\x9SUBSCRIBEother"s));
        CHECK(one.arrived().size() == 3);

        session_harness other{options_of(socket_type::xsub), {}, scheme::ws};
        scripted_stream& stream = other.accept();
        other.peer_sends(request("ZWS2.0/NULL") + masked(ready("PUB")));
        const std::size_t before = stream.written().size();
        other.send("\x9SUBSCRIBEtopic", wire::zmtp::flag_command);
        other.send("\6CANCELtopic", wire::zmtp::flag_command);
        other.run();
        CHECK(stream.written().substr(before) == plain("\0\1topic"s) + plain("\0\0topic"s));
    }

    TEST_CASE("zws session: a ping is answered between messages, also during the handshake") {
        for (std::size_t room = 0; room <= 20; ++room) {
            CAPTURE(room);
            session_harness one{options_of(socket_type::pair), {}, scheme::ws};
            scripted_stream& stream = one.accept();
            one.peer_sends(request("ZWS2.0/NULL") + masked("a", 0x89) + masked(ready("PAIR")));
            const std::size_t before = stream.written().size();
            CHECK(stream.written().ends_with(plain("a", 0x8a)));
            stream.make_room(room);
            one.send("0123456789");
            one.run();
            one.peer_sends(masked("b", 0x89));
            stream.make_room(SIZE_MAX);
            one.run();
            const std::string said = stream.written().substr(before);
            const std::string sent = plain("\0"s + "0123456789");
            const std::string pong = plain("b", 0x8a);
            CHECK((said == sent + pong || said == pong + sent));
        }
    }

    TEST_CASE("zws session: heartbeats are pings of WebSocket, and silence ends the peer") {
        socket_options chosen = options_of(socket_type::pair);
        chosen.heartbeat_interval = 100;
        chosen.heartbeat_timeout = 50;
        session_harness one{chosen, {}, scheme::ws};
        scripted_stream& stream = one.accept();
        one.peer_sends(request("ZWS2.0") + masked("\0"s));
        const std::size_t before = stream.written().size();
        one.pass(100ms);
        CHECK(stream.written().substr(before) == plain("", 0x89));
        one.peer_sends(masked("", 0x8a));
        one.pass(100ms);
        CHECK(stream.written().substr(before) == plain("", 0x89) + plain("", 0x89));
        one.pass(49ms);
        CHECK(!stream.is_closed());
        one.pass(1ms);
        CHECK(stream.is_closed());
    }

    TEST_CASE("zws session: a heartbeat of ZMTP is not answered") {
        session_harness one{options_of(socket_type::pair), {}, scheme::ws};
        scripted_stream& stream = one.accept();
        one.peer_sends(request("ZWS2.0") + masked("\0"s));
        const std::size_t before = stream.written().size();
        one.peer_sends(masked("\2\4PING\0\0"s) + masked("\0after"s));
        CHECK(stream.written().size() == before);
        CHECK(one.arrived() == messages{"*", "after"});
    }

    TEST_CASE("zws session: a close frame is answered, and unsent messages stay for the next "
              "connection") {
        session_harness one{options_of(socket_type::pair), {}, scheme::ws};
        one.dial();
        scripted_stream& first = one.reach();
        upgrade(one, first);
        CHECK(one.arrived() == messages{"*"});
        const std::size_t before = first.written().size();
        one.peer_sends(plain("\x03\xe9", 0x88));
        CHECK(unmasked(first.written().substr(before)) == messages{"\x03\xe9"});
        CHECK(first.has_ended_writing());
        one.send("later");
        one.run();
        CHECK(unmasked(first.written().substr(before)) == messages{"\x03\xe9"});
        one.lose_connection();
        scripted_stream& second = one.reach();
        upgrade(one, second);
        const std::string said = second.written();
        const auto frames = unmasked(said.substr(said.find("\r\n\r\n") + 4));
        REQUIRE(frames.size() == 2);
        CHECK(frames[1] == "\0later"s);
    }

    TEST_CASE(
        "zws session: once dismissed reads no more, and ends when the close frame is written") {
        session_harness one{options_of(socket_type::pair), {}, scheme::ws};
        scripted_stream& stream = one.accept();
        one.peer_sends(request("ZWS2.0") + masked("\0"s));
        const std::size_t before = stream.written().size();
        stream.make_room(1);
        one.end().ask_to_close();
        one.run();
        CHECK(!one.is_gone());
        one.peer_sends(masked("\0late"s));
        stream.make_room(SIZE_MAX);
        one.run();
        CHECK(stream.written().substr(before) == plain("\x03\xe9", 0x88));
        CHECK(one.is_gone());
        CHECK(one.arrived() == messages{"*"});
    }

    TEST_CASE("zws session: dismissed in a close handshake, it connects again for what is unsent") {
        session_harness one{options_of(socket_type::pair), {}, scheme::ws};
        one.dial();
        scripted_stream& first = one.reach();
        upgrade(one, first);
        first.make_room(0);
        one.send("later");
        one.peer_sends(plain("\x03\xe9", 0x88));
        one.end().ask_to_close();
        one.run();
        CHECK(!one.is_gone());
        one.lose_connection();
        REQUIRE(one.is_dialing());
        scripted_stream& second = one.reach();
        upgrade(one, second);
        const std::string said = second.written();
        const auto frames = unmasked(said.substr(said.find("\r\n\r\n") + 4));
        REQUIRE(frames.size() >= 2);
        CHECK(frames[1] == "\0later"s);
        CHECK(one.is_gone());
    }

    TEST_CASE("zws session: a socket that closes sends a close frame behind its messages") {
        session_harness one{options_of(socket_type::pair), {}, scheme::ws};
        scripted_stream& stream = one.accept();
        one.peer_sends(request("ZWS2.0") + masked("\0"s));
        const std::size_t before = stream.written().size();
        one.send("last");
        one.close_socket();
        one.run();
        CHECK(stream.written().substr(before) == plain("\0last"s) + plain("\x03\xe9", 0x88));
        CHECK(one.is_gone());
    }

    TEST_CASE("zws session: large messages arrive whole in both directions, however cut") {
        for (const std::size_t bytes : {1000, 4096, 100'000}) {
            for (const std::size_t size : {7'000, 8'192, 60'000}) {
                CAPTURE(bytes);
                CAPTURE(size);
                session_harness one{options_of(socket_type::pair), {}, scheme::ws};
                scripted_stream& stream =
                    one.accept({.read_bytes_max = bytes, .write_bytes_max = bytes});
                one.peer_sends(request("ZWS2.0") + masked("\0"s));
                const std::size_t before = stream.written().size();
                const std::string large = pattern(size);
                one.peer_sends(masked("\0"s + large) + masked("\1"s + large) + masked("\0end"s) +
                               masked("\0"s + large));
                CHECK(one.arrived() == messages{"*", large, "+" + large, "end", large});
                one.send_block(large);
                one.run();
                CHECK(stream.written().substr(before) == plain("\0"s + large));
            }
        }
    }

    TEST_CASE("zws session: what a browser sends in several frames is one message") {
        for (const std::size_t bytes : {1000, 100'000}) {
            for (const std::size_t size : {3, 5'000, 20'000, 120'000}) {
                CAPTURE(bytes);
                CAPTURE(size);
                session_harness one{options_of(socket_type::pair), {}, scheme::ws};
                one.accept({.read_bytes_max = bytes});
                const std::string large = pattern(size);
                one.peer_sends(request("ZWS2.0/NULL") + masked("\2\5RE"s, 0x02) +
                               masked(ready("PAIR").substr(4), 0x80));
                std::string sent = masked("\1first"s) + masked("\0"s, 0x02);
                for (std::size_t at = 0; at < size; at += 50'000) {
                    sent += masked(large.substr(at, 50'000), 0x00) + masked("", 0x89);
                }
                one.peer_sends(sent + masked("", 0x80) + masked("\0end"s));
                CHECK(one.arrived() == messages{"*", "+first", large, "end"});
            }
        }
    }

    TEST_CASE("zws session: before the handshake is done nothing large is put together") {
        session_harness one{options_of(socket_type::pair), {}, scheme::ws};
        scripted_stream& stream = one.accept();
        one.peer_sends(request("ZWS2.0") + masked("\0"s + pattern(60'000), 0x02));
        CHECK(!stream.is_closed());
        one.peer_sends(masked(pattern(5'537), 0x00));
        CHECK(stream.is_closed());
        CHECK(stream.written().ends_with(plain("\x03\xf1", 0x88))); // 1009
    }

    TEST_CASE("zws session: a full queue holds the peer back, and loses nothing") {
        socket_options chosen = options_of(socket_type::pull);
        chosen.recv_hwm = 2;
        session_harness one{chosen, {}, scheme::ws};
        one.accept({.read_bytes_max = 20});
        std::string sent = request("ZWS2.0") + masked("\0"s);
        messages expected{"*"};
        for (int count = 0; count < 50; ++count) {
            sent += masked("\0"s + std::to_string(count));
            expected.push_back(std::to_string(count));
        }
        one.peer_sends(sent);
        while (one.arrived().size() < expected.size()) {
            const std::size_t before = one.arrived().size();
            one.run();
            REQUIRE(one.arrived().size() > before);
        }
        CHECK(one.arrived() == expected);
    }

} // TEST_SUITE
