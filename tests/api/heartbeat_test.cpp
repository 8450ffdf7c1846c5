// SPDX-License-Identifier: MPL-2.0
//
// Heartbeats, as seen by a peer that is written without a library.
#include "watcher.hpp"
#include "zmtp_peer.hpp"

using namespace api_test;

namespace {

constexpr int command = 4;

std::string ping_of(int ttl_deciseconds, const std::string& context) {
    return data({4}) + "PING" + data({ttl_deciseconds >> 8, ttl_deciseconds & 0xff}) + context;
}

std::string pong_of(const std::string& context) {
    return data({4}) + "PONG" + context;
}

} // namespace

TEST_CASE("heartbeat: pings come with the TTL, for as long as they are answered") {
    const context owner;
    socket pull{owner, ZLINK_PULL};
    pull.set(ZLINK_HEARTBEAT_IVL, 5).set(ZLINK_HEARTBEAT_TTL, 30000);
    pull.set(ZLINK_HEARTBEAT_TIMEOUT, patience);
    zmtp_peer peer{pull.bind(transport::tcp)};
    peer.shake_hands("PUSH");

    for (int count = 0; count < 5; ++count) {
        const zmtp_peer::frame got = peer.recv_frame();
        CHECK(got.flags == command);
        CHECK(got.body == ping_of(300, ""));
        REQUIRE(peer.send_frame(command, pong_of("")));
    }
    REQUIRE(peer.send_frame(0, "still here"));
    CHECK(pull.recv() == message{"still here"});
}

TEST_CASE("heartbeat: without an interval none comes") {
    const context owner;
    socket push{owner, ZLINK_PUSH};
    push.set(ZLINK_HEARTBEAT_TTL, 30000).set(ZLINK_HEARTBEAT_TIMEOUT, 5);
    zmtp_peer peer{push.bind(transport::tcp)};
    peer.shake_hands("PULL");

    // Another socket of the same thread sends some.
    socket other{owner, ZLINK_PUSH};
    other.set(ZLINK_HEARTBEAT_IVL, 5).set(ZLINK_HEARTBEAT_TIMEOUT, patience);
    zmtp_peer of_other{other.bind(transport::tcp)};
    of_other.shake_hands("PULL");
    for (int count = 0; count < 5; ++count) {
        CHECK(of_other.recv_frame().flags == command);
        REQUIRE(of_other.send_frame(command, pong_of("")));
    }
    REQUIRE(push.send("first") == ok);
    CHECK(peer.recv_frame().body == "first");
}

TEST_CASE("heartbeat: a peer that does not answer for longer than the timeout is disconnected") {
    for (const int timeout : {20, -1}) {
        CAPTURE(timeout);
        const context owner;
        socket pull{owner, ZLINK_PULL};
        pull.set(ZLINK_HEARTBEAT_IVL, 20);
        if (timeout >= 0) {
            pull.set(ZLINK_HEARTBEAT_TIMEOUT, timeout);
        }
        watcher watched{owner, pull, ZLINK_EVENT_DISCONNECTED};
        zmtp_peer peer{pull.bind(transport::tcp)};
        peer.shake_hands("PUSH");
        CHECK(peer.recv_frame().body == ping_of(0, ""));

        peer.await_end();

        watched.await(ZLINK_EVENT_DISCONNECTED);
    }
}

TEST_CASE("heartbeat: a ping is answered with its context") {
    for (const std::string& context_of_ping : {std::string{}, std::string{"0123456789abcdef"}}) {
        const context owner;
        socket pull{owner, ZLINK_PULL};
        zmtp_peer peer{pull.bind(transport::tcp)};
        peer.shake_hands("PUSH");

        REQUIRE(peer.send_frame(command, ping_of(0, context_of_ping)));

        const zmtp_peer::frame got = peer.recv_frame();
        CHECK(got.flags == command);
        CHECK(got.body == pong_of(context_of_ping));
    }
}

TEST_CASE("heartbeat: a peer that announced a TTL and falls silent is disconnected") {
    const context owner;
    socket pull{owner, ZLINK_PULL};
    watcher watched{owner, pull, ZLINK_EVENT_DISCONNECTED};
    zmtp_peer peer{pull.bind(transport::tcp)};
    peer.shake_hands("PUSH");

    REQUIRE(peer.send_frame(command, ping_of(1, "")));

    CHECK(peer.recv_frame().body == pong_of(""));
    peer.await_end();
    watched.await(ZLINK_EVENT_DISCONNECTED);
}
