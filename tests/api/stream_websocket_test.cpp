// SPDX-License-Identifier: MPL-2.0
//
// The far end is a test program that speaks WebSocket byte by byte, or another socket.
#include "stream_fixture.hpp"
#include "testing/web_upgrade.hpp"
#include "web_peer.hpp"

#include <cerrno>
#include <cstdint>
#include <vector>

using namespace api_test;
using namespace std::string_literals;
using zlink::testing::upgrade_response;

namespace {

constexpr std::string_view wildcard_path = "ws://127.0.0.1:*/chat";

std::string request(std::string_view target = "/chat", std::string_view fields = "") {
    return "GET " + std::string(target) +
           " HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: keep-alive, "
           "Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
           "Sec-WebSocket-Version: 13\r\n" +
           std::string(fields) + "\r\n";
}

constexpr unsigned fin = 0x80;
constexpr unsigned text = 1;
constexpr unsigned binary = 2;
constexpr unsigned close_frame = 8;
constexpr unsigned ping = 9;
constexpr unsigned pong = 10;

/// A frame, masked with 1, 2, 3, 4 if it is a client's.
std::string ws_frame(unsigned first, std::string_view payload, bool masked) {
    const std::string key = masked ? "\1\2\3\4" : "";
    std::string made(1, static_cast<char>(first));
    const unsigned mask_bit = masked ? 0x80 : 0;
    const std::size_t bytes = payload.size();
    const int length_bytes = bytes < 126 ? 0 : bytes < 65'536 ? 2 : 8;
    made += static_cast<char>(mask_bit | (length_bytes == 0   ? bytes
                                          : length_bytes == 2 ? 126
                                                              : 127));
    for (int shift = (length_bytes - 1) * 8; shift >= 0; shift -= 8) {
        made += static_cast<char>((bytes >> shift) & 0xff);
    }
    made += key;
    for (std::size_t index = 0; index < bytes; ++index) {
        made += static_cast<char>(payload[index] ^ (masked ? key[index % 4] : 0));
    }
    return made;
}
std::string from_client(unsigned first, std::string_view payload) {
    return ws_frame(first, payload, true);
}
std::string from_server(unsigned first, std::string_view payload) {
    return ws_frame(first, payload, false);
}
std::string close_payload(unsigned code, std::string_view reason = "") {
    return std::string{static_cast<char>(code >> 8), static_cast<char>(code & 0xff)}.append(reason);
}

/// A server, and a client of raw bytes that has upgraded.
struct upgraded {
    explicit upgraded(const context& owner, std::int64_t message_bytes_max = -1)
        : server(owner, ZLINK_STREAM) {
        REQUIRE(zlink_setsockopt(server, ZLINK_MAXMSGSIZE, &message_bytes_max,
                                 sizeof message_bytes_max) == 0);
        endpoint = tcp_of(server.bind(std::string(wildcard_path)));
        client.emplace(owner, endpoint);
        client->send(request());
        CHECK(recv_header(*client) == upgrade_response());
        id = recv_arrival(server);
    }

    socket server;
    std::string endpoint;
    std::optional<raw_peer> client;
    std::string id;
};

} // namespace

