// SPDX-License-Identifier: MPL-2.0
//
// Patterns over ws and wss. The tests of each pattern are repeated over ws elsewhere; these test
// the upgrade, the frames of ZWS and the mechanisms, between sockets and with a program that speaks
// WebSocket byte by byte.
#include "stream_fixture.hpp"
#include "testing/certificates.hpp"
#include "testing/web_upgrade.hpp"
#include "watcher.hpp"
#include "web_peer.hpp"
#include "zap_handler.hpp"

#include <algorithm>
#include <cerrno>

using namespace api_test;
using namespace std::string_literals;
using zlink::testing::authority;
using zlink::testing::identity;
using zlink::testing::temporary_folder;

namespace {

constexpr const char* ws_wildcard = "ws://127.0.0.1:*/chat";
constexpr const char* wss_wildcard = "wss://127.0.0.1:*/chat";

/// Certificates of sockets over wss, and their trusted authority.
struct trust {
    void let_listen(socket& by) const {
        by.set(ZLINK_TLS_CERTIFICATE, shown.certificate).set(ZLINK_TLS_KEY, shown.key);
    }
    void let_dial(socket& by) const { by.set(ZLINK_TLS_CA, ours.path()); }

    temporary_folder folder;
    authority ours{folder, "ours"};
    identity shown = ours.issue();
};

std::string request(std::string_view subprotocols, std::string_view fields = "") {
    return zlink::testing::upgrade_request("/some/where?room=1",
                                           "Sec-WebSocket-Protocol: " + std::string(subprotocols) +
                                               "\r\n" + std::string(fields));
}

/// A short frame as a client sends it, masked with zeros.
std::string from_client(std::string_view payload, unsigned first = 0x82) {
    const std::string header{static_cast<char>(first), static_cast<char>(0x80 | payload.size())};
    return (header + "\0\0\0\0"s).append(payload);
}
std::string from_server(std::string_view payload, unsigned first = 0x82) {
    return std::string{static_cast<char>(first), static_cast<char>(payload.size())}.append(payload);
}

std::string property(frame& of, const char* name) {
    const char* const found = zlink_msg_gets(of.get(), name);
    return found != nullptr ? found : "(none)";
}

/// A browser that a socket has accepted, without a mechanism.
struct browser {
    browser(const context& owner, const std::string& endpoint, std::string_view fields = "")
        : data(owner, tcp_of(endpoint)) {
        data.send(request("ZWS2.0", fields));
        header = recv_header(data);
        if (header.starts_with("HTTP/1.1 101")) {
            data.send(from_client("\0"s));
            CHECK(data.recv(3) == from_server("\0"s));
        }
    }
    std::string status() const { return header.substr(9, 3); }

