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
        for (int index = 0; index < 10; ++index) {
            REQUIRE(first.send("again") == ok);
            CHECK(bound.recv() == message{"again"});
            REQUIRE(bound.send("back") == ok);
            CHECK(first.recv() == message{"back"});
        }
        second.set(ZLINK_RCVTIMEO, moment);
        CHECK(second.recv_error(0) == EAGAIN);
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

            // Gone, once nothing can be sent to it any more.
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