TEST_SUITE("stream over ws") {

    TEST_CASE("stream over ws: upgrades, and reports the peer") {
        for (const int io_threads : every_io_threads) {
            context owner{io_threads};
            socket server{owner, ZLINK_STREAM};
            server.set(ZLINK_WS_SUBPROTOCOLS, "v2, v1").set(ZLINK_WS_ORIGINS, "*.example.org");
            const std::string endpoint = server.bind(std::string(wildcard_path));
            CHECK(endpoint.ends_with("/chat"));
            raw_peer client{owner, tcp_of(endpoint)};
            const std::string asked = request("/chat?room=1", "Origin: https://www.example.org\r\n"
                                                              "Sec-WebSocket-Protocol: v0, v1\r\n");
            client.send(asked.substr(0, 50));
            client.await_read();
            client.send(asked.substr(50) + from_client(fin | binary, "at once"));
            CHECK(recv_header(client) == upgrade_response("Sec-WebSocket-Protocol: v1\r\n"));
            const news told = recv_news(server);
            CHECK(told.is_connect);
            CHECK(told.text.starts_with("ws://127.0.0.1:"));
            CHECK(told.text.ends_with("\nPath: /chat?room=1\nOrigin: https://www.example.org"
                                      "\nSubprotocol: v1"));
            CHECK(server.recv() == message{told.id, "at once"});
        }
    }

    TEST_CASE("stream over ws: refuses requests that are no upgrade for its path") {
        struct refused {
            std::string request;
            std::string_view status;
        };
        const std::string valid = request();
        const auto without = [&](std::string_view line) {
            std::string cut = valid;
            return cut.erase(cut.find(line), cut.find("\r\n", cut.find(line)) + 2 - cut.find(line));
        };
        const refused cases[] = {
            {request("/other"), "404"},
            {request("/chat/"), "404"},
            {without("Upgrade: "), "426"},
            {without("Sec-WebSocket-Version"), "426"},
            {without("Connection"), "426"},
            {without("Sec-WebSocket-Key"), "400"},
            {without("Host"), "400"},
            {request("/chat", "Content-Length: 5\r\n"), "400"},
            {request("/chat", "Origin: https://example.com\r\n"), "403"},
            {"POST" + valid.substr(3), "400"},
            {"nonsense\r\n\r\n", "400"},
            {"\x16\x03\x01\x02\r\n\r\n"s, "400"},
            {request("/chat", "Cookie: " + std::string(9000, 'x') + "\r\n"), "431"},
        };
        context owner{0};
        socket server{owner, ZLINK_STREAM};
        server.set(ZLINK_WS_ORIGINS, "https://example.org");
        const std::string endpoint = tcp_of(server.bind(std::string(wildcard_path)));
        for (const refused& each : cases) {
            CAPTURE(each.request);
            raw_peer client{owner, endpoint};
            client.send(each.request);
            CHECK(client.recv(12) == "HTTP/1.1 " + std::string(each.status));
        }
        CHECK(server.recv_error() == EAGAIN);
        raw_peer client{owner, endpoint};
        client.send(valid);
        CHECK(recv_header(client).starts_with("HTTP/1.1 101"));
    }

    TEST_CASE("stream over ws: an upgrade that takes too long ends") {
        context owner{0};
        socket server{owner, ZLINK_STREAM};
        server.set(ZLINK_HANDSHAKE_IVL, 50);
        raw_peer client{owner, tcp_of(server.bind(std::string(wildcard_path)))};
        client.send("GET /chat HTTP/1.1\r\n");
        CHECK(client.is_disconnected());
        CHECK(server.recv_error() == EAGAIN);
    }

    TEST_CASE("stream over ws: messages of every size pass both ways, also in pieces") {
        for (const int io_threads : every_io_threads) {
            context owner{io_threads};
            upgraded both{owner};
            for (const std::size_t bytes :
                 {0, 1, 125, 126, 8191, 8192, 65'535, 65'536, 100'000, 1'000'000}) {
                CAPTURE(bytes);
                const std::string payload = long_text(bytes);
                const std::string wire = from_client(fin | binary, payload);
                for (const std::size_t first : {std::size_t{1}, std::size_t{5}, wire.size() / 2}) {
                    both.client->send(wire.substr(0, first));
                    both.client->await_read();
                    both.client->send(wire.substr(first) + from_client(fin | binary, "behind"));
                    REQUIRE(both.server.recv() == message{both.id, payload});
                    REQUIRE(both.server.recv() == message{both.id, "behind"});
                }
                REQUIRE(both.server.send(message{both.id, payload}) == ok);
                REQUIRE(both.client->recv(from_server(fin | binary, payload).size()) ==
                        from_server(fin | binary, payload));
            }
        }
    }

    TEST_CASE("stream over ws: many small messages come in one go, with pings between them") {
        context owner{0};
        upgraded both{owner};
        std::string wire;
        std::string answers;
        for (int number = 0; number < 500; ++number) {
            wire += from_client(fin | binary, std::to_string(number));
            if (number % 7 == 0) {
                wire += from_client(fin | ping, "p" + std::to_string(number));
                answers += from_server(fin | pong, "p" + std::to_string(number));
                wire += from_client(fin | pong, "");
            }
        }
        both.client->send(wire);
        for (int number = 0; number < 500; ++number) {
            REQUIRE(both.server.recv() == message{both.id, std::to_string(number)});
        }
        CHECK(both.client->recv(answers.size()) == answers);
    }

    TEST_CASE("stream over ws: fragments are one message, of whatever sizes, with pings inside") {
        for (const std::size_t bytes : {0, 1, 100, 5000, 70'000}) {
            CAPTURE(bytes);
            context owner{0};
            upgraded both{owner};
            const std::string part = long_text(bytes);
            const std::string wire = from_client(binary, part) + from_client(fin | ping, "") +
                                     from_client(0, part) + from_client(fin | 0, "end");
            for (const std::size_t cut : {std::size_t{0}, std::size_t{3}, wire.size() / 2}) {
                both.client->send(from_client(fin | binary, "before") + wire.substr(0, cut));
                both.client->await_read();
                both.client->send(wire.substr(cut) + from_client(fin | binary, "after") + wire);
                CHECK(both.server.recv() == message{both.id, "before"});
                CHECK(both.server.recv() == message{both.id, part + part + "end"});
                CHECK(both.server.recv() == message{both.id, "after"});
                CHECK(both.server.recv() == message{both.id, part + part + "end"});
            }
        }
    }

    TEST_CASE("stream over ws: text is marked, and goes out as text") {
        context owner{0};
        upgraded both{owner};
        both.client->send(from_client(fin | text, "grün") + from_client(fin | binary, "\xff") +
                          from_client(text, "gr\xc3") + from_client(fin, "\xbcn"));
        const std::string_view expected[] = {"grün", "\xff", "grün"};
        for (int number = 0; number < 3; ++number) {
            CHECK(both.server.recv_frame() == both.id);
            frame received;
            REQUIRE(zlink_msg_recv(received.get(), both.server, 0) >= 0);
            CHECK(received.text() == expected[number]);
            CHECK(zlink_msg_get(received.get(), ZLINK_TEXT) == (number == 1 ? 0 : 1));
            CHECK(both.server.send(both.id, ZLINK_SNDMORE) == ok);
            REQUIRE(zlink_msg_send(received.get(), both.server, 0) >= 0);
        }
        CHECK(both.server.send(both.id, ZLINK_SNDMORE) == ok);
        CHECK(both.server.send("x", ZLINK_SNDTEXT) == ok);
        const std::string wire = from_server(fin | text, "grün") +
                                 from_server(fin | binary, "\xff") +
                                 from_server(fin | text, "grün") + from_server(fin | text, "x");
        CHECK(both.client->recv(wire.size()) == wire);
    }

    TEST_CASE(
        "stream over ws: a peer that breaks the rules is told with the right code, and ended") {
        struct broken {
            std::string sent;
            unsigned code;
            std::string_view reason;
        };
        const broken cases[] = {
            {from_server(fin | binary, "not masked"), 1002, "1002 protocol violation"},
            {from_client(fin | 3, ""), 1002, "1002 protocol violation"},
            {from_client(0x40 | fin | binary, ""), 1002, "1002 protocol violation"},
            {from_client(fin | 0, "no message"), 1002, "1002 protocol violation"},
            {from_client(binary, "a") + from_client(fin | binary, "b"), 1002,
             "1002 protocol violation"},
            {from_client(ping, ""), 1002, "1002 protocol violation"},
            {from_client(fin | close_frame, "x"), 1002, "1002 protocol violation"},
            {from_client(fin | close_frame, close_payload(1005)), 1002, "1002 protocol violation"},
            {from_client(fin | text, "\xff"), 1007, "1007 text is no UTF-8"},
            {from_client(text, "\xc3") + from_client(fin, "x"), 1007, "1007 text is no UTF-8"},
            {from_client(fin | text, "\xc3"), 1007, "1007 text is no UTF-8"},
            {from_client(fin | binary, std::string(11, 'x')), 1009, "1009 message too large"},
            {from_client(binary, std::string(10, 'x')) + from_client(fin, "x"), 1009,
             "1009 message too large"},
            {"\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff"s, 1009, "1009 message too large"},
        };
        for (const broken& each : cases) {
            CAPTURE(each.sent);
            context owner{0};
            upgraded both{owner, 10};
            raw_peer other{owner, both.endpoint};
            both.client->send(from_client(fin | binary, "good") + each.sent +
                              from_client(fin | binary, "late"));
            CHECK(both.server.recv() == message{both.id, "good"});
            const std::string reason = std::string(each.reason.substr(5));
            const std::string said = from_server(fin | close_frame, close_payload(each.code, ""));
            CHECK(both.client->recv(said.size()) == said);
            CHECK(both.client->is_disconnected());
            both.client->close();
            CHECK(recv_departure(both.server, both.id) == each.reason);
            other.send(request());
            recv_header(other);
            CHECK(recv_arrival(both.server) == id_of(2));
        }
    }

    TEST_CASE("stream over ws: answers a close frame, and tells why the peer went") {
        struct closing {
            std::string sent;
            std::string answer;
            std::string_view reason;
        };
        const closing cases[] = {
            {close_payload(1000, "done"), close_payload(1000), "1000 done"},
            {close_payload(1001), close_payload(1001), "1001 "},
            {close_payload(4321, "grün"), close_payload(4321), "4321 grün"},
            {"", "", "1005 "},
        };
        for (const closing& each : cases) {
            context owner{0};
            upgraded both{owner};
            both.client->send(from_client(fin | binary, "last") +
                              from_client(fin | close_frame, each.sent) +
                              from_client(fin | binary, "late"));
            const std::string answer = from_server(fin | close_frame, each.answer);
            CHECK(both.client->recv(answer.size()) == answer);
            CHECK(both.client->is_disconnected());
            both.client->close();
            CHECK(both.server.recv() == message{both.id, "last"});
            CHECK(recv_departure(both.server, both.id) == each.reason);
        }
    }

    TEST_CASE("stream over ws: closes a peer behind what was sent to it, with code and reason") {
        for (const int io_threads : every_io_threads) {
            context owner{io_threads};
            upgraded both{owner};
            const std::string payload = long_text(300'000);
            CHECK(both.server.send(message{both.id, payload}) == ok);
            CHECK(zlink_stream_close(both.server, both.id.data(), 4001, "full") == 0);
            CHECK(both.server.send(both.id, ZLINK_SNDMORE) == EHOSTUNREACH);
            const std::string wire = from_server(fin | binary, payload) +
                                     from_server(fin | close_frame, close_payload(4001, "full"));
            CHECK(both.client->recv(wire.size()) == wire);
            both.client->send(from_client(fin | binary, "late") +
                              from_client(fin | close_frame, close_payload(4001)));
            CHECK(both.client->is_disconnected());
            both.client->close();
            CHECK(both.server.recv() == message{both.id, "late"});
            CHECK(recv_departure(both.server, both.id) == "4001 full");
        }
    }

    TEST_CASE("stream over ws: a socket that closes says that it goes away") {
        for (const int linger : {0, 10'000}) {
            context owner{1};
            upgraded both{owner};
            both.server.set(ZLINK_LINGER, linger);
            both.server.close();
            const std::string said = from_server(fin | close_frame, close_payload(1001));
            CHECK(both.client->recv(said.size()) == said);
            CHECK(both.client->is_disconnected());
        }
    }

    TEST_CASE("stream over ws: two sockets talk, with masks one way") {
        for (const int io_threads : every_io_threads) {
            context owner{io_threads};
            socket server{owner, ZLINK_STREAM};
            socket client{owner, ZLINK_STREAM};
            server.set(ZLINK_WS_SUBPROTOCOLS, "b,a");
            client.set(ZLINK_WS_SUBPROTOCOLS, "a,b").set(ZLINK_RECONNECT_IVL, 1);
            client.connect(server.bind(std::string(wildcard_path)));
            news at_client = recv_news(client);
            news at_server = recv_news(server);
            for (std::uint32_t round = 1; round <= 3; ++round) {
                CHECK(at_client.id == id_of(round));
                CHECK(at_client.text.ends_with("\nPath: /chat\nSubprotocol: b"));
                CHECK(at_server.text.ends_with("\nPath: /chat\nSubprotocol: b"));
                for (const std::size_t bytes : {0, 1, 125, 126, 8191, 8192, 65'536, 1'000'000}) {
                    const std::string payload = long_text(bytes);
                    CHECK(client.send(message{at_client.id, payload}) == ok);
                    CHECK(server.recv() == message{at_server.id, payload});
                    CHECK(server.send(message{at_server.id, payload}) == ok);
                    CHECK(client.recv() == message{at_client.id, payload});
                }
                CHECK(zlink_stream_close(server, at_server.id.data(), 3000, "again") == 0);
                CHECK(recv_departure(client, at_client.id) == "3000 again");
                at_client = recv_news(client);
                const turnover there = recv_turnover(server, at_server.id);
                CHECK(there.why == "3000 again");
                at_server = there.next;
            }
        }
    }

    TEST_CASE("stream over ws: a silent peer is asked, and dropped if it says nothing") {
        context owner{0};
        socket server{owner, ZLINK_STREAM};
        server.set(ZLINK_HEARTBEAT_IVL, 20).set(ZLINK_HEARTBEAT_TIMEOUT, 100);
        raw_peer client{owner, tcp_of(server.bind(std::string(wildcard_path)))};
        client.send(request());
        recv_header(client);
        const std::string id = recv_arrival(server);
        CHECK(client.recv(2) == from_server(fin | ping, ""));
        client.send(from_client(fin | pong, ""));
        CHECK(client.recv(2) == from_server(fin | ping, ""));
        CHECK(recv_departure(server, id) == "1006 Connection timed out");
    }

    TEST_CASE("stream over ws: one payload goes to many peers, whatever they speak") {
        for (const std::size_t bytes : {0, 10, 1024, 100'000}) {
            CAPTURE(bytes);
            context owner{0};
            upgraded both{owner};
            raw_peer plain{owner, both.server.bind(transport::tcp)};
            const std::string plain_id = recv_arrival(both.server);
            const std::string payload = long_text(bytes);
            const std::string ids = both.id + id_of(99) + plain_id;
            frame sent{payload};
            CHECK(zlink_stream_send_many(both.server, ids.data(), 3, sent.get(), 0) == 2);
            CHECK(sent.text().empty());
            const std::string words(bytes, 'w');
            frame text{words};
            CHECK(zlink_stream_send_many(both.server, ids.data(), 1, text.get(), ZLINK_SNDTEXT) ==
                  1);
            const std::string wire =
                from_server(fin | binary, payload) + from_server(fin | 1, words);
            CHECK(both.client->recv(wire.size()) == wire);
            CHECK(plain.recv(4 + bytes) == framed(payload));
            frame to_nobody{payload};
            CHECK(zlink_stream_send_many(both.server, nullptr, 0, to_nobody.get(), 0) == 0);
        }
    }

    TEST_CASE("stream over ws: peers without room are left out when many are sent to") {
        context owner{0};
        upgraded both{owner};
        both.server.set(ZLINK_SNDHWM, 3);
        raw_peer lazy{owner, both.server.bind(transport::tcp)};
        const std::string lazy_id = recv_arrival(both.server);
        const std::string ids = lazy_id + both.id;
        for (int count = 0; count < 2; ++count) {
            REQUIRE(zlink_stream_send(both.server, lazy_id.data(), "x", 1, ZLINK_DONTWAIT) == 1);
        }
        for (const int reached : {2, 1, 1, 0}) {
            frame sent{std::string_view{"x"}};
            CHECK(zlink_stream_send_many(both.server, ids.data(), 2, sent.get(), 0) == reached);
        }
        frame sent{std::string_view{"x"}};
        CHECK(error_of(zlink_stream_send_many(both.server, ids.data(), 2, sent.get(),
                                              ZLINK_SNDMORE)) == EINVAL);
        CHECK(error_of(zlink_stream_send_many(both.server, nullptr, 2, sent.get(), 0)) == EINVAL);
        CHECK(both.server.send(both.id, ZLINK_SNDMORE) == ok);
        CHECK(error_of(zlink_stream_send_many(both.server, ids.data(), 2, sent.get(), 0)) == EFSM);
        CHECK(both.server.send("y") == ok);
        socket other{owner, ZLINK_ROUTER};
        CHECK(error_of(zlink_stream_send_many(other, ids.data(), 2, sent.get(), 0)) == ENOTSUP);
    }

    TEST_CASE("stream over ws: raw bytes do not go there") {
        context owner{0};
        socket raw{owner, ZLINK_RAW_STREAM};
        CHECK(raw.try_bind(std::string(wildcard_path)) == EPROTONOSUPPORT);
        CHECK(raw.try_connect("ws://127.0.0.1:1/") == EPROTONOSUPPORT);
    }

    TEST_CASE("stream over ws: a client that offers the subprotocols of patterns only is refused") {
        context owner;
        socket server{owner, ZLINK_STREAM};
        const std::string endpoint = tcp_of(server.bind(std::string(wildcard_path)));
        const auto answer = [&](std::string_view offered) {
            raw_peer client{owner, endpoint};
            client.send(
                request("/chat", "Sec-WebSocket-Protocol: " + std::string(offered) + "\r\n"));
            return recv_header(client).substr(9, 3);
        };
        CHECK(answer("ZWS2.0") == "400");
        CHECK(answer("ZWS2.0/NULL, ZWS2.0") == "400");
        CHECK(answer("chat") == "101");
        CHECK(answer("ZWS2.0, chat") == "101");
    }

} // TEST_SUITE
