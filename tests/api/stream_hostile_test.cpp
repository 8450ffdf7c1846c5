// SPDX-License-Identifier: MPL-2.0
//
// Hostile peers of a STREAM, beside one that behaves.
#include "stream_fixture.hpp"
#include "testing/certificates.hpp"
#include "testing/web_upgrade.hpp"
#include "watcher.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

using namespace api_test;
using namespace std::string_literals;
using zlink::testing::authority;
using zlink::testing::identity;
using zlink::testing::temporary_folder;

namespace {

constexpr const char* endpoints[] = {"tcp://127.0.0.1:*", "tls://127.0.0.1:*", "ws://127.0.0.1:*/",
                                     "wss://127.0.0.1:*/"};
constexpr int any_failed_handshake = ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                                     ZLINK_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                                     ZLINK_EVENT_HANDSHAKE_FAILED_AUTH;

/// A server, and a peer of it that behaves.
struct served {
    served(int io_threads, const std::string& endpoint, milliseconds handshake = patience)
        : owner(io_threads), server(owner, ZLINK_STREAM), client(owner, ZLINK_STREAM),
          failures(owner, server, any_failed_handshake) {
        const identity shown = ours.issue();
        server.set(ZLINK_TLS_CERTIFICATE, shown.certificate).set(ZLINK_TLS_KEY, shown.key);
        server.set(ZLINK_HANDSHAKE_IVL, handshake).set(ZLINK_SNDHWM, send_hwm);
        const std::int64_t unlimited = -1;
        REQUIRE(zlink_setsockopt(server, ZLINK_MAXMSGSIZE, &unlimited, sizeof unlimited) == 0);
        client.set(ZLINK_TLS_CA, ours.path());
        bound = server.bind(endpoint);
        const std::size_t begin = bound.find("://");
        tcp = "tcp" + bound.substr(begin, bound.find('/', begin + 3) - begin);
        client.connect(bound);
        at_client = recv_arrival(client);
        at_server = recv_arrival(server);
    }

    /// Checks that the server still serves the well-behaved peer.
    void exchange() {
        REQUIRE(client.send(message{at_client, "ping"}) == ok);
        REQUIRE(server.recv() == message{at_server, "ping"});
        REQUIRE(server.send(message{at_server, "pong"}) == ok);
        REQUIRE(client.recv() == message{at_client, "pong"});
    }

    static constexpr int send_hwm = 10;

    temporary_folder folder;
    authority ours{folder, "ours"};
    context owner;
    socket server;
    socket client;
    watcher failures;
    std::string bound;
    std::string tcp; ///< The server's tcp endpoint, without the protocols above tcp.
    std::string at_client;
    std::string at_server;
};

} // namespace

