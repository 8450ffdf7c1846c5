// SPDX-License-Identifier: MPL-2.0
#include "edge_fixture.hpp"
#include "raw_peer.hpp"
#include "stream_fixture.hpp"
#include "watcher.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <semaphore>
#include <thread>

using namespace api_test;
using namespace std::string_literals;

namespace {

int drain(socket& asked, milliseconds timeout) {
    return error_of(zlink_socket_drain(asked, static_cast<int>(timeout.count())));
}

const std::string going_away = "\x88\x0c\x03\xe9going away";

void upgrade(raw_peer& client) {
    client.send(edge_upgrade);
    std::string header;
    while (!header.ends_with("\r\n\r\n")) {
        header += client.recv(1);
    }
}

} // namespace

TEST_SUITE("drain") {

    TEST_CASE("drain: peers of a STREAM read what was sent, and the end in their way") {
        for (const int io_threads : {1, 3}) {
            CAPTURE(io_threads);
            const context owner{io_threads};
            socket stream{owner, ZLINK_STREAM};
            const std::string over_tcp = stream.bind("tcp://127.0.0.1:*");
            const std::string over_ws = stream.bind("ws://127.0.0.1:*/");
            raw_peer tcp_peer{owner, over_tcp};
            const std::string tcp_id = recv_arrival(stream);
            raw_peer ws_peer{owner, tcp_of(over_ws)};
            upgrade(ws_peer);
            const std::string ws_id = recv_arrival(stream);
            const std::string text = long_text(3'000'000);
            REQUIRE(stream.send(message{tcp_id, text}) == ok);
            REQUIRE(stream.send(message{ws_id, text}) == ok);
            tcp_peer.send(framed("unread"));

            std::thread peers([&] {
                CHECK(tcp_peer.recv(4 + text.size()) == framed(text));
                CHECK(tcp_peer.is_disconnected());
                tcp_peer.close();
                CHECK(ws_peer.recv(10 + text.size()).substr(10) == text);
                CHECK(ws_peer.recv(going_away.size()) == going_away);
                ws_peer.send("\x88\x82\0\0\0\0\x03\xe9"s);
                CHECK(ws_peer.is_disconnected());
                ws_peer.close();
            });
            CHECK(drain(stream, patience) == ok);
            peers.join();
            CHECK(stream.send(tcp_id, ZLINK_SNDMORE) == EHOSTUNREACH);

            // In the order in which they went, which may vary.
            bool has_message = false;
            int departure_count = 0;
            while (stream.poll(ZLINK_POLLIN, 0ms) != 0) {
                const message told = stream.recv();
                if (told.frames.size() == 3) {
                    CHECK(told.frames[2] == "1001 going away");
                    ++departure_count;
                } else {
                    CHECK(told == message{tcp_id, "unread"});
                    has_message = true;
                }
            }
            CHECK(has_message);
            CHECK(departure_count == 2);
            // The socket may be bound again, and has no other events left.
            raw_peer next{owner, stream.bind(over_tcp)};
            recv_arrival(stream);
        }
    }

    TEST_CASE("drain: no peer is accepted, and handshakes under way are ended") {
        for (const std::string endpoint : edge_endpoints) {
            for (const int io_threads : every_io_threads) {
                CAPTURE(endpoint);
                CAPTURE(io_threads);
                const context owner{io_threads};
                const edge_trust trust;
                socket stream{owner, ZLINK_STREAM};
                trust.let_listen(stream);
                const std::string bound = stream.bind(endpoint);
                watcher seen{owner, stream, ZLINK_EVENT_ACCEPTED};
                raw_peer slow{owner, tcp_of(bound)};
                seen.await(ZLINK_EVENT_ACCEPTED);
                if (bound.starts_with("tcp")) {
                    recv_arrival(stream);
                    slow.close();
                }
                CHECK(drain(stream, patience) == ok);
                if (!bound.starts_with("tcp")) {
                    CHECK(slow.is_disconnected());
                }
                CHECK(stream.unbind(bound) == ENOENT);
                socket other{owner, ZLINK_STREAM};
                trust.let_listen(other);
                CHECK(other.try_bind(bound) == ok);
            }
        }
    }

    TEST_CASE("drain: a peer that does not go is ended in time") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            const context owner{io_threads};
            socket stream{owner, ZLINK_STREAM};
            raw_peer deaf{owner, stream.bind("tcp://127.0.0.1:*")};
            const std::string id = recv_arrival(stream);
            const std::string text = long_text(20'000'000);
            REQUIRE(stream.send(message{id, text}) == ok);
            CHECK(drain(stream, 50ms) == EAGAIN);
            CHECK(recv_departure(stream, id) == "1001 unbound");
            CHECK(drain(stream, patience) == ok);
        }
    }

    TEST_CASE("drain: called again after a signal it waits for the same") {
        struct sigaction action {};
        action.sa_handler = [](int) {};
        struct sigaction before {};
        sigaction(SIGUSR1, &action, &before);
        const context owner{1};
        socket stream{owner, ZLINK_STREAM};
        socket other{owner, ZLINK_STREAM};
        const std::string bound = stream.bind("ws://127.0.0.1:*/");
        raw_peer other_peer{owner, other.bind("tcp://127.0.0.1:*")};
        const std::string other_id = recv_arrival(other);
        // The I/O thread blocks in the function that frees this, so that its next commands stay
        // pending.
        struct gate {
            std::binary_semaphore entered{0};
            std::binary_semaphore open{0};
        } held;
        std::string data(10'000, 'x');
        frame lent{data.data(), data.size(),
                   [](void*, void* hint) {
                       auto& at = *static_cast<gate*>(hint);
                       at.entered.release();
                       at.open.acquire();
                   },
                   &held};
        CHECK(error_of(zlink_stream_msg_send(lent.get(), other, other_id.data(), 0)) == ok);
        held.entered.acquire();
        raw_peer arriving{owner, tcp_of(bound)};
        arriving.send(edge_upgrade);

        std::atomic<bool> is_over{false};
        {
            std::jthread draining{[&] {
                CHECK(drain(stream, patience) == EINTR);
                is_over = true;
            }};
            // A signal that comes before the call blocks is lost, so several are sent.
            while (!is_over) {
                pthread_kill(draining.native_handle(), SIGUSR1);
                std::this_thread::yield();
            }
        }
        CHECK(drain(stream, 0ms) == EAGAIN);
        held.open.release();
        CHECK(drain(stream, patience) == ok);
        CHECK(arriving.is_disconnected());
        sigaction(SIGUSR1, &before, nullptr);
    }

    TEST_CASE("drain: what patterns have sent arrives") {
        for (const setting& chosen : network_settings()) {
            CAPTURE(chosen);
            const context owner{chosen};
            const context theirs{1};
            socket push{owner, ZLINK_PUSH};
            socket pull{theirs, ZLINK_PULL};
            pull.set(ZLINK_RECONNECT_IVL, -1);
            pull.connect(push.bind(chosen.via));
            constexpr int count = 500;
            const std::string body(1000, 'x');
            for (int sent = 0; sent < count; ++sent) {
                REQUIRE(push.send(body) == ok);
            }
            CHECK(drain(push, patience) == ok);
            for (int received = 0; received < count; ++received) {
                REQUIRE(pull.recv() == message{body});
            }
            CHECK(push.send("x", ZLINK_DONTWAIT) == EAGAIN);
        }
    }

    TEST_CASE("drain: what was connected stays away") {
        for (const int io_threads : every_io_threads) {
            const context owner{io_threads};
            socket server{owner, ZLINK_STREAM};
            socket client{owner, ZLINK_STREAM};
            client.set(ZLINK_RECONNECT_IVL, 1);
            watcher watched{owner, client};
            client.connect(server.bind("ws://127.0.0.1:*/"));
            const std::string at_client = recv_arrival(client);
            const std::string at_server = recv_arrival(server);
            REQUIRE(client.send(message{at_client, "last"}) == ok);
            CHECK(drain(client, patience) == ok);
            CHECK(recv_departure(client, at_client) == "1001 going away");
            CHECK(server.recv() == message{at_server, "last"});
            CHECK(recv_departure(server, at_server) == "1001 going away");
            watched.await(ZLINK_EVENT_DISCONNECTED);
            CHECK(watched.is_silent_until_visited(owner, client));
            CHECK(server.recv_error() == EAGAIN);
        }
    }

    TEST_CASE("drain: says what is wrong with a call") {
        const context owner{1};
        socket pull{owner, ZLINK_PULL};
        CHECK(error_of(zlink_socket_drain(pull, -2)) == EINVAL);
        CHECK(error_of(zlink_socket_drain(nullptr, 0)) == ENOTSOCK);
        CHECK(error_of(zlink_socket_drain(pull, 0)) == ok);
    }

    TEST_CASE("drain: peers over inproc have what was sent") {
        const context owner{1};
        socket push{owner, ZLINK_PUSH};
        socket pull{owner, ZLINK_PULL};
        push.bind("inproc://here");
        pull.connect("inproc://here");
        REQUIRE(push.send("last") == ok);
        CHECK(drain(push, 0ms) == ok);
        CHECK(pull.recv() == message{"last"});
        socket other{owner, ZLINK_PUSH};
        CHECK(other.try_bind("inproc://here") == ok);
    }

} // TEST_SUITE
