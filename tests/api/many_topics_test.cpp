// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"
#include "zmtp_peer.hpp"

#include <set>
#include <string>

// Subscribers with more topics than a publisher adds or removes in one call.

using namespace api_test;

namespace {

constexpr int topic_count = 10'000;

std::string topic(int number) {
    return "topic " + std::to_string(number) + ".";
}

/// An XPUB, a subscriber to all topics, which the publisher knows, and another subscriber.
struct many_topics {
    explicit many_topics(const setting& over)
        : owner(over), publisher(owner, ZLINK_XPUB), leaving(owner, ZLINK_SUB),
          staying(owner, ZLINK_SUB) {
        publisher.set(ZLINK_RCVHWM, 0);
        leaving.set(ZLINK_SNDHWM, 0);
        endpoint = publisher.bind(over.via);
        leaving.connect(endpoint);
        for (int number = 0; number < topic_count; ++number) {
            leaving.set(ZLINK_SUBSCRIBE, topic(number));
        }
        for (int number = 0; number < topic_count; ++number) {
            REQUIRE(publisher.recv() == message{"\x01" + topic(number)});
        }
        staying.set(ZLINK_SUBSCRIBE, topic(0)).connect(endpoint);
        staying.set(ZLINK_SUBSCRIBE, "only");
        REQUIRE(publisher.recv() == message{"\x01only"});
    }

    const context owner;
    socket publisher;
    socket leaving;
    socket staying;
    std::string endpoint;
};

} // namespace

TEST_CASE("xpub: tells of each topic of a subscriber that leaves, and sends to others meanwhile") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        many_topics it{over};
        it.leaving.close();

        std::set<std::string> cancelled;
        for (int number = 1; number < topic_count; ++number) {
            if (number % 100 == 0) {
                REQUIRE(it.publisher.send(topic(0) + std::to_string(number)) == ok);
                REQUIRE(it.staying.recv() == message{topic(0) + std::to_string(number)});
            }
            const std::string told = it.publisher.recv_frame();
            REQUIRE(told[0] == '\0');
            cancelled.insert(told.substr(1));
        }
        CHECK(cancelled.size() == topic_count - 1);
        CHECK(!cancelled.contains(topic(0))); // The other subscriber has it.
        CHECK(it.publisher.recv_error() == EAGAIN);
    }
}

TEST_CASE("xpub: subscribers that leave are peers no more, and each topic is told of once") {
    for (const setting& over : network_settings()) {
        CAPTURE(over);
        many_topics it{over};
        it.leaving.close();
        it.staying.close();
        std::set<std::string> cancelled;
        for (int number = 0; number < topic_count + 1; ++number) {
            const std::string told = it.publisher.recv_frame();
            REQUIRE(told[0] == '\0');
            cancelled.insert(told.substr(1));
        }
        CHECK(cancelled.size() == topic_count + 1);
        CHECK(it.publisher.recv_error() == EAGAIN);
        wait_until(it.owner, [&] { return zlink_socket_peers(it.publisher, nullptr, 0) == 0; });
    }
}

TEST_CASE("pub: a connection with many topics ends when it is unbound, before they are removed") {
    for (const int type : {ZLINK_PUB, ZLINK_XPUB}) {
        CAPTURE(type);
        const context owner;
        socket publisher{owner, type};
        publisher.set(ZLINK_RCVHWM, 0);
        const std::string endpoint = publisher.bind(transport::tcp);
        zmtp_peer peer{endpoint};
        peer.shake_hands("SUB");
        for (int number = 0; number < topic_count; ++number) {
            REQUIRE(peer.send_frame(0, "\x01" + topic(number)));
        }
        // When the last one is in effect, all are.
        wait_until(owner, [&] {
            publisher.send(topic(topic_count - 1));
            return peer.has_bytes();
        });
        REQUIRE(publisher.unbind(endpoint) == ok);
        peer.await_end();
        REQUIRE(publisher.send(topic(1)) == ok);
    }
}
