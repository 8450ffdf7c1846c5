// SPDX-License-Identifier: MPL-2.0
//
// High-water marks that are set while pipes exist.
#include "fixture.hpp"

#include <utility>

using namespace api_test;

namespace {

/// A pair that has exchanged a message, so that each side knows the other.
struct joined_pair {
    joined_pair(const setting& over, int send_max, int recv_max, bool sender_connects = true)
        : owner(over) {
        push.set(ZLINK_SNDHWM, send_max).set(ZLINK_SNDBUF, 4096);
        pull.set(ZLINK_RCVHWM, recv_max).set(ZLINK_RCVBUF, 4096);
        if (sender_connects) {
            push.connect(pull.bind(over.via));
        } else {
            pull.connect(push.bind(over.via));
        }
        REQUIRE(push.send("first") == ok);
        REQUIRE(pull.recv() == message{"first"});
    }

    context owner;
    socket push{owner, ZLINK_PUSH};
    socket pull{owner, ZLINK_PULL};
};

const setting over_inproc{transport::inproc, 1};

} // namespace

TEST_CASE("high-water mark: what a sender without a peer allows later counts at once") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket push{owner, ZLINK_PUSH};
        push.set(ZLINK_SNDHWM, 100).connect(vacant(over.via));

        push.set(ZLINK_SNDHWM, 10);
        CHECK(fill(push, {"x"}, ZLINK_DONTWAIT, 5).count == 5);
        push.set(ZLINK_SNDHWM, 20);
        CHECK(fill(push, {"x"}, ZLINK_DONTWAIT, 10).count == 10);
        push.set(ZLINK_SNDHWM, 18);
        CHECK(fill(push).count == 3);
    }
}

TEST_CASE("high-water mark: 0, set later, lifts the limit") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket push{owner, ZLINK_PUSH};
        push.set(ZLINK_SNDHWM, 10).connect(vacant(over.via));

        push.set(ZLINK_SNDHWM, 0);

        CHECK(fill(push, {"x"}, ZLINK_DONTWAIT, 5000).count == 5000);
    }
}

TEST_CASE("high-water mark: as in libzmq, a peer found full stays full until something was taken") {
    joined_pair pair(over_inproc, 1, 1);
    CHECK(fill(pair.push).count == 2);

    pair.push.set(ZLINK_SNDHWM, 10);
    CHECK(fill(pair.push).count == 0);
    CHECK(pair.pull.recv() == message{"x"});
    CHECK(pair.pull.recv() == message{"x"});

    CHECK(fill(pair.push).count == 11);
}

TEST_CASE("high-water mark: over inproc what either side allows later counts in the sum") {
    for (const bool sender_connects : {true, false}) {
        CAPTURE(sender_connects);
        {
            joined_pair pair(over_inproc, 3, 1, sender_connects);
            pair.pull.set(ZLINK_RCVHWM, 5);
            CHECK(fill(pair.push).count == 3 + 5);
        }
        {
            joined_pair pair(over_inproc, 1, 3, sender_connects);
            pair.push.set(ZLINK_SNDHWM, 5);
            CHECK(fill(pair.push).count == 5 + 3);
        }
        {
            joined_pair pair(over_inproc, 100, 100, sender_connects);
            pair.pull.set(ZLINK_RCVHWM, 5);
            pair.push.set(ZLINK_SNDHWM, 7);
            CHECK(fill(pair.push).count == 7 + 5);
        }
        {
            joined_pair pair(over_inproc, 100, 100, sender_connects);
            pair.pull.set(ZLINK_RCVHWM, 0);
            CHECK(fill(pair.push, {"x"}, ZLINK_DONTWAIT, 5000).count == 5000);
        }
    }
}

TEST_CASE("high-water mark: over inproc a lower mark counts for a peer that has sent before") {
    joined_pair pair(over_inproc, 100, 100);
    CHECK(fill(pair.push, {"x"}, ZLINK_DONTWAIT, 50).count == 50);

    pair.pull.set(ZLINK_RCVHWM, 5);

    CHECK(fill(pair.push).count == 100 + 5 - 50);
}

TEST_CASE("high-water mark: what a receiver sets before its name is bound counts") {
    const context owner;
    const std::string endpoint = vacant(transport::inproc);
    socket push{owner, ZLINK_PUSH};
    socket pull{owner, ZLINK_PULL};
    pull.set(ZLINK_RCVHWM, 100).connect(endpoint);
    pull.set(ZLINK_RCVHWM, 5);

    push.set(ZLINK_SNDHWM, 3).bind(endpoint);

    CHECK(fill(push).count == 3 + 5);
}

TEST_CASE("high-water mark: a receiver of the network that allows less later takes less") {
    for (const setting& over : network_settings()) {
        CAPTURE(over);
        const std::string body(10000, 'x');
        int taken[2];
        for (const bool is_lowered : {false, true}) {
            joined_pair pair(over, 10, 1000);
            if (is_lowered) {
                pair.pull.set(ZLINK_RCVHWM, 5);
            }
            pair.push.set(ZLINK_SNDTIMEO, is_lowered ? milliseconds{100} : patience);
            taken[is_lowered] = fill(pair.push, {body}, 0, 1000).count;
        }
        CHECK(taken[false] == 1000);
        CHECK(taken[true] < 300);
    }
}

TEST_CASE("high-water mark: a receiver of the network that allows more later takes more") {
    for (const setting& over : network_settings()) {
        CAPTURE(over);
        const std::string body(10000, 'x');
        joined_pair pair(over, 10, 5);
        pair.pull.set(ZLINK_RCVHWM, 1000);
        pair.push.set(ZLINK_SNDTIMEO, patience);

        CHECK(fill(pair.push, {body}, 0, 1000).count == 1000);
        for (int count = 0; count < 1000; ++count) {
            REQUIRE(pair.pull.recv() == message{body});
        }
    }
}

TEST_CASE("high-water mark: a publisher that allows less later drops sooner") {
    const context owner;
    socket publisher{owner, ZLINK_PUB};
    socket subscriber{owner, ZLINK_SUB};
    subscriber.set(ZLINK_RCVHWM, 1).set(ZLINK_SUBSCRIBE, std::string_view{});
    subscriber.connect(publisher.bind(transport::inproc));
    await_subscription(publisher, subscriber, "ready");
    while (zlink_recv(subscriber, nullptr, 0, ZLINK_DONTWAIT) >= 0) {
    }

    publisher.set(ZLINK_SNDHWM, 4);
    for (int count = 0; count < 100; ++count) {
        REQUIRE(publisher.send("x") == ok);
    }

    int received = 0;
    while (zlink_recv(subscriber, nullptr, 0, ZLINK_DONTWAIT) >= 0) {
        ++received;
    }
    CHECK(received == 4 + 1);
}
