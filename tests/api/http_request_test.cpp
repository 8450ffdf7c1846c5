// SPDX-License-Identifier: MPL-2.0
//
// HTTP requests that the application answers.
#include "edge_fixture.hpp"
#include "stream_fixture.hpp"
#include "testing/temporary_folder.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace api_test {

using namespace std::string_literals;
using zlink::testing::temporary_folder;

namespace {

/// A STREAM with files, and routes of the application.
struct service {
    explicit service(int io_threads = 1) : owner(io_threads), server(owner, ZLINK_STREAM) {
        folder.write("a.txt", "hello");
        REQUIRE(zlink_http_serve(server, "/", folder.path().c_str(), nullptr) == 0);
        REQUIRE(zlink_http_route(server, "/api/*", ZLINK_HTTP_REQUESTS) == 0);
        REQUIRE(zlink_http_route(server, "/chat/*", ZLINK_HTTP_PEERS) == 0);
        REQUIRE(zlink_http_route(server, "/game", ZLINK_HTTP_UPGRADES) == 0);
        const std::int64_t largest = 100'000;
        REQUIRE(zlink_setsockopt(server, ZLINK_MAXMSGSIZE, &largest, sizeof largest) == 0);
        endpoint = server.bind("http://127.0.0.1:*/");
    }

    raw_peer connect() { return {owner, tcp_of(endpoint)}; }

    temporary_folder folder;
    context owner;
    socket server;
    std::string endpoint;
};

std::string ask(const std::string& target, const std::string& fields = "",
                const std::string& content = "", const std::string& method = "GET",
                const std::string& version = "1.1") {
    const std::string length =
        content.empty() ? "" : "Content-Length: " + std::to_string(content.size()) + "\r\n";
    return method + " " + target + " HTTP/" + version + "\r\nHost: localhost\r\n" + fields +
           length + "\r\n" + content;
}

/// A request as the application takes it apart.
struct request {
    std::string id;
    std::string text;
    std::string method;
    std::string path;
    std::string query;
    std::string content;

    std::string field(const char* name) const {
        zlink_http_request_t parts{};
        parts.struct_size = sizeof parts;
        REQUIRE(zlink_http_request(text.data(), text.size(), &parts) == 0);
        const char* value = nullptr;
        std::size_t bytes = 0;
        return zlink_http_field(&parts, name, &value, &bytes) == 0 ? std::string(value, bytes)
                                                                   : "none";
    }
};

request take_apart(const message& received) {
    REQUIRE(received.frames.size() == 2);
    request made;
    made.id = received.frames[0];
    made.text = received.frames[1];
    zlink_http_request_t parts{};
    parts.struct_size = sizeof parts;
    REQUIRE(zlink_http_request(made.text.data(), made.text.size(), &parts) == 0);
    made.method.assign(parts.method, parts.method_size);
    made.path.assign(parts.path, parts.path_size);
    made.query.assign(parts.query, parts.query_size);
    made.content.assign(static_cast<const char*>(parts.content), parts.content_size);
    return made;
}

request recv_request(socket& by) {
    return take_apart(by.recv());
}

int reply(socket& by, const std::string& id, int status, const std::string& content,
          const char* fields = nullptr, int flags = 0) {
    return zlink_http_reply(by, id.data(), status, fields, content.data(), content.size(), flags) ==
                   0
               ? ok
               : errno;
}

int reply_part(socket& by, const std::string& id, const std::string& content, int flags = 0) {
    return zlink_http_reply_part(by, id.data(), content.data(), content.size(), flags) == 0 ? ok
                                                                                            : errno;
}

/// The content of the next response, which has a length and that status.
std::string recv_content(raw_peer& by, const std::string& status) {
    const std::string head = recv_header(by);
    CHECK(head.starts_with("HTTP/1.1 " + status));
    const std::size_t at = head.find("\r\nContent-Length: ");
    REQUIRE(at != std::string::npos);
    return by.recv(std::stoul(head.substr(at + 18)));
}

} // namespace