TEST_SUITE("stream and hostile peers") {

    TEST_CASE("stream: a handshake that comes byte by byte ends when its time is over") {
        struct slow {
            const char* endpoint;
            std::string begin; ///< Then zeros or letters follow without an end.
            char rest;
        };
        // The beginning of a request, and of a TLS record with a ClientHello.
        const std::string request = "GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ";
        const std::string hello = "\x16\x03\x01\x20\x00\x01\x00\x1f\xfc\x03\x03"s;
        for (const slow& each :
             {slow{"ws://127.0.0.1:*/", request, 'x'}, slow{"wss://127.0.0.1:*/", hello, '\0'},
              slow{"tls://127.0.0.1:*", hello, '\0'}}) {
            CAPTURE(each.endpoint);
            served both{0, each.endpoint, milliseconds{1000}};
            raw_peer slow_loris{both.owner, both.tcp};
            std::size_t sent = 0;
            while (slow_loris.is_connected()) {
                REQUIRE(sent < 8000); // The request would be too long there.
                slow_loris.send(
                    std::string(1, sent < each.begin.size() ? each.begin[sent] : each.rest));
                ++sent;
                both.exchange();
                both.owner.let_io_happen();
            }
            both.failures.next();
            CHECK(both.server.recv_error() == EAGAIN); // No arrival, so no departure.
            both.exchange();
        }
    }

    TEST_CASE("stream: a peer that sends neither TLS nor an upgrade is ended") {
        const std::string data[] = {
            "GET / HTTP/1.0\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\n\r\n",
            "\0\0\0\0\0\0\0\0\r\n\r\n"s,
            "\r\n\r\n\r\n\r\n",
            framed("hello") + "\r\n\r\n",
            "\x16\x03\x01\xff\xff\r\n\r\n"s,                // A record that is too long.
            "\x15\x03\x01\x00\x02\x02\x28\r\n\r\n"s,        // An alert.
            "\x16\x03\x01\x00\x04\x01\x00\x00\x00\r\n\r\n"s // An empty ClientHello.
        };
        for (const char* const endpoint :
             {"tls://127.0.0.1:*", "ws://127.0.0.1:*/", "wss://127.0.0.1:*/"}) {
            CAPTURE(endpoint);
            served both{0, endpoint};
            for (const std::string& each : data) {
                CAPTURE(each);
                raw_peer stranger{both.owner, both.tcp};
                stranger.send(each);
                both.exchange();
                both.failures.next();
                CHECK(both.server.recv_error() == EAGAIN);
            }
            both.exchange();
        }
    }

    TEST_CASE("stream: a peer that never reads holds no more than its high-water mark, and others "
              "go on") {
        constexpr std::size_t bytes = 65'536;
        for (const std::string endpoint : endpoints) {
            CAPTURE(endpoint);
            served both{1, endpoint};
            socket lazy{both.owner, ZLINK_STREAM};
            lazy.set(ZLINK_RCVHWM, 1).set(ZLINK_TLS_CA, both.ours.path());
            lazy.connect(both.bound);
            const std::string lazy_id = recv_arrival(both.server);
            const std::string payload = long_text(bytes);
            both.server.set(ZLINK_SNDTIMEO, milliseconds{100});

            int count = 0;
            while (both.server.send(message{lazy_id, payload}) == ok) {
                REQUIRE(++count < 10'000);
            }

            zlink_peer_t peers[2];
            REQUIRE(zlink_socket_peers(both.server, peers, 2) == 2);
            const auto waits_most = [](const zlink_peer_t& one, const zlink_peer_t& other) {
                return one.bytes < other.bytes;
            };
            const zlink_peer_t& held =
                *std::max_element(std::begin(peers), std::end(peers), waits_most);
            CHECK(held.bytes > 0);
            // Plus the batch being written, which is at most as much again.
            CHECK(held.bytes <= 2 * served::send_hwm * (bytes + 16));
            for (int round = 0; round < 100; ++round) {
                both.exchange();
            }
            recv_arrival(lazy);
            for (int received = 0; received < count; ++received) {
                REQUIRE(lazy.recv().frames[1] == payload);
            }
        }
    }

    TEST_CASE("stream: a claimed size takes no memory before the bytes have come") {
        for (const std::string endpoint : {"tcp://127.0.0.1:*", "ws://127.0.0.1:*/"}) {
            CAPTURE(endpoint);
            served both{0, endpoint};
            const bool is_web = endpoint.starts_with("ws");
            std::vector<std::unique_ptr<raw_peer>> liars;
            // Together they claim more memory than any machine has.
            for (int number = 0; number < 200; ++number) {
                liars.push_back(std::make_unique<raw_peer>(both.owner, both.tcp));
                if (is_web) {
                    liars.back()->send(zlink::testing::upgrade_request());
                    liars.back()->send("\x82\xff\0\0\x0f\xff\xff\xff\xff\xff\1\2\3\4"s);
                } else {
                    liars.back()->send("\xff\xff\xff\xff"s);
                }
                liars.back()->send("a few bytes");
                const news told = recv_news(both.server);
                CHECK(told.is_connect);
            }
            both.exchange();
            for (const auto& each : liars) {
                CHECK(each->is_connected());
                each->close();
                CHECK(recv_news(both.server).text.starts_with("1006 "));
            }
            both.exchange();
        }
    }

} // TEST_SUITE
