// SPDX-License-Identifier: MPL-2.0
//
// The HTTP exchange that begins a connection over ws, and its variations by proxies and servers.
#include "stream_fixture.hpp"
#include "testing/web_upgrade.hpp"
#include "watcher.hpp"
#include "web_peer.hpp"

#include <cerrno>

using namespace api_test;
using namespace std::string_literals;
using zlink::testing::upgrade_request;
using zlink::testing::upgrade_response_to;

namespace {

/// A server that a STREAM dials, attempt after attempt.
class web_server {
public:
    explicit web_server(const context& owner) : owner_(owner) {}

    std::string endpoint() const { return "ws" + listener_.endpoint().substr(3) + "/room"; }

    /// Accepts the next attempt; destroying the result ends it.
    raw_peer accept() { return {owner_, listener_.accept(owner_)}; }

private:
    const context& owner_;
    raw_listener listener_;
};

/// A STREAM that reconnects soon.
socket dialing(const context& owner, int reconnect_interval = 1) {
    socket made{owner, ZLINK_STREAM};
    made.set(ZLINK_RECONNECT_IVL, reconnect_interval);
    return made;
}

std::string answer(std::string_view status, std::string_view fields = "") {
    return "HTTP/1.1 " + std::string(status) + "\r\nContent-Length: 0\r\n" + std::string(fields) +
           "\r\n";
}

} // namespace

