// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"
#include "other_process.hpp"
#include "trial.hpp"
#include "web_peer.hpp"
#include "zmtp_peer.hpp"

#include <cstddef>
#include <doctest/doctest.h>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <vector>

// Peers that connect, and then all go at once. The memory that the process has taken for them
// returns to the system within seconds, although the allocator would keep it.

using namespace api_test;
using namespace robustness;

namespace {

/// What may stay, besides a quarter of what the process had: the allocator's pages are partly used,
/// and containers keep their capacity.
constexpr std::ptrdiff_t remaining_bytes_max = std::ptrdiff_t{1024} * 1024;

/// What a socket keeps of a full queue until its next call: its object for the peer, and the pages
/// in which its newest segment begins and ends.
constexpr std::ptrdiff_t kept_bytes = std::ptrdiff_t{16} * 1024;

constexpr std::string_view upgrade_request =
    "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

using introduction = std::function<void(zmtp_peer&)>;

/// The part of the peers: connects `count` of them, each of which introduces itself, and resets all
/// when it is told to.
void play(const line& to_test, int count, const introduction& introduce) {
    const std::string endpoint = tcp_of(to_test.hear());
    std::list<zmtp_peer> peers;
    for (; count > 0; --count) {
        introduce(peers.emplace_back(endpoint));
    }
    to_test.say("connected");
    to_test.hear();
    for (zmtp_peer& each : peers) {
        each.reset();
    }
    to_test.say("gone");
    to_test.hear();
}

/// The memory of the process from before its peers came until after they went.
class watched_memory {
public:
    void note_full() { full_ = memory_bytes(); }

    /// @param between         Called between two looks: the application's share.
    /// @param kept_bytes_max  What the socket keeps until its next call.
    void await_return(const context& owner, const std::function<void()>& between,
                      std::ptrdiff_t kept_bytes_max = 0) {
        const std::ptrdiff_t bytes_max =
            before_ + before_ / 4 + remaining_bytes_max + kept_bytes_max;
        if (!is_sanitized) {
            wait_until(owner, [&] {
                between();
                return memory_bytes() <= bytes_max;
            });
        }
        figures() << before_ / 1024 << " KiB before, " << full_ / 1024 << " KiB with them, "
                  << memory_bytes() / 1024 << " KiB after";
        CHECK((is_sanitized || full_ > bytes_max));
    }

private:
    std::ptrdiff_t before_ = memory_bytes();
    std::ptrdiff_t full_ = 0;
};

/// Peers that each send one message to a socket of `type`, and go.
void check_senders(int type, const std::string& endpoint, const introduction& introduce) {
    const int peer_count = chosen(9000, 2000, 100);
    const other_process peers{[&](const line& to_test) { play(to_test, peer_count, introduce); }};
    const context owner;
    socket server{owner, type};
    server.set(ZLINK_BACKLOG, 1000);
    if (type == ZLINK_STREAM) {
        server.set(ZLINK_STREAM_EVENTS, 0);
    }
    const std::string bound = server.bind(endpoint);
    watched_memory memory;
    peers.say(bound);
    for (int count = 0; count < peer_count; ++count) {
        CHECK(server.recv().frames.back() == "hello");
    }
    CHECK(peers.hear() == "connected");
    memory.note_full();
    peers.say("go");
    CHECK(peers.hear() == "gone");
    memory.await_return(owner, [&] { CHECK(server.recv_error() == EAGAIN); });
}

void introduce_as(zmtp_peer& peer, std::string_view type) {
    peer.shake_hands(type);
    REQUIRE(peer.send_frame(0, "hello"));
}

} // namespace

TEST_SUITE("departures") {

    TEST_CASE("the memory of many peers of a ROUTER returns to the system when they go") {
        check_senders(ZLINK_ROUTER, "tcp://127.0.0.1:*",
                      [](zmtp_peer& peer) { introduce_as(peer, "DEALER"); });
    }

    TEST_CASE("the memory of many peers of a PULL returns to the system when they go") {
        check_senders(ZLINK_PULL, "tcp://127.0.0.1:*",
                      [](zmtp_peer& peer) { introduce_as(peer, "PUSH"); });
    }

    TEST_CASE("the memory of many tcp peers of a STREAM returns to the system when they go") {
        check_senders(ZLINK_STREAM, "tcp://127.0.0.1:*", [](zmtp_peer& peer) {
            REQUIRE(peer.send(data({0, 0, 0, 5}) + "hello"));
        });
    }

    TEST_CASE("the memory of many ws peers of a STREAM returns to the system when they go") {
        check_senders(ZLINK_STREAM, "ws://127.0.0.1:*/", [](zmtp_peer& peer) {
            REQUIRE(
                peer.send(std::string{upgrade_request} + data({0x82, 0x85, 0, 0, 0, 0}) + "hello"));
        });
    }

    TEST_CASE(
        "the queues of subscribers that do not read are freed when they go, if nothing is sent") {
        const int peer_count = chosen(300, 100, 20);
        const other_process peers{[&](const line& to_test) {
            play(to_test, peer_count, [](zmtp_peer& peer) {
                peer.shake_hands("SUB");
                REQUIRE(peer.send_frame(4, data({9}) + "SUBSCRIBE"));
            });
        }};
        const context owner;
        socket publisher{owner, ZLINK_XPUB};
        publisher.set(ZLINK_XPUB_VERBOSE, 1);
        const std::string bound = publisher.bind(transport::tcp);
        watched_memory memory;
        peers.say(bound);
        for (int count = 0; count < peer_count; ++count) {
            CHECK(publisher.recv().frames[0] == data({1}));
        }
        CHECK(peers.hear() == "connected");
        const std::string body(1000, 'x');
        for (int count = 0; count < 6000; ++count) {
            REQUIRE(publisher.send(body) == ok);
        }
        memory.note_full();
        peers.say("go");
        CHECK(peers.hear() == "gone");
        memory.await_return(
            owner, [] {}, peer_count * kept_bytes);
    }

    TEST_CASE("the memory of event streams that nobody reads returns to the system when they go") {
        const int client_count = chosen(300, 100, 20);
        const other_process clients{[&](const line& to_test) {
            play(to_test, client_count, [](zmtp_peer& client) {
                REQUIRE(client.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"));
            });
        }};
        const context owner;
        socket server{owner, ZLINK_STREAM};
        REQUIRE(zlink_http_route(server, "/events", ZLINK_HTTP_REQUESTS) == 0);
        const std::string bound = server.bind("http://127.0.0.1:*");
        watched_memory memory;
        clients.say(bound);
        std::vector<std::string> ids;
        for (int count = 0; count < client_count; ++count) {
            const message asked = server.recv();
            REQUIRE(asked.frames.size() == 2);
            ids.push_back(asked.frames[0]);
            REQUIRE(zlink_http_reply(server, ids.back().data(), 200,
                                     "Content-Type: text/event-stream", nullptr, 0,
                                     ZLINK_SNDMORE) == 0);
        }
        CHECK(clients.hear() == "connected");
        const std::string body = "data: " + std::string(1000, 'x') + "\n\n";
        for (const std::string& each : ids) {
            while (zlink_http_reply_part(server, each.data(), body.data(), body.size(),
                                         ZLINK_SNDMORE | ZLINK_DONTWAIT) == 0) {
            }
            CHECK(zlink_errno() == EAGAIN);
        }
        memory.note_full();
        clients.say("go");
        CHECK(clients.hear() == "gone");
        memory.await_return(owner, [&] {
            char frame[64];
            zlink_recv(server, frame, sizeof frame, ZLINK_DONTWAIT);
        });
    }
}
