// SPDX-License-Identifier: MPL-2.0
//
// The C++ interface of STREAM: events, batches, and HTTP.
#include <zlink/zlink.hpp>

#include <chrono>
#include <cstdio>
#include <doctest/doctest.h>
#include <string>
#include <unordered_set>

namespace {

using namespace std::chrono_literals;
using namespace zlink;

/// A server, and clients that are STREAMs, too.
struct served {
    explicit served(const std::string& endpoint = "ws://127.0.0.1:*/chat") : server(owner) {
        server.set(option::linger, 0ms, throws);
        server.bind(endpoint, throws);
    }

    stream_socket connect() {
        stream_socket made{owner};
        made.set(option::linger, 0ms, throws);
        made.connect(server.last_endpoint(throws), throws);
        return made;
    }

    context owner;
    stream_socket server;
};

template<class Event>
Event expect(stream_socket& by) {
    stream_event told = by.recv(throws);
    REQUIRE(std::holds_alternative<Event>(told));
    return std::get<Event>(std::move(told));
}

} // namespace

TEST_SUITE("stream") {

    TEST_CASE("messages and events") {
        served it;
        stream_socket client = it.connect();
        const connected came = expect<connected>(it.server);
        CHECK(came.address().starts_with("ws://127.0.0.1:"));
        CHECK(came.line("Path") == "/chat");
        CHECK_FALSE(came.line("Origin").has_value());
        const peer_id home = expect<connected>(client).peer;
        CHECK(client.send(home, "hello", flags::text).value() == 5);
        CHECK(client.send(home, message{"bytes"}).value() == 5);
        const received text = expect<received>(it.server);
        CHECK(text.peer == came.peer);
        CHECK(text.content == "hello");
        CHECK(text.content.is_text());
        CHECK_FALSE(expect<received>(it.server).content.is_text());
        CHECK(came.address().starts_with(it.server.peer_of(came.peer).value().endpoint));
        it.server.close_peer(came.peer, close_code{4000}, "kicked", throws);
        const disconnected gone = expect<disconnected>(client);
        CHECK(gone.peer == home);
        CHECK(gone.code == close_code{4000});
        CHECK(gone.reason == "kicked");
        CHECK(expect<disconnected>(it.server).code == close_code{4000});
        CHECK(it.server.send(came.peer, "late").error() == std::errc::host_unreachable);
        CHECK_THROWS_AS(it.server.send(came.peer, "late", throws), std::system_error);
        CHECK(is_again(it.server.recv(flags::dont_wait).error()));
    }

    TEST_CASE("batches, and one message for many") {
        served it{"tcp://127.0.0.1:*"};
        stream_socket one = it.connect();
        stream_socket other = it.connect();
        std::unordered_set<peer_id> peers{expect<connected>(it.server).peer};
        peers.insert(expect<connected>(it.server).peer);
        CHECK(peers.size() == 2);
        const peer_id home = expect<connected>(one).peer;
        expect<connected>(other);
        const std::vector<stream_message> sent{{home, "a"}, {home, "b"}, {home, "c"}};
        CHECK(one.send_batch(sent, throws) == 3);
        std::string all;
        std::array<stream_message, 8> room;
        while (all.size() < 3) {
            for (const stream_message& each : it.server.recv_batch(room, throws)) {
                CHECK_FALSE(each.is_event());
                CHECK(peers.contains(each.peer()));
                all += each.text();
            }
        }
        CHECK(all == "abc");
        const std::vector<peer_id> ids(peers.begin(), peers.end());
        CHECK(it.server.send_many(ids, message{"all"}).value() == 2);
        CHECK(expect<received>(one).content == "all");
        CHECK(expect<received>(other).content == "all");
        const std::array unknown{ids[0], peer_id{{9, 9, 9, 9}}};
        std::array<int, 2> outcomes{};
        CHECK(it.server.send_each(unknown, message{"x"}, outcomes).value() == 1);
        CHECK(outcomes[1] == EHOSTUNREACH);
        CHECK(it.server.send_each(unknown, message{"x"}, std::span(outcomes).first(1)).error() ==
              std::errc::invalid_argument);
    }

    TEST_CASE("requests, and files") {
        context owner;
        stream_socket server{owner};
        server.set(option::linger, 0ms, throws);
        server.serve("/", "/proc/self/fdinfo", {.lists = true}, throws);
        CHECK(server.serve("no slash", "/tmp").error() == std::errc::invalid_argument);
        server.route("/api/*", http_route::requests | http_route::peers, throws);
        server.bind("http://127.0.0.1:*/", throws);
        std::string endpoint = server.last_endpoint(throws);
        endpoint.pop_back();             // Its slash.
        raw_stream_socket client{owner}; // Bytes over tcp.
        client.set(option::linger, 0ms, throws);
        client.connect("tcp" + endpoint.substr(endpoint.find(':')), throws);
        const message id = client.recv(throws);
        client.recv(throws); // Connected.
        const auto ask = [&](const std::string& text) {
            client.send(id, flags::more, throws);
            client.send(text, throws);
        };
        const auto answer = [&](std::string_view end) {
            std::string all;
            while (all.find(end) == std::string::npos) {
                client.recv(throws);
                all += client.recv(throws).text();
            }
            return all;
        };
        ask("POST /api/users?x=1 HTTP/1.1\r\nHost: a\r\nCookie: id=5\r\nContent-Length: "
            "2\r\n\r\n{}");
        requested asked = expect<requested>(server);
        const http_request request = std::move(asked.request);
        CHECK(asked.request.path().empty());
        CHECK(asked.request.text().empty());
        CHECK(request.method() == "POST");
        CHECK(request.path() == "/api/users");
        CHECK(request.query() == "x=1");
        CHECK(request.text() == "{}");
        CHECK(request.field("cookie") == "id=5");
        CHECK_FALSE(request.field("none").has_value());
        CHECK_FALSE(request.is_upgrade());
        // What comes from a client cannot begin a field of its own.
        for (const std::string_view bad :
             {std::string_view("bob\nSet-Cookie: x"), std::string_view("bob\r\n\r\nx"),
              std::string_view("bob\0x", 5)}) {
            CHECK(server.reply(asked.peer, 200, {{"X-User", bad}}, "").error() ==
                  std::errc::invalid_argument);
            CHECK(server.reply(asked.peer, 200, {{bad, "x"}}, "").error() ==
                  std::errc::invalid_argument);
        }
        server.reply(asked.peer, 200, {{"Content-Type", "text/plain"}}, "done.", throws);
        CHECK(answer("done.").find("Content-Type: text/plain\r\n") != std::string::npos);
        CHECK(server.reply(asked.peer, 200, {}, "twice").error() == errc::wrong_state);
        ask("GET /api/parts HTTP/1.1\r\nHost: a\r\n\r\n");
        const peer_id waiting = expect<requested>(server).peer;
        CHECK(server.reply(waiting, 99, {}, "").error() == std::errc::invalid_argument);
        server.reply(waiting, 200, {}, "one", flags::more, throws);
        server.reply_part(waiting, "two", flags::more, throws);
        server.reply_part(waiting, "", flags::none, throws);
        CHECK(answer("0\r\n\r\n").find("3\r\ntwo\r\n") != std::string::npos);
        ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        CHECK(answer("</table>").starts_with("HTTP/1.1 200"));
    }

    TEST_CASE("a region of a file, to a peer and as an answer") {
        served it{"tcp://127.0.0.1:*"};
        stream_socket client = it.connect();
        const peer_id peer = expect<connected>(it.server).peer;
        expect<connected>(client);
        std::FILE* const file = std::tmpfile();
        REQUIRE(file != nullptr);
        REQUIRE(std::fputs("0123456789", file) >= 0);
        REQUIRE(std::fflush(file) == 0);
        it.server.send_file(peer, ::fileno(file), 2, 5, throws);
        CHECK(expect<received>(client).content == "23456");
        CHECK(it.server.send_file(peer, ::fileno(file), 8, 5).error() ==
              std::errc::invalid_argument);
        std::fclose(file);
    }

} // TEST_SUITE