TEST_SUITE("upgrade") {

    TEST_CASE("upgrade: a client that is refused tries again, and a monitor is told the status") {
        for (const int io_threads : every_io_threads) {
            for (const std::string status :
                 {"404 Not Found", "403 Forbidden", "401 Unauthorized", "400 Bad Request", "200 OK",
                  "429 Too Many Requests", "500 Internal Server Error",
                  "503 Service Unavailable"}) {
                CAPTURE(io_threads);
                CAPTURE(status);
                const context owner{io_threads};
                web_server there{owner};
                socket client = dialing(owner);
                watcher events{owner, client, ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL};
                client.connect(there.endpoint());
                {
                    raw_peer first = there.accept();
                    recv_header(first);
                    first.send(answer(status));
                    CHECK(first.is_disconnected());
                }
                const event told = events.next();
                CHECK(told.value == std::stoi(status));
                CHECK(told.endpoint == there.endpoint() + " " + status);
                raw_peer second = there.accept();
                second.send(upgrade_response_to(recv_header(second)));
                CHECK(recv_news(client).is_connect);
            }
        }
    }

    TEST_CASE("upgrade: a status needs no words") {
        const context owner;
        web_server there{owner};
        socket client = dialing(owner, -1);
        watcher events{owner, client, ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL};
        client.connect(there.endpoint());
        raw_peer server = there.accept();
        recv_header(server);
        server.send(answer("555 "));
        const event told = events.next();
        CHECK(told.value == 555);
        CHECK(told.endpoint == there.endpoint() + " 555");
    }

    TEST_CASE("upgrade: a redirect is not followed, and a monitor is told where it leads") {
        const context owner;
        web_server there{owner};
        socket client = dialing(owner, -1);
        watcher events{owner, client, ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL};
        client.connect(there.endpoint());
        raw_peer server = there.accept();
        recv_header(server);
        server.send(answer("302 Found", "Location: https://example.org/room\r\n"));
        const event told = events.next();
        CHECK(told.value == 302);
        CHECK(told.endpoint ==
              there.endpoint() + " 302 Found, not followed to https://example.org/room");
    }

    TEST_CASE("upgrade: what a redirect says is shown as far as it is text, and not endlessly") {
        const context owner;
        web_server there{owner};
        socket client = dialing(owner, -1);
        watcher events{owner, client, ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL};
        client.connect(there.endpoint());
        raw_peer server = there.accept();
        recv_header(server);
        server.send(answer("307 Go\xe9 there",
                           "Location: https://example.org/" + std::string(1000, 'x') + "\r\n"));
        const event told = events.next();
        CHECK(told.value == 307);
        const std::string begin =
            there.endpoint() + " 307 Go? there, not followed to https://example.org/xxx";
        CHECK(told.endpoint.starts_with(begin));
        CHECK(told.endpoint.size() < begin.size() + 400);
    }

    TEST_CASE("upgrade: RECONNECT_STOP ends the attempts after a refusal") {
        const context owner;
        web_server there{owner};
        socket client = dialing(owner);
        client.set(ZLINK_RECONNECT_STOP, ZLINK_RECONNECT_STOP_HANDSHAKE_FAILED);
        watcher events{owner, client};
        client.connect(there.endpoint());
        raw_peer first = there.accept();
        recv_header(first);
        first.send(answer("404 Not Found"));
        CHECK(events.await(ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL) == 404);
        CHECK(events.next().what == ZLINK_EVENT_DISCONNECTED);
        CHECK(events.has_told_all(owner, client));
    }

    TEST_CASE("upgrade: a client passes over answers that another one follows") {
        for (const int io_threads : every_io_threads) {
            for (const bool is_slow : {false, true}) {
                CAPTURE(io_threads);
                CAPTURE(is_slow);
                const context owner{io_threads};
                web_server there{owner};
                socket client = dialing(owner, -1);
                client.connect(there.endpoint());
                raw_peer server = there.accept();
                std::string said = "HTTP/1.1 100 Continue\r\n\r\n"
                                   "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"
                                   "HTTP/1.1 102 Processing\r\n\r\n" +
                                   upgrade_response_to(recv_header(server)) + "\x82\x02hi";
                for (std::size_t size = is_slow ? 1 : said.size(); !said.empty();
                     said.erase(0, size)) {
                    server.send(said.substr(0, size));
                    server.await_read();
                }
                const news told = recv_news(client);
                CHECK(told.is_connect);
                CHECK(client.recv() == message{told.id, "hi"});
            }
        }
    }

    TEST_CASE("upgrade: the number of answers that others follow is limited") {
        const context owner;
        web_server there{owner};
        socket client = dialing(owner, -1);
        watcher events{owner, client, ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL};
        client.connect(there.endpoint());
        raw_peer server = there.accept();
        recv_header(server);
        for (int count = 0; count < 17; ++count) {
            server.send("HTTP/1.1 100 Continue\r\n\r\n");
        }
        CHECK(events.next().value == EPROTO);
        CHECK(server.is_disconnected());
    }

    TEST_CASE("upgrade: a server takes what clients and proxies may send") {
        const std::string plain = upgrade_request("/chat?room=1");
        const auto changed = [&](std::string_view from, std::string_view to) {
            std::string made = plain;
            return made.replace(made.find(from), from.size(), to);
        };
        const std::string requests[] = {
            plain,
            upgrade_request("http://localhost:80/chat?room=1"),
            upgrade_request("HTTP://other.example/chat?room=1"),
            upgrade_request("wss://localhost/chat?room=1"),
            "\r\n" + plain,
            changed("Upgrade: websocket", "uPgRaDe: h2c, WebSocket"),
            changed("Connection: Upgrade",
                    "Connection: close\r\nConnection: keep-alive ,\tupgrade"),
            changed("Host: localhost", "Host:"),
            changed("Host: localhost", "HOST: \t localhost \t "),
            upgrade_request("/chat?room=1",
                            "Content-Length: 0\r\nVia: 1.1 proxy, 1.0 other (cache)\r\n"
                            "Forwarded: for=\"[2001:db8::1]\";proto=https\r\nX-Forwarded-For: "
                            "192.0.2.1, 198.51.100.1\r\nMax-Forwards: 10\r\nTE: trailers\r\n"
                            "Expect: 100-continue\r\nCookie: a=b; c=\"d\"\r\nX-Empty:\r\n"),
        };
        for (const int io_threads : {0, 1}) {
            const context owner{io_threads};
            socket server{owner, ZLINK_STREAM};
            const std::string endpoint = tcp_of(server.bind("ws://127.0.0.1:*/chat"));
            for (const std::string& request : requests) {
                for (const bool is_slow : {false, true}) {
                    CAPTURE(request);
                    CAPTURE(is_slow);
                    raw_peer client{owner, endpoint};
                    for (std::size_t at = 0; at < request.size();
                         at += is_slow ? 1 : request.size()) {
                        client.send(request.substr(at, is_slow ? 1 : request.size()));
                        if (at < 4) {
                            client.await_read();
                        }
                    }
                    CHECK(recv_header(client).starts_with("HTTP/1.1 101 "));
                    const news told = recv_news(server);
                    CHECK(told.text.ends_with("\nPath: /chat?room=1"));
                    client.close();
                    recv_departure(server, told.id);
                }
            }
        }
    }

    TEST_CASE("upgrade: a server refuses what proxies must not pass on") {
        const std::string plain = upgrade_request("/chat");
        const auto changed = [&](std::string_view from, std::string_view to) {
            std::string made = plain;
            return made.replace(made.find(from), from.size(), to);
        };
        struct {
            std::string request;
            std::string_view status;
        } const cases[] = {
            {upgrade_request("http://localhost/other"), "404"},
            {upgrade_request("http:///chat"), "404"},
            {upgrade_request("ftp://localhost/chat"), "404"},
            {upgrade_request("*"), "404"},
            {"\r\n\r\n" + plain, "400"},
            {changed("Host: localhost", "Host : localhost"), "400"},
            {changed("Host: localhost", "Host: one\r\nHost: two"), "400"},
            {changed("Host: localhost", "Host: a\r\nTransfer-Encoding: chunked"), "400"},
            {changed("Host: localhost", "Host: a\r\nContent-Length: 1\r\nContent-Length: 2"),
             "400"},
            {changed("HTTP/1.1", "HTTP/1.0"), "400"},
        };
        const context owner{0};
        socket server{owner, ZLINK_STREAM};
        const std::string endpoint = tcp_of(server.bind("ws://127.0.0.1:*/chat"));
        for (const auto& each : cases) {
            CAPTURE(each.request);
            raw_peer client{owner, endpoint};
            client.send(each.request);
            CHECK(client.recv(12) == "HTTP/1.1 " + std::string(each.status));
        }
        raw_peer client{owner, endpoint};
        client.send("GET /chat HTTP/1.1\r\nHost: a\r\n\r\n");
        const std::string told = recv_header(client);
        CHECK(told.starts_with("HTTP/1.1 426 "));
        // A sender of Upgrade must list it in Connection, too (RFC 9110, 7.8).
        CHECK(told.find("\r\nConnection: upgrade\r\n") != std::string::npos);
        CHECK(told.find("\r\nUpgrade: websocket\r\n") != std::string::npos);
    }

} // TEST_SUITE