    raw_peer data;
    std::string header;
};

void exchange(int first_type, int second_type, const std::function<void(socket&, socket&)>& talk) {
    const trust certificates;
    for (const std::string endpoint : {ws_wildcard, wss_wildcard}) {
        for (const bool first_listens : {true, false}) {
            CAPTURE(endpoint);
            CAPTURE(first_listens);
            const context owner;
            socket first{owner, first_type};
            socket second{owner, second_type};
            socket& listening = first_listens ? first : second;
            socket& dialing = first_listens ? second : first;
            certificates.let_listen(listening);
            certificates.let_dial(dialing);
            dialing.connect(listening.bind(endpoint));
            talk(first, second);
        }
    }
}

const std::string body = long_text(70'000);

void talk_one_way(socket& from, socket& to) {
    for (const message& each : {message{"hello"}, message{""}, message{"", body, "end"}}) {
        REQUIRE(from.send(each) == ok);
        CHECK(to.recv() == each);
    }
}

/// The next message; meanwhile a subscriber that listens notices its peer.
message recv_subscription(socket& publisher, socket& subscriber) {
    const auto give_up = clock::now() + patience;
    while (publisher.poll(ZLINK_POLLIN, 1ms) == 0) {
        REQUIRE(clock::now() < give_up);
        subscriber.events();
    }
    return publisher.recv();
}

} // namespace

TEST_SUITE("zws") {

    TEST_CASE("zws: every pattern works over ws and wss, whichever side listens") {
        exchange(ZLINK_PAIR, ZLINK_PAIR, [](socket& first, socket& second) {
            talk_one_way(first, second);
            talk_one_way(second, first);
        });
        exchange(ZLINK_PUSH, ZLINK_PULL, talk_one_way);
        exchange(ZLINK_DEALER, ZLINK_DEALER, talk_one_way);
        for (const int publisher : {ZLINK_PUB, ZLINK_XPUB}) {
            for (const int subscriber : {ZLINK_SUB, ZLINK_XSUB}) {
                exchange(publisher, subscriber, [&](socket& pub, socket& sub) {
                    if (subscriber == ZLINK_SUB) {
                        sub.set(ZLINK_SUBSCRIBE, "topic");
                    } else {
                        REQUIRE(sub.send("\1topic") == ok);
                    }
                    await_subscription(pub, sub, "topic");
                    REQUIRE(pub.send("other") == ok);
                    REQUIRE(pub.send(message{"topic", body}) == ok);
                    CHECK(sub.recv() == message{"topic", body});
                });
            }
        }
        exchange(ZLINK_DEALER, ZLINK_ROUTER, [](socket& dealer, socket& router) {
            REQUIRE(dealer.send(message{"hello", body}) == ok);
            message got = router.recv();
            REQUIRE(got.frames.size() == 3);
            CHECK(got.frames[2] == body);
            REQUIRE(router.send(got) == ok);
            CHECK(dealer.recv() == message{"hello", body});
        });
    }

    TEST_CASE("zws: a request that is answered, and subscriptions that are told and cancelled") {
        exchange(ZLINK_REQ, ZLINK_REP, [](socket& asking, socket& answering) {
            for (int count = 0; count < 50; ++count) {
                REQUIRE(asking.send("question") == ok);
                CHECK(answering.recv() == message{"question"});
                REQUIRE(answering.send("answer") == ok);
                CHECK(asking.recv() == message{"answer"});
            }
        });
        exchange(ZLINK_XPUB, ZLINK_SUB, [](socket& pub, socket& sub) {
            sub.set(ZLINK_SUBSCRIBE, "a");
            CHECK(recv_subscription(pub, sub) == message{"\1a"});
            sub.set(ZLINK_UNSUBSCRIBE, "a");
            CHECK(pub.recv() == message{"\0a"s});
        });
    }

    TEST_CASE("zws: the path is part of the endpoint, and to connect to any will do") {
        const context owner;
        socket bound{owner, ZLINK_PULL};
        const std::string endpoint = bound.bind("ws://127.0.0.1:*");
        CHECK(endpoint.ends_with("/"));
        CHECK(endpoint.starts_with("ws://127.0.0.1:"));
        socket other{owner, ZLINK_PUSH};
        other.connect(endpoint + "elsewhere?x=1");
        CHECK(other.last_endpoint() == endpoint + "elsewhere?x=1");
        REQUIRE(other.send("there") == ok);
        CHECK(bound.recv() == message{"there"});
        CHECK(other.disconnect(endpoint) == ENOENT);
        CHECK(other.disconnect(endpoint + "elsewhere?x=1") == ok);
        CHECK(bound.unbind(endpoint) == ok);
    }

    TEST_CASE("zws: a browser is let in without a mechanism, and messages tell where it comes "
              "from") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            const context owner{io_threads};
            socket router{owner, ZLINK_ROUTER};
            const std::string endpoint = router.bind(ws_wildcard);
            browser peer{owner, endpoint, "Origin: https://example.org\r\n"};
            CHECK(peer.header.find("Sec-WebSocket-Protocol: ZWS2.0\r\n") != std::string::npos);
            peer.data.send(from_client("\1hello"s) + from_client("\0world"s));
            const std::string id = router.recv_frame();
            frame got;
            REQUIRE(zlink_msg_recv(got.get(), router, 0) == 5);
            CHECK(property(got, "Peer-Address") == "127.0.0.1");
            CHECK(property(got, "Path") == "/some/where?room=1");
            CHECK(property(got, "Origin") == "https://example.org");
            CHECK(property(got, "Subprotocol") == "ZWS2.0");
            CHECK(router.recv_frame() == "world");
            REQUIRE(router.send(message{id, "an", "swer"}) == ok);
            CHECK(peer.data.recv(12) == from_server("\1an"s) + from_server("\0swer"s));
        }
    }

    TEST_CASE("zws: a peer says of itself who it is, not where it is, and not what it asked for") {
        const context owner;
        socket router{owner, ZLINK_ROUTER};
        raw_peer peer{owner, tcp_of(router.bind(ws_wildcard))};
        peer.send(request("ZWS2.0/NULL"));
        recv_header(peer);
        const auto on_wire = [](std::string_view name, std::string_view value) {
            std::string made(1, static_cast<char>(name.size()));
            made.append(name).append("\0\0\0"s);
            made += static_cast<char>(value.size());
            return made.append(value);
        };
        peer.send(from_client("\2\5READY" + on_wire("Socket-Type", "DEALER") +
                              on_wire("Identity", "me") + on_wire("Path", "/lie") +
                              on_wire("Origin", "lie")) +
                  from_client("\0x"s));
        CHECK(router.recv_frame() == "me");
        frame got;
        REQUIRE(zlink_msg_recv(got.get(), router, 0) == 1);
        CHECK(property(got, "Socket-Type") == "DEALER");
        CHECK(property(got, "Identity") == "me");
        CHECK(property(got, "Path") == "/some/where?room=1");
    }

    TEST_CASE("zws: pages that may connect are those that the option names") {
        const context owner;
        socket pull{owner, ZLINK_PULL};
        pull.set(ZLINK_WS_ORIGINS, "https://example.org");
        const std::string endpoint = pull.bind(ws_wildcard);
        CHECK(browser{owner, endpoint, "Origin: https://example.com\r\n"}.status() == "403");
        CHECK(browser{owner, endpoint, "Origin: https://example.org\r\n"}.status() == "101");
        CHECK(browser{owner, endpoint}.status() == "101");
    }

    TEST_CASE("zws: a WebSocket client that offers no ZWS is refused, and a STREAM goes nowhere") {
        const context owner;
        socket pull{owner, ZLINK_PULL};
        watcher events{owner, pull, ZLINK_EVENT_HANDSHAKE_FAILED_PROTOCOL};
        const std::string endpoint = pull.bind(ws_wildcard);
        raw_peer chatty{owner, tcp_of(endpoint)};
        chatty.send(request("chat, superchat"));
        CHECK(recv_header(chatty).starts_with("HTTP/1.1 400 "));
        CHECK(events.expect(ZLINK_EVENT_HANDSHAKE_FAILED_PROTOCOL, endpoint) ==
              ZLINK_PROTOCOL_ERROR_WS_UNSPECIFIED);
        socket stream{owner, ZLINK_STREAM};
        watcher of_stream{owner, stream, ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL};
        stream.connect(endpoint);
        CHECK(of_stream.expect(ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL,
                               endpoint + " 400 Bad Request") == 400);
    }

    TEST_CASE("zws: text, and messages above the limit, end the peer with the code that says why") {
        const context owner;
        socket pull{owner, ZLINK_PULL};
        const std::int64_t bytes_max = 10;
        REQUIRE(zlink_setsockopt(pull, ZLINK_MAXMSGSIZE, &bytes_max, sizeof bytes_max) == 0);
        const std::string endpoint = pull.bind(ws_wildcard);
        browser large{owner, endpoint};
        large.data.send(from_client("\0"s + std::string(10, 'x')) +
                        from_client("\0"s + std::string(11, 'x')));
        CHECK(pull.recv() == message{std::string(10, 'x')});
        CHECK(large.data.recv(4).substr(0, 1) == "\x88");
        browser talkative{owner, endpoint};
        talkative.data.send(from_client("\0text"s, 0x81));
        const std::string said = talkative.data.recv(4);
        CHECK(said.substr(2) == "\x03\xeb"); // 1003
    }

    TEST_CASE("zws: a socket that closes sends 1001 behind its messages") {
        const context owner;
        socket push{owner, ZLINK_PUSH};
        push.set(ZLINK_LINGER, patience);
        browser peer{owner, push.bind(ws_wildcard)};
        REQUIRE(push.send("last") == ok);
        push.close();
        CHECK(peer.data.recv(7) == from_server("\0last"s));
        CHECK(peer.data.recv(4) == from_server("\x03\xe9", 0x88));
        CHECK(peer.data.is_disconnected());
    }

    TEST_CASE("zws: heartbeats are pings of WebSocket in both directions") {
        const context owner;
        socket pull{owner, ZLINK_PULL};
        pull.set(ZLINK_HEARTBEAT_IVL, 5).set(ZLINK_HEARTBEAT_TIMEOUT, patience);
        browser peer{owner, pull.bind(ws_wildcard)};
        for (int count = 0; count < 3; ++count) {
            CHECK(peer.data.recv(2) == from_server("", 0x89));
            peer.data.send(from_client("", 0x8a));
        }
        socket push{owner, ZLINK_PUSH};
        push.set(ZLINK_HEARTBEAT_IVL, 5).set(ZLINK_HEARTBEAT_TIMEOUT, 2000);
        push.connect(pull.last_endpoint());
        for (int count = 0; count < 10; ++count) {
            REQUIRE(push.send("still here") == ok);
            CHECK(pull.recv() == message{"still here"});
        }
    }

    TEST_CASE("zws: a listener that comes back gets what was sent meanwhile") {
        const context owner;
        const std::string endpoint = vacant(transport::ws);
        socket push{owner, ZLINK_PUSH};
        push.set(ZLINK_RECONNECT_IVL, 1);
        push.connect(endpoint);
        REQUIRE(push.send("early") == ok);
        {
            socket pull{owner, ZLINK_PULL};
            pull.bind(endpoint);
            CHECK(pull.recv() == message{"early"});
        }
        watcher events{owner, push, ZLINK_EVENT_CONNECT_RETRIED};
        events.await(ZLINK_EVENT_CONNECT_RETRIED);
        REQUIRE(push.send("late") == ok);
        socket again{owner, ZLINK_PULL};
        again.bind(endpoint);
        CHECK(again.recv() == message{"late"});
    }

    TEST_CASE("zws: PLAIN accepts a client with the password, and messages tell its user") {
        for (const std::string password : {"secret", "wrong"}) {
            context owner;
            zap_handler handler{
                owner, [](const message& question) {
                    const bool knows = question.frames.back() == "secret";
                    return std::vector<std::string>{knows ? "200" : "400", "", "user", ""};
                }};
            socket server{owner, ZLINK_ROUTER};
            server.set(ZLINK_PLAIN_SERVER, 1).set(ZLINK_ZAP_DOMAIN, "global");
            watcher events{owner, server,
                           ZLINK_EVENT_HANDSHAKE_FAILED_AUTH | ZLINK_EVENT_HANDSHAKE_SUCCEEDED};
            socket client{owner, ZLINK_DEALER};
            client.set(ZLINK_PLAIN_USERNAME, "joe").set(ZLINK_PLAIN_PASSWORD, password);
            const std::string endpoint = server.bind(ws_wildcard);
            client.connect(endpoint);
            REQUIRE(client.send("hello") == ok);
            if (password == "wrong") {
                CHECK(events.expect(ZLINK_EVENT_HANDSHAKE_FAILED_AUTH, endpoint) == 400);
                continue;
            }
            CHECK(events.expect(ZLINK_EVENT_HANDSHAKE_SUCCEEDED, endpoint) == 0);
            server.recv_frame();
            frame received;
            REQUIRE(zlink_msg_recv(received.get(), server, 0) == 5);
            CHECK(property(received, "User-Id") == "user");
        }
    }

    TEST_CASE("zws: CURVE encrypts messages of all sizes, and subscriptions") {
        char server_public[41];
        char server_secret[41];
        char client_public[41];
        char client_secret[41];
        REQUIRE(zlink_curve_keypair(server_public, server_secret) == 0);
        REQUIRE(zlink_curve_keypair(client_public, client_secret) == 0);
        for (const bool server_listens : {true, false}) {
            CAPTURE(server_listens);
            const context owner;
            const auto open = [&](int type, bool is_server) {
                socket made{owner, type};
                if (is_server) {
                    made.set(ZLINK_CURVE_SERVER, 1).set(ZLINK_CURVE_SECRETKEY, server_secret);
                } else {
                    made.set(ZLINK_CURVE_SERVERKEY, server_public);
                    made.set(ZLINK_CURVE_PUBLICKEY, client_public);
                    made.set(ZLINK_CURVE_SECRETKEY, client_secret);
                }
                return made;
            };
            const auto join = [&](socket& server, socket& client) {
                server_listens ? client.connect(server.bind(ws_wildcard))
                               : server.connect(client.bind(ws_wildcard));
            };
            socket server = open(ZLINK_PAIR, true);
            socket client = open(ZLINK_PAIR, false);
            join(server, client);
            for (const std::size_t bytes :
                 {0, 1, 95, 96, 220, 221, 222, 255, 256, 8192, 65'000, 65'500, 65'536, 1'000'000}) {
                CAPTURE(bytes);
                const std::string text = long_text(bytes);
                REQUIRE(server.send(message{text, "end"}) == ok);
                CHECK((client.recv() == message{text, "end"}));
                REQUIRE(client.send(message{"begin", text}) == ok);
                CHECK((server.recv() == message{"begin", text}));
            }
            socket pub = open(ZLINK_XPUB, true);
            socket sub = open(ZLINK_SUB, false);
            sub.set(ZLINK_SUBSCRIBE, "topic");
            join(pub, sub);
            CHECK(recv_subscription(pub, sub) == message{"\1topic"});
            REQUIRE(pub.send("topic!") == ok);
            CHECK(sub.recv() == message{"topic!"});
        }
    }

    TEST_CASE("zws: many small messages arrive in order, in both directions at once") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            const context owner{io_threads};
            socket first{owner, ZLINK_DEALER};
            socket second{owner, ZLINK_DEALER};
            second.connect(first.bind(ws_wildcard));
            constexpr int count = 5000;
            int sent = 0; // Not far ahead: a blocked send would wait for ever.
            for (int received = 0; received < count; ++received) {
                for (; sent < std::min(count, received + 500); ++sent) {
                    REQUIRE(first.send(std::to_string(sent)) == ok);
                    REQUIRE(second.send(std::to_string(sent)) == ok);
                }
                REQUIRE(first.recv_frame() == std::to_string(received));
                REQUIRE(second.recv_frame() == std::to_string(received));
            }
        }
    }

} // TEST_SUITE
