// SPDX-License-Identifier: MPL-2.0
//
// The end of a STREAM's connections, and the order of its events.
#include "edge_fixture.hpp"
#include "raw_peer.hpp"
#include "stream_fixture.hpp"
#include "watcher.hpp"

#include <cerrno>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <vector>

// Code is in the namespace, because the system's socket() is near, too.
namespace api_test {

using namespace std::string_literals;

namespace {

std::string close_frame(int code, std::string_view reason = "") {
    return "\x88"s + static_cast<char>(2 + reason.size()) + static_cast<char>(code >> 8) +
           static_cast<char>(code & 0xff) + std::string(reason);
}

/// A bound STREAM on ws, and a client of raw bytes that has upgraded.
struct web_pair {
    explicit web_pair(const context& owner)
        : server(owner, ZLINK_STREAM), client(owner, tcp_of(server.bind("ws://127.0.0.1:*/"))) {
        client.send(edge_upgrade);
        std::string header;
        while (!header.ends_with("\r\n\r\n")) {
            header += client.recv(1);
        }
        id = recv_arrival(server);
    }

    socket server;
    raw_peer client;
    std::string id;
};

} // namespace

TEST_SUITE("stream ends") {

    TEST_CASE("stream ends: a close code that was given before the socket closes is what the peer "
              "reads") {
        for (const int linger : {-1, 0, 10'000}) {
            for (const bool is_full : {false, true}) {
                CAPTURE(linger);
                CAPTURE(is_full);
                const context owner{1};
                web_pair both{owner};
                const std::string payload = is_full ? long_text(20'000'000) : "";
                both.server.set(ZLINK_LINGER, linger);
                if (is_full && linger != 0) {
                    CHECK(both.server.send(message{both.id, payload}) == ok);
                }
                REQUIRE(zlink_stream_close(both.server, both.id.data(), 4001, "full") == 0);
                both.server.close();
                if (is_full && linger != 0) {
                    both.client.recv(payload.size() + 10);
                }
                const std::string said = close_frame(4001, "full");
                CHECK(both.client.recv(said.size()) == said);
                CHECK(both.client.is_disconnected());
            }
        }
    }

    TEST_CASE("stream ends: what was sent last is read, although the peer goes on sending") {
        for (const bool is_web : {false, true}) {
            for (const int linger : {-1, 10'000}) {
                CAPTURE(is_web);
                CAPTURE(linger);
                const context owner{1};
                socket server{owner, ZLINK_STREAM};
                server.set(ZLINK_LINGER, linger).set(ZLINK_RCVHWM, 1);
                const std::string bound =
                    server.bind(is_web ? "ws://127.0.0.1:*/" : "tcp://127.0.0.1:*");
                raw_peer client{owner, tcp_of(bound)};
                if (is_web) {
                    client.send(edge_upgrade);
                    while (client.recv(1) != "\r" || client.recv(3) != "\n\r\n") {
                    }
                }
                const std::string id = recv_arrival(server);
                const std::string payload = long_text(20'000'000);
                REQUIRE(server.send(message{id, payload}) == ok);
                // More than is read: bytes stay in the kernel when the socket closes.
                const std::string unread =
                    is_web ? "\x82\xfe\x27\x10\0\0\0\0"s + std::string(10'000, 'u')
                           : framed(std::string(10'000, 'u'));
                for (int count = 0; count < 60; ++count) {
                    client.send(unread);
                }
                server.close();
                const std::size_t header_bytes = is_web ? 10 : 4;
                CHECK(client.recv(header_bytes + payload.size()).substr(header_bytes) == payload);
                if (is_web) {
                    CHECK(client.recv(4) == close_frame(1001));
                }
                // No reset: on other systems a reset would discard bytes that the peer has not
                // read.
                char byte;
                wait_until(owner, [&] { return ::recv(client.descriptor(), &byte, 1, 0) != -1; });
                CHECK(::recv(client.descriptor(), &byte, 1, 0) == 0);
            }
        }
    }

    TEST_CASE("stream ends: a socket that reconnects receives all of the old connection first") {
        for (const int io_threads : every_io_threads) {
            for (const bool is_web : {false, true}) {
                CAPTURE(io_threads);
                CAPTURE(is_web);
                const context owner{io_threads};
                socket server{owner, ZLINK_STREAM};
                socket client{owner, ZLINK_STREAM};
                client.set(ZLINK_RECONNECT_IVL, 1);
                watcher seen{owner, client, ZLINK_EVENT_DISCONNECTED | ZLINK_EVENT_CONNECTED};
                client.connect(server.bind(is_web ? "ws://127.0.0.1:*/" : "tcp://127.0.0.1:*"));
                seen.await(ZLINK_EVENT_CONNECTED);
                const std::string first = recv_arrival(client);
                std::string at_server = recv_arrival(server);
                for (int count = 0; count < 3; ++count) {
                    REQUIRE(server.send(message{at_server, "old " + std::to_string(count)}) == ok);
                }
                REQUIRE(zlink_stream_close(server, at_server.data(), 1000, "") == 0);
                seen.await(ZLINK_EVENT_DISCONNECTED);
                seen.await(ZLINK_EVENT_CONNECTED); // Without a call on the socket.
                // To a client that is slow to receive, the new connection is not yet shown.
                owner.let_io_happen();
                client.events();
                owner.let_io_happen();
                client.events();
                for (int count = 0; count < 3; ++count) {
                    CHECK(client.recv() == message{first, "old " + std::to_string(count)});
                }
                recv_departure(client, first);
                const std::string second = recv_arrival(client);
                CHECK(second == id_of(2));
                at_server = recv_turnover(server, at_server).next.id;
                REQUIRE(server.send(message{at_server, "new"}) == ok);
                CHECK(client.recv() == message{second, "new"});
            }
        }
    }

    TEST_CASE("stream ends: what several connections brought is received in their order, also of a "
              "socket that was drained") {
        for (const int io_threads : every_io_threads) {
            for (const bool is_web : {false, true}) {
                for (const bool is_drained : {false, true}) {
                    CAPTURE(io_threads);
                    CAPTURE(is_web);
                    CAPTURE(is_drained);
                    const context owner{io_threads};
                    socket server{owner, ZLINK_STREAM};
                    socket client{owner, ZLINK_STREAM};
                    client.set(ZLINK_RECONNECT_IVL, 1);
                    const std::string bound =
                        server.bind(is_web ? "ws://127.0.0.1:*/" : "tcp://127.0.0.1:*");
                    client.connect(bound);
                    std::string at_server = recv_arrival(server);
                    constexpr std::uint32_t round_count = 4;
                    for (std::uint32_t round = 1; round <= round_count; ++round) {
                        const std::string name = std::to_string(round);
                        REQUIRE(server.send(message{at_server, "one of " + name}) == ok);
                        REQUIRE(server.send(message{at_server, "two of " + name}) == ok);
                        REQUIRE(zlink_stream_close(server, at_server.data(), 1000, "") == 0);
                        at_server = recv_turnover(server, at_server).next.id;
                    }
                    wait_until(owner, [&] {
                        zlink_peer_t found[round_count + 1];
                        return zlink_socket_peers(client, found, round_count + 1) ==
                               round_count + 1;
                    });
                    if (is_drained) {
                        CHECK(zlink_socket_drain(client, static_cast<int>(patience.count())) == 0);
                        recv_departure(server, at_server);
                    }
                    for (std::uint32_t round = 1; round <= round_count; ++round) {
                        const std::string name = std::to_string(round);
                        const std::string id = recv_arrival(client);
                        CHECK(client.recv() == message{id, "one of " + name});
                        CHECK(client.recv() == message{id, "two of " + name});
                        recv_departure(client, id);
                    }
                    const std::string last = recv_arrival(client);
                    if (is_drained) {
                        recv_departure(client, last);
                    } else {
                        CHECK(client.send(message{last, "hello"}) == ok);
                        CHECK(server.recv() == message{at_server, "hello"});
                    }
                }
            }
        }
    }

    TEST_CASE(
        "stream ends: connections not yet reported go with their endpoint, as do their messages") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            const context owner{io_threads};
            socket server{owner, ZLINK_STREAM};
            socket client{owner, ZLINK_STREAM};
            client.set(ZLINK_RECONNECT_IVL, 1);
            const std::string bound = server.bind("tcp://127.0.0.1:*");
            client.connect(bound);
            std::string at_server = recv_arrival(server);
            for (int round = 0; round < 3; ++round) {
                REQUIRE(server.send(message{at_server, "unread"}) == ok);
                REQUIRE(zlink_stream_close(server, at_server.data(), 1000, "") == 0);
                at_server = recv_turnover(server, at_server).next.id;
            }
            CHECK(client.disconnect(bound) == ok);
            recv_departure(server, at_server);
            client.connect(bound);
            at_server = recv_arrival(server);
            REQUIRE(server.send(message{at_server, "read"}) == ok);
            message told;
            do {
                told = client.recv();
            } while (told.frames.size() != 2);
            CHECK(told.frames[1] == "read");
        }
    }

    TEST_CASE("stream ends: a connection that is made while its endpoint is undone goes, too") {
        constexpr int round_count = 100;
        for (const int io_threads : every_io_threads) {
            for (const bool is_web : {false, true}) {
                CAPTURE(io_threads);
                CAPTURE(is_web);
                const context owner{io_threads};
                socket server{owner, ZLINK_STREAM};
                socket client{owner, ZLINK_STREAM};
                const std::string bound =
                    server.bind(is_web ? "ws://127.0.0.1:*/" : "tcp://127.0.0.1:*");
                for (int round = 0; round < round_count; ++round) {
                    client.connect(bound);
                    const std::string id = recv_arrival(server);
                    CHECK(client.disconnect(bound) == ok);
                    recv_departure(server, id);
                }
                for (int round = 0; round < round_count; ++round) {
                    const std::string left = server.bind("tcp://127.0.0.1:*");
                    raw_peer visitor{owner, left};
                    CHECK(server.unbind(left) == ok);
                    wait_until(owner, [&] {
                        server.events(); // There is no message to receive.
                        return !visitor.is_connected();
                    });
                }
            }
        }
    }

    TEST_CASE("stream ends: what waits for a peer that has said that it goes is dropped, and "
              "counted") {
        context owner{1};
        web_pair both{owner};
        both.server.set(ZLINK_LINGER, -1);
        REQUIRE(both.server.send(message{both.id, long_text(20'000'000)}) == ok);
        REQUIRE(both.server.send(message{both.id, "late"}) == ok);
        both.client.send("\x88\x82\0\0\0\0\x03\xe8"s);
        CHECK(recv_departure(both.server, both.id) == "1000 ");
        std::uint64_t count = 0;
        std::size_t bytes = sizeof count;
        both.server.events(); // Releases the peer.
        REQUIRE(zlink_getsockopt(both.server, ZLINK_DROPPED, &count, &bytes) == 0);
        CHECK(count == 2);
        CHECK(both.server.send(both.id, ZLINK_SNDMORE) == EHOSTUNREACH);
        both.server.close();
        owner.end();
    }

    TEST_CASE("stream ends: a socket that does not receive holds no more of them than the limit") {
        constexpr int peer_count = 1200; // Above the limit of 1000.
        const context owner{1};
        socket server{owner, ZLINK_STREAM};
        server.set(ZLINK_BACKLOG, 4096);
        const std::string bound = server.bind("tcp://127.0.0.1:*");
        watcher seen{owner, server, ZLINK_EVENT_ACCEPT_FAILED | ZLINK_EVENT_ACCEPTED};
        for (int count = 0; count < peer_count; ++count) {
            raw_peer{owner, bound}.send(framed("x"));
        }
        int accepted_count = 0;
        for (event told = seen.next(); told.what == ZLINK_EVENT_ACCEPTED; told = seen.next()) {
            ++accepted_count;
        }
        CHECK(accepted_count < peer_count);
        // When the server receives, it still gets all of them.
        int arrival_count = 0;
        int departure_count = 0;
        while (departure_count < peer_count) {
            const message told = server.recv();
            arrival_count += told.frames.size() == 3 && told.frames[1] == "\1";
            departure_count += told.frames.size() == 3 && told.frames[1] != "\1";
        }
        CHECK(arrival_count == peer_count);
    }

    TEST_CASE("stream ends: an application may keep any number of the messages that report them") {
        constexpr int peer_count = 1100; // Above the limit of departures that were not received.
        const context owner{1};
        socket server{owner, ZLINK_STREAM};
        const std::string bound = server.bind("tcp://127.0.0.1:*");
        std::vector<frame> kept(6 * peer_count);
        std::size_t kept_count = 0;
        const auto recv = [&] {
            REQUIRE(zlink_msg_recv(kept[kept_count].get(), server, 0) >= 0);
            return zlink_msg_more(kept[kept_count++].get()) == 1;
        };
        for (int count = 0; count < peer_count; ++count) {
            raw_peer{owner, bound}.close();
            for (int told = 0; told < 2; ++told) { // Arrival and departure.
                while (recv()) {
                }
            }
        }
        CHECK(kept_count == kept.size());
    }

    TEST_CASE("stream ends: a socket that reconnects without events gets all messages in order") {
        const context owner{1};
        socket server{owner, ZLINK_STREAM};
        socket client{owner, ZLINK_STREAM};
        client.set(ZLINK_RECONNECT_IVL, 1).set(ZLINK_STREAM_EVENTS, 0);
        client.connect(server.bind("tcp://127.0.0.1:*"));
        std::string at_server = recv_arrival(server);
        for (std::uint32_t round = 1; round <= 5; ++round) {
            for (const char* const each : {"one", "two"}) {
                REQUIRE(server.send(message{at_server, each}) == ok);
            }
            REQUIRE(zlink_stream_close(server, at_server.data(), 1000, "") == 0);
            CHECK(client.recv() == message{id_of(round), "one"});
            CHECK(client.recv() == message{id_of(round), "two"});
            at_server = recv_turnover(server, at_server).next.id;
        }
    }

} // TEST_SUITE

} // namespace api_test
