// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"

using namespace api_test;

TEST_CASE("pair: both sides send and receive") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket bound{owner, ZLINK_PAIR};
        socket connected{owner, ZLINK_PAIR};
        connected.connect(bound.bind(over.via));

        REQUIRE(connected.send("question") == ok);
        CHECK(bound.recv() == message{"question"});
        REQUIRE(bound.send(message{"an", "", "answer"}) == ok);
        CHECK(connected.recv() == message{"an", "", "answer"});
    }
}

TEST_CASE("pair: waits for a peer before it sends") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket bound{owner, ZLINK_PAIR};
        bound.bind(over.via);

        CHECK(bound.send("x", ZLINK_DONTWAIT) == EAGAIN);
        bound.set(ZLINK_SNDTIMEO, moment);
        CHECK(bound.send("x") == EAGAIN);
        CHECK(bound.events() == 0);
    }
}

TEST_CASE("pair: a second peer reaches nobody and disturbs nobody") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket bound{owner, ZLINK_PAIR};
        socket first{owner, ZLINK_PAIR};
        socket second{owner, ZLINK_PAIR};
        const std::string endpoint = bound.bind(over.via);
        first.connect(endpoint);
        REQUIRE(first.send("first") == ok);
        CHECK(bound.recv() == message{"first"});

        second.connect(endpoint);
        second.send("second", ZLINK_DONTWAIT);
        wait_until(owner, [&] { return zlink_socket_peers(bound, nullptr, 0) == 2; });
        for (int index = 0; index < 10; ++index) {
            REQUIRE(first.send("again") == ok);
            CHECK(bound.recv() == message{"again"});
            REQUIRE(bound.send("back") == ok);
            CHECK(first.recv() == message{"back"});
        }
        CHECK(second.recv_error() == EAGAIN);
        CHECK(bound.recv_error() == EAGAIN);
    }
}

TEST_CASE("pair: takes a new peer after the one before has gone") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket bound{owner, ZLINK_PAIR};
        const std::string endpoint = bound.bind(over.via);
        for (const std::string name : {"first", "second", "third"}) {
            socket connected{owner, ZLINK_PAIR};
            connected.connect(endpoint);
            REQUIRE(connected.send(name) == ok);
            CHECK(bound.recv() == message{name});
            REQUIRE(bound.send(name) == ok);
            CHECK(connected.recv() == message{name});

            // It is gone once sending to it fails.
            connected.close();
            wait_until(owner, [&] { return bound.send("x", ZLINK_DONTWAIT) == EAGAIN; });
        }
    }
}

TEST_CASE("pair: sends nothing to a peer that has gone, though what it sent was not read") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket bound{owner, ZLINK_PAIR};
        socket connected{owner, ZLINK_PAIR};
        connected.set(ZLINK_LINGER, -1).connect(bound.bind(over.via));
        REQUIRE(connected.send("last") == ok);
        REQUIRE(bound.poll(ZLINK_POLLIN) == ZLINK_POLLIN);
        connected.close();

        wait_until(owner, [&] { return bound.poll(ZLINK_POLLOUT, 0ms) == 0; });
        CHECK(bound.send("x", ZLINK_DONTWAIT) == EAGAIN);
        CHECK(bound.recv() == message{"last"});
    }
}

TEST_CASE("pair: the next peer is there when the one before went unnoticed") {
    for (const setting& over : every_setting()) {
        for (const bool has_unread : {false, true}) {
            CAPTURE(over);
            CAPTURE(has_unread);
            const context owner{over};
            socket bound{owner, ZLINK_PAIR};
            const std::string endpoint = bound.bind(over.via);
            socket first{owner, ZLINK_PAIR};
            first.set(ZLINK_LINGER, -1).connect(endpoint);
            REQUIRE(first.send("one") == ok);
            CHECK(bound.recv() == message{"one"});
            if (has_unread) {
                REQUIRE(first.send("rest") == ok);
                REQUIRE(bound.poll(ZLINK_POLLIN) == ZLINK_POLLIN);
            }
            first.close();
            socket second{owner, ZLINK_PAIR};
            second.set(ZLINK_LINGER, -1).connect(endpoint);
            REQUIRE(second.send(message{"two", "frames"}) == ok);

            if (has_unread) {
                CHECK(bound.recv() == message{"rest"});
            }
            CHECK(bound.recv() == message{"two", "frames"});
            REQUIRE(bound.send("back") == ok);
            CHECK(second.recv() == message{"back"});
        }
    }
}

TEST_CASE("pair: those that came too early have their turn one after the other") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket bound{owner, ZLINK_PAIR};
        const std::string endpoint = bound.bind(over.via);
        std::vector<socket> peers;
        for (const std::string name : {"first", "second", "third"}) {
            peers.emplace_back(owner, ZLINK_PAIR);
            peers.back().set(ZLINK_LINGER, -1).connect(endpoint);
            REQUIRE(peers.back().send(name) == ok);
            wait_until(owner, [&] {
                return zlink_socket_peers(bound, nullptr, 0) == static_cast<int>(peers.size());
            });
        }
        for (socket& each : peers) {
            const message received = bound.recv();
            CHECK(bound.recv_error() == EAGAIN);
            REQUIRE(bound.send(received) == ok);
            CHECK(each.recv() == received);
            each.close();
        }
    }
}

TEST_CASE("pair: holds no more peers than its limit, and has room for others later") {
    const context owner;
    socket bound{owner, ZLINK_PAIR};
    const std::string endpoint = bound.bind(transport::tcp);
    std::vector<socket> peers;
    for (int index = 0; index < 100; ++index) {
        peers.emplace_back(owner, ZLINK_PAIR);
        peers.back().set(ZLINK_RECONNECT_IVL, 1).connect(endpoint);
    }
    wait_until(owner, [&] { return zlink_socket_peers(bound, nullptr, 0) == 64; });
    peers.clear();
    socket last{owner, ZLINK_PAIR};
    last.set(ZLINK_RECONNECT_IVL, 1).connect(endpoint);
    REQUIRE(last.send("last") == ok);
    CHECK(bound.recv() == message{"last"});
}