TEST_SUITE("http_request") {

    TEST_CASE("requests and files on one connection, in turn") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            service it{io_threads};
            raw_peer client = it.connect();
            client.send(ask("/a.txt"));
            CHECK(recv_content(client, "200") == "hello");
            client.send(ask("/api/users/5?full=1", "X-Token: abc\r\n") + ask("/a.txt") +
                        ask("/api/", "", "{}", "PUT"));
            const request first = recv_request(it.server);
            CHECK(first.method == "GET");
            CHECK(first.path == "/api/users/5");
            CHECK(first.query == "full=1");
            CHECK(first.content.empty());
            CHECK(first.field("x-token") == "abc");
            CHECK(first.field("Host") == "localhost");
            CHECK(first.field("Content-Length") == "none");
            CHECK(reply(it.server, first.id, 200, "five", "Content-Type: text/plain\nX-A: b") ==
                  ok);
            const std::string head = recv_header(client);
            CHECK(head.starts_with("HTTP/1.1 200 OK\r\nDate: "));
            CHECK(head.find("\r\nContent-Type: text/plain\r\nX-A: b\r\n") != std::string::npos);
            CHECK(head.find("\r\nContent-Length: 4\r\n") != std::string::npos);
            CHECK(client.recv(4) == "five");
            CHECK(recv_content(client, "200") == "hello");
            const request second = recv_request(it.server);
            CHECK(second.id == first.id);
            CHECK(second.method == "PUT");
            CHECK(second.content == "{}");
            CHECK(second.field("Content-Length") == "2");
            CHECK(reply(it.server, second.id, 404, "") == ok);
            CHECK(recv_content(client, "404").empty());
            CHECK(reply(it.server, second.id, 200, "") == EFSM);
            client.close();
            CHECK(it.server.poll(ZLINK_POLLIN, moment) == 0); // No request was unanswered.
        }
    }

    TEST_CASE("the message is marked as a request, however it is received") {
        service it;
        raw_peer client = it.connect();
        zlink_msg_t received;
        zlink_msg_init(&received);
        for (const bool is_batch : {false, true}) {
            client.send(ask("/api/x"));
            char id[4];
            if (is_batch) {
                zlink_stream_message_t one{};
                REQUIRE(zlink_stream_recv_batch(it.server, &one, 1, 0) == 1);
                CHECK(one.flags == ZLINK_HTTP_REQUEST);
                std::memcpy(id, one.routing_id, 4);
            } else {
                REQUIRE(zlink_stream_msg_recv(&received, it.server, id, 0) > 0);
                CHECK(zlink_msg_get(&received, ZLINK_HTTP_REQUEST) == 1);
                CHECK(zlink_msg_get(&received, ZLINK_TEXT) == 0);
                CHECK(zlink_msg_gets(&received, "Peer-Address") == "127.0.0.1"s);
            }
            CHECK(zlink_http_reply(it.server, id, 204, nullptr, nullptr, 0, 0) == 0);
            CHECK(recv_header(client).starts_with("HTTP/1.1 204 No Content\r\n"));
        }
        zlink_msg_close(&received);
    }

    TEST_CASE("content in chunks, in pieces, awaited, or too much of it") {
        service it;
        raw_peer client = it.connect();
        const std::string chunked =
            ask("/api/", "Transfer-Encoding: chunked\r\n", "", "POST") + "3\r\nabc\r\n5;x=y\r\n";
        for (const char octet : chunked) {
            client.send({&octet, 1});
        }
        client.send("defgh\r\n0\r\nTrailer: x\r\n\r\n");
        const request joined = recv_request(it.server);
        CHECK(joined.content == "abcdefgh");
        CHECK(joined.field("Content-Length") == "8");
        CHECK(joined.field("Transfer-Encoding") == "none");
        CHECK(reply(it.server, joined.id, 200, "") == ok);
        CHECK(recv_content(client, "200").empty());

        client.send(ask("/api/", "Expect: 100-continue\r\nContent-Length: 5\r\n", "", "POST"));
        CHECK(recv_header(client) == "HTTP/1.1 100 Continue\r\n\r\n");
        client.send("hello");
        CHECK(recv_request(it.server).content == "hello");
        CHECK(reply(it.server, joined.id, 200, long_text(1'000'000)) == ok);
        CHECK(recv_content(client, "200") == long_text(1'000'000));

        client.send(ask("/api/", "", long_text(100'000), "POST"));
        CHECK(recv_request(it.server).content == long_text(100'000));
        CHECK(reply(it.server, joined.id, 200, "") == ok);
        CHECK(recv_content(client, "200").empty());
        client.send(ask("/api/", "Content-Length: 100001\r\n", "", "POST"));
        CHECK(recv_header(client).starts_with("HTTP/1.1 413 "));
        client.await_end();
        raw_peer other = it.connect();
        other.send(ask("/api/", "Transfer-Encoding: chunked\r\n", "", "POST") + "186a1\r\n");
        CHECK(recv_header(other).starts_with("HTTP/1.1 413 "));
        other.await_end();
        CHECK(it.server.poll(ZLINK_POLLIN, moment) == 0);
    }

    TEST_CASE("content that is awaited behind another request on the connection") {
        for (const bool is_established : {false, true}) {
            CAPTURE(is_established);
            service it;
            raw_peer client = it.connect();
            if (is_established) {
                client.send(ask("/api/"));
                CHECK(reply(it.server, recv_request(it.server).id, 204, "") == ok);
                static_cast<void>(recv_header(client));
            }
            client.send(ask("/a.txt") +
                        ask("/api/", "Expect: 100-continue\r\nContent-Length: 5\r\n", "", "POST"));
            CHECK(recv_content(client, "200") == "hello");
            CHECK(recv_header(client) == "HTTP/1.1 100 Continue\r\n\r\n");
            client.send("world");
            CHECK(recv_request(it.server).content == "world");
        }
    }

    TEST_CASE("nothing is sent to a client that the application has closed") {
        service it;
        raw_peer client = it.connect();
        client.send(ask("/api/"));
        const std::string id = recv_request(it.server).id;
        CHECK(zlink_stream_close(it.server, id.data(), 1000, nullptr) == 0);
        CHECK(reply(it.server, id, 200, "") == EHOSTUNREACH);
        CHECK(zlink_stream_close(it.server, id.data(), 1000, nullptr) != 0);
        client.await_end();
        client.close();
        CHECK(recv_departure(it.server, id).starts_with("1000 "));
    }

    TEST_CASE("an answer in parts") {
        service it;
        it.server.set(ZLINK_SNDHWM, 1000);
        raw_peer client = it.connect();
        client.send(ask("/api/events"));
        const std::string id = recv_request(it.server).id;
        CHECK(reply(it.server, id, 200, "", "Content-Type: text/event-stream", ZLINK_SNDMORE) ==
              ok);
        CHECK(recv_header(client).find("\r\nTransfer-Encoding: chunked\r\n") != std::string::npos);
        CHECK(reply(it.server, id, 200, "") == EFSM);
        CHECK(reply_part(it.server, id, "data: 1\n\n", ZLINK_SNDMORE) == ok);
        CHECK(client.recv(14) == "9\r\ndata: 1\n\n\r\n");
        CHECK(reply_part(it.server, id, "data: 2\n\n") == ok);
        CHECK(client.recv(19) == "9\r\ndata: 2\n\n\r\n0\r\n\r\n");
        CHECK(reply_part(it.server, id, "") == EFSM);

        client.send(ask("/api/", "", "", "HEAD"));
        CHECK(recv_request(it.server).method == "HEAD");
        CHECK(reply(it.server, id, 200, "", nullptr, ZLINK_SNDMORE) == ok);
        CHECK(reply_part(it.server, id, "not sent") == ok);
        static_cast<void>(recv_header(client));
        client.send(ask("/a.txt"));
        CHECK(recv_content(client, "200") == "hello");

        raw_peer old = it.connect();
        old.send(ask("/api/", "", "", "GET", "1.0"));
        const std::string other = recv_request(it.server).id;
        CHECK(reply(it.server, other, 200, "a", nullptr, ZLINK_SNDMORE) == ok);
        CHECK(reply_part(it.server, other, "b") == ok);
        const std::string head = recv_header(old);
        CHECK(head.find("\r\nConnection: close\r\n") != std::string::npos);
        CHECK(head.find("Transfer-Encoding") == std::string::npos);
        CHECK(old.recv(2) == "ab");
        old.await_end();
    }

    TEST_CASE("parts for a client that does not read are limited by the high-water mark") {
        service it;
        it.server.set(ZLINK_SNDHWM, 10);
        REQUIRE(it.server.unbind(it.endpoint) == ok);
        it.endpoint = it.server.bind("http://127.0.0.1:*/");
        raw_peer client = it.connect();
        client.send(ask("/api/"));
        const std::string id = recv_request(it.server).id;
        const std::string part = long_text(1'000'000);
        CHECK(reply(it.server, id, 200, "", nullptr, ZLINK_SNDMORE) == ok);
        int sent_count = 0;
        while (reply_part(it.server, id, part, ZLINK_SNDMORE | ZLINK_DONTWAIT) == ok) {
            REQUIRE(++sent_count < 100);
        }
        CHECK(errno == EAGAIN);
        static_cast<void>(recv_header(client));
        for (int count = 0; count < sent_count; ++count) {
            CHECK(client.recv(7) == "f4240\r\n");
            CHECK(client.recv(part.size()) == part);
            CHECK(client.recv(2) == "\r\n");
        }
        CHECK(reply_part(it.server, id, "") == ok); // Waits for room.
        CHECK(client.recv(5) == "0\r\n\r\n");
    }

    TEST_CASE("a region of a file as the answer") {
        service it;
        it.folder.write("b", long_text(300'000));
        raw_peer client = it.connect();
        client.send(ask("/api/"));
        const std::string id = recv_request(it.server).id;
        const int file = ::open(it.folder.file("b").c_str(), O_RDONLY);
        REQUIRE(file >= 0);
        const auto reply_file = [&](int descriptor, std::uint64_t offset, std::uint64_t bytes) {
            return zlink_http_reply_file(it.server, id.data(), 200, "Content-Type: video/mp4",
                                         descriptor, offset, bytes, 0) == 0
                       ? ok
                       : errno;
        };
        CHECK(reply_file(-1, 0, 1) == EBADF);
        CHECK(reply_file(file, 299'000, 1001) == EINVAL);
        CHECK(reply_file(file, 1'000, 250'000) == ok);
        ::close(file);
        CHECK(recv_content(client, "200") == long_text(300'000).substr(1'000, 250'000));
    }

    TEST_CASE("the application learns that a client has gone") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            service it{io_threads};
            raw_peer client = it.connect();
            client.send(ask("/api/slow"));
            const std::string id = recv_request(it.server).id;
            client.close();
            CHECK(recv_departure(it.server, id) == "1006 closed by the peer");
            CHECK(reply(it.server, id, 200, "") == EHOSTUNREACH);

            raw_peer other = it.connect();
            other.send(ask("/api/slow"));
            const std::string another = recv_request(it.server).id;
            CHECK(reply(it.server, another, 200, "", nullptr, ZLINK_SNDMORE) == ok);
            static_cast<void>(recv_header(other));
            other.reset();
            CHECK(recv_departure(it.server, another).starts_with("1006 "));

            raw_peer closed = it.connect();
            closed.send(ask("/api/slow"));
            const std::string last = recv_request(it.server).id;
            CHECK(zlink_stream_abort(it.server, last.data(), 1000, nullptr) == 0);
            closed.await_end();
            CHECK(it.server.send(message{last, "x"}) == EHOSTUNREACH);
        }
    }

    TEST_CASE("several paths take WebSocket peers, and the application decides about some") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            service it{io_threads};
            raw_peer chat = it.connect();
            chat.send(zlink::testing::upgrade_request("/chat/room/1"));
            CHECK(recv_header(chat) == zlink::testing::upgrade_response());
            const news arrival = recv_news(it.server);
            CHECK(arrival.text.find("\nPath: /chat/room/1") != std::string::npos);

            raw_peer refused = it.connect();
            refused.send(zlink::testing::upgrade_request("/game"));
            const request asked = recv_request(it.server);
            CHECK(asked.field("Upgrade") == "websocket");
            CHECK(reply(it.server, asked.id, 401, "Who are you?") == ok);
            CHECK(recv_content(refused, "401") == "Who are you?");

            raw_peer game = it.connect();
            game.send(ask("/api/"));
            const std::string id = recv_request(it.server).id;
            CHECK(reply(it.server, id, 200, "") == ok);
            CHECK(recv_content(game, "200").empty());
            std::string upgrade = zlink::testing::upgrade_request("/game");
            upgrade.insert(upgrade.size() - 2, "Sec-WebSocket-Protocol: one, two\r\n");
            game.send(upgrade);
            CHECK(recv_request(it.server).id == id);
            CHECK(it.server.send(message{id, "early"}) == EHOSTUNREACH);
            CHECK(zlink_http_upgrade(it.server, id.data(), "two", "Set-Cookie: a=b") == 0);
            CHECK(recv_arrival(it.server) == id);
            CHECK(it.server.send(message{id, "hello"}) == ok);
            const std::string head = recv_header(game);
            CHECK(head.starts_with("HTTP/1.1 101 "));
            CHECK(head.find("\r\nSec-WebSocket-Protocol: two\r\n") != std::string::npos);
            CHECK(head.find("\r\nSet-Cookie: a=b\r\n") != std::string::npos);
            CHECK(game.recv(7) == "\x82\5hello");
            game.send("\x82\x85\0\0\0\0world"s);
            CHECK(it.server.recv() == message{id, "world"});
            game.close();
            CHECK(recv_departure(it.server, id) == "1006 closed by the peer");
        }
    }

    TEST_CASE("an upgrade that is invalid ends the client, and the application learns it") {
        service it;
        raw_peer client = it.connect();
        client.send(ask("/game", "Upgrade: websocket\r\nConnection: upgrade\r\n"));
        const std::string id = recv_request(it.server).id;
        CHECK(zlink_http_upgrade(it.server, id.data(), nullptr, nullptr) == 0);
        CHECK(recv_header(client).starts_with("HTTP/1.1 426 "));
        client.await_end();
        client.close();
        CHECK(recv_departure(it.server, id).starts_with("1002 "));
    }

    TEST_CASE("no spelling of a path leads around its route") {
        service it;
        it.folder.write("api/secret", "secret");
        for (const char* const path : {"/api/secret", "/%61pi/secret", "/api/%73ecret"}) {
            CAPTURE(path);
            raw_peer client = it.connect();
            client.send(ask(path));
            const request asked = recv_request(it.server);
            CHECK(asked.path == path);
            CHECK(reply(it.server, asked.id, 204, "") == ok);
        }
    }

    TEST_CASE("replies that are refused, and why") {
        service it;
        raw_peer client = it.connect();
        client.send(ask("/api/"));
        const std::string id = recv_request(it.server).id;
        const auto text = [] { return std::string(zlink_error_text()); };
        CHECK(reply(it.server, id, 100, "") == EINVAL);
        CHECK(text().find("200 to 599") != std::string::npos);
        CHECK(reply(it.server, id, 204, "x") == EINVAL);
        for (const char* const fields :
             {"no colon", ": x", "A b: c", "X: a\x01", "Content-Length: 5", "connection: close"}) {
            CAPTURE(fields);
            CHECK(reply(it.server, id, 200, "", fields) == EINVAL);
            CHECK(!text().empty());
        }
        CHECK(reply(it.server, "none"s, 200, "") == EHOSTUNREACH);
        CHECK(reply_part(it.server, id, "") == EFSM);
        for (const char* const path : {"", "api", "/a*b", "/a b", "/a?b", "*"}) {
            CAPTURE(path);
            CHECK((zlink_http_route(it.server, path, 1) != 0 && errno == EINVAL));
        }
        CHECK(zlink_http_route(it.server, "/x", 6) != 0);
        zlink_http_request_t parts{};
        parts.struct_size = sizeof parts;
        for (const char* const data :
             {"", "GET", "GET / HTTP/1.1\r\nHost: a\r\n", "hello\r\n\r\n"}) {
            CHECK((zlink_http_request(data, std::strlen(data), &parts) != 0 && errno == EINVAL));
        }
        CHECK(reply(it.server, id, 200, "good") == ok);
        CHECK(recv_content(client, "200") == "good");
    }

    TEST_CASE("requests of one connection are limited in number") {
        service it;
        it.server.set(ZLINK_HTTP_REQUEST_RATE, 1);
        REQUIRE(it.server.unbind(it.endpoint) == ok);
        it.endpoint = it.server.bind("http://127.0.0.1:*/");
        raw_peer client = it.connect();
        int allowed_count = 0;
        std::string head;
        do {
            client.send(ask("/a.txt"));
            head = recv_header(client);
            REQUIRE(++allowed_count < 10'000);
            client.recv(head.starts_with("HTTP/1.1 200") ? 5 : 0);
        } while (head.starts_with("HTTP/1.1 200"));
        CHECK(allowed_count > 10);
        CHECK(head.starts_with("HTTP/1.1 429 "));
        client.await_end();
        raw_peer other = it.connect();
        other.send(ask("/a.txt"));
        CHECK(recv_content(other, "200") == "hello");
    }

    TEST_CASE("a response that is under way when the endpoint is unbound is completed") {
        service it;
        it.folder.write("large", long_text(5'000'000));
        REQUIRE(it.server.unbind(it.endpoint) == ok);
        it.server.set(ZLINK_LINGER, -1);
        it.endpoint = it.server.bind("http://127.0.0.1:*/");
        raw_peer client = it.connect();
        client.send(ask("/large"));
        CHECK(recv_header(client).starts_with("HTTP/1.1 200"));
        const auto count = [&] { return zlink_ctx_blockers(it.owner, nullptr, 0); };
        const int sockets = count();
        CHECK(it.server.unbind(it.endpoint) == ok);
        wait_until(it.owner, [&] { return count() == sockets + 1; });
        CHECK(client.recv(5'000'000) == long_text(5'000'000));
        client.await_end();
        wait_until(it.owner, [&] { return count() == sockets; });
    }

    TEST_CASE("a request that is not answered when the socket lets its client go") {
        for (const int io_threads : every_io_threads) {
            for (const char* how : {"unbind", "drain", "close"}) {
                CAPTURE(io_threads);
                CAPTURE(how);
                service it{io_threads};
                it.server.set(ZLINK_LINGER, 1000);
                raw_peer client = it.connect();
                raw_peer begun = it.connect();
                client.send(ask("/api/a"));
                static_cast<void>(recv_request(it.server));
                begun.send(ask("/api/b"));
                const request other = recv_request(it.server);
                CHECK(reply(it.server, other.id, 200, "1", nullptr, ZLINK_SNDMORE) == ok);
                CHECK(recv_header(begun).starts_with("HTTP/1.1 200"));
                CHECK(begun.recv(6) == "1\r\n1\r\n");
                if (how == "unbind"s) {
                    CHECK(it.server.unbind(it.endpoint) == ok);
                } else if (how == "drain"s) {
                    CHECK(zlink_socket_drain(it.server, 0) == -1);
                } else {
                    it.server.close();
                }
                CHECK(recv_content(client, "503").find("going away") != std::string::npos);
                client.await_end();
                begun.await_end(); // Not "0", the end of the content.
            }
        }
    }

} // TEST_SUITE

} // namespace api_test
