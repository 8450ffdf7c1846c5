// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"

// The limit on messages from an XPUB's peers that it keeps while its application does not receive.

using namespace api_test;

namespace {

constexpr std::size_t body_bytes = std::size_t{64} * 1024;
/// 64 MiB of bodies.
constexpr int kept_count = 1024;
constexpr int in_pipe_count = 10;

std::string numbered(int number) {
    std::string made(body_bytes, 'x');
    return made.replace(0, 8, "No. " + std::to_string(1000 + number));
}

/// A publisher that never receives, and a peer that has sent more than the limit.
struct flooded {
    flooded() : publisher(owner, ZLINK_XPUB), peer(owner, ZLINK_XSUB) {
        publisher.set(ZLINK_RCVHWM, in_pipe_count / 2);
        peer.set(ZLINK_SNDHWM, in_pipe_count / 2);
        endpoint = publisher.bind(transport::inproc);
        peer.connect(endpoint);
        for (int number = 0; number < kept_count + 100; ++number) {
            REQUIRE(peer.send(numbered(number)) == ok);
            REQUIRE(publisher.events() == (ZLINK_POLLIN | ZLINK_POLLOUT));
        }
    }

    /// Receives the next `count` messages of the peer.
    void recv(int count) {
        for (int each = 0; each < count; ++each) {
            const std::string received = publisher.recv_frame();
            REQUIRE(received.substr(0, 8) == numbered(received_count++).substr(0, 8));
        }
    }

    const context owner;
    socket publisher;
    socket peer;
    std::string endpoint;
    int received_count = 0;
};

} // namespace

TEST_CASE(
    "xpub: leaves a peer unread that sends more than is kept, and reads on when half is gone") {
    flooded it;

    it.recv(kept_count / 2 + 1);
    it.publisher.events();
    REQUIRE(it.peer.send("there is room in the pipe again") == ok);
    it.recv(kept_count / 2 - 1 + in_pipe_count);

    CHECK(it.publisher.recv() == message{"there is room in the pipe again"});
    CHECK(it.publisher.recv_error() == EAGAIN);
}

TEST_CASE("xpub: a subscription counts as soon as there is room to tell of it") {
    flooded it;
    socket subscriber{it.owner, ZLINK_SUB};
    subscriber.connect(it.endpoint);
    subscriber.set(ZLINK_SUBSCRIBE, "topic");

    REQUIRE(it.publisher.send("topic 1") == ok);
    it.recv(kept_count / 2 + 1);
    REQUIRE(it.publisher.send("topic 2") == ok);
    CHECK(subscriber.recv() == message{"topic 2"});

    it.recv(kept_count / 2 - 1);
    CHECK(it.publisher.recv() == message{"\x01topic"});
}

TEST_CASE("xpub: messages of a peer that is gone are read when there is room") {
    flooded it;
    socket subscriber{it.owner, ZLINK_SUB};
    subscriber.connect(it.endpoint);
    subscriber.set(ZLINK_SUBSCRIBE, "topic");
    it.publisher.events();
    it.peer.close();
    subscriber.close();

    it.recv(kept_count);
    CHECK(it.publisher.recv() == message{"\x01topic"});
    it.recv(in_pipe_count);
    CHECK(it.publisher.recv() == message{std::string("\0topic", 6)});
    CHECK(it.publisher.recv_error() == EAGAIN);
}

TEST_CASE("xpub: peers that send more than is kept are read in turn") {
    flooded it;
    socket other{it.owner, ZLINK_XSUB};
    other.set(ZLINK_SNDHWM, in_pipe_count / 2).connect(it.endpoint);
    REQUIRE(other.send("other") == ok);
    int first_count = 0;

    while (it.publisher.recv_frame() != "other") {
        ++first_count;
        REQUIRE(first_count < 3 * kept_count);
        REQUIRE(it.peer.send(numbered(0)) == ok);
    }

    CHECK(first_count < 2 * kept_count);
}
