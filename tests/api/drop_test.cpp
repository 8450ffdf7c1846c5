// SPDX-License-Identifier: MPL-2.0
//
// Messages that patterns drop, and messages that wait for a peer: both are reported.
#include "fixture.hpp"
#include "zmtp_peer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <malloc.h>

using namespace api_test;

namespace {

std::uint64_t dropped(const api_test::socket& asked) {
    std::uint64_t count = 0;
    std::size_t bytes = sizeof count;
    REQUIRE(zlink_getsockopt(asked, ZLINK_DROPPED, &count, &bytes) == 0);
    return count;
}

std::vector<zlink_peer_t> peers(const api_test::socket& asked) {
    std::vector<zlink_peer_t> found(16);
    const int count = zlink_socket_peers(asked, found.data(), found.size());
    REQUIRE(count >= 0);
    found.resize(static_cast<std::size_t>(count));
    return found;
}

std::string routing_id(const zlink_peer_t& of) {
    return {reinterpret_cast<const char*>(of.routing_id), of.routing_id_size};
}

std::size_t allocated() {
    const struct mallinfo2 now = ::mallinfo2();
    return now.uordblks + now.hblkhd;
}

} // namespace

TEST_CASE("drops: a subscriber that does not read costs what its high-water mark says, and what it "
          "misses is counted") {
    constexpr int mark = 10;
    constexpr std::size_t message_bytes = 100000;
    constexpr int batch_max = 3; // The number of these that one write takes (256 KiB).
    constexpr int sent_count = 2000;
    const context owner;
    api_test::socket publisher{owner, ZLINK_XPUB};
    publisher.set(ZLINK_SNDHWM, mark).set(ZLINK_SNDBUF, 4096);
    zmtp_peer subscriber{publisher.bind(transport::tcp)};
    subscriber.shake_hands("SUB");
    REQUIRE(subscriber.send_frame(0, "\1"));
    REQUIRE(publisher.recv_frame() == "\1");

    const std::string body(message_bytes, 'x');
    const std::size_t before = allocated();
    for (int count = 0; count < sent_count; ++count) {
        REQUIRE(publisher.send(body) == ok);
    }
    CHECK(allocated() - before < 3 * mark * message_bytes);

    const auto found = peers(publisher);
    REQUIRE(found.size() == 1);
    CHECK(found[0].messages <= mark + batch_max);
    CHECK(found[0].messages > 0);
    CHECK(found[0].bytes <= (mark + batch_max) * (message_bytes + 9));
    CHECK(found[0].dropped > sent_count / 2);
    CHECK(found[0].dropped + found[0].messages <= sent_count);
    CHECK(dropped(publisher) == found[0].dropped);
}

TEST_CASE("drops: what waited for a subscriber that went is counted, and what it missed before "
          "stays so") {
    const context owner;
    api_test::socket publisher{owner, ZLINK_XPUB};
    publisher.set(ZLINK_SNDHWM, 5);
    publisher.bind("inproc://news");
    {
        api_test::socket subscriber{owner, ZLINK_SUB};
        subscriber.set(ZLINK_RCVHWM, 5).set(ZLINK_SUBSCRIBE, std::string_view{});
        subscriber.connect("inproc://news");
        REQUIRE(publisher.recv_frame() == std::string{"\1"});
        for (int count = 0; count < 25; ++count) {
            REQUIRE(publisher.send("x") == ok);
        }
        CHECK(dropped(publisher) == 15);
        REQUIRE(peers(publisher).size() == 1);
        CHECK(peers(publisher)[0].messages == 10);
        CHECK(peers(publisher)[0].dropped == 15);
    }
    CHECK(peers(publisher).empty());
    CHECK(dropped(publisher) == 25);
}

TEST_CASE("drops: a ROUTER counts messages for absent peers and for peers without room") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        api_test::socket router{owner, ZLINK_ROUTER};
        router.set(ZLINK_SNDHWM, 2);
        router.bind("inproc://router");
        REQUIRE(router.send(message{"nobody", "x"}) == ok);
        CHECK(dropped(router) == 1);
        REQUIRE(router.send(message{"no content"}) == ok);
        CHECK(dropped(router) == 2);

        api_test::socket dealer{owner, ZLINK_DEALER};
        dealer.set(ZLINK_ROUTING_ID, "dealer").set(ZLINK_RCVHWM, 1).connect("inproc://router");
        REQUIRE(dealer.send("here") == ok);
        REQUIRE(router.recv() == message{"dealer", "here"});
        for (int count = 0; count < 10; ++count) {
            REQUIRE(router.send(message{"dealer", "x"}) == ok);
        }
        CHECK(dropped(router) == 2 + 7);
        const auto found = peers(router);
        REQUIRE(found.size() == 1);
        CHECK(routing_id(found[0]) == "dealer");
        CHECK(found[0].messages == 3);
        CHECK(found[0].dropped == 7);

        router.set(ZLINK_ROUTER_MANDATORY, 1);
        CHECK(router.send(message{"nobody", "x"}) == EHOSTUNREACH);
        CHECK(dropped(router) == 2 + 7);
    }
}

TEST_CASE("drops: what ZLINK_CONFLATE replaces is counted by the side that replaces it") {
    const context owner;
    api_test::socket pull{owner, ZLINK_PULL};
    pull.set(ZLINK_CONFLATE, 1);
    const std::string endpoint = pull.bind(transport::tcp);
    api_test::socket push{owner, ZLINK_PUSH};
    push.connect(endpoint);
    for (int count = 0; count < 100; ++count) {
        REQUIRE(push.send("x") == ok);
    }
    wait_until(owner, [&] { return dropped(pull) == 99; });
    CHECK(pull.recv_frame() == "x");
    CHECK(dropped(pull) == 99);
    CHECK(dropped(push) == 0);
}

TEST_CASE("drops: what a peer of a PUSH had not taken when it went is counted") {
    const context owner;
    api_test::socket push{owner, ZLINK_PUSH};
    push.set(ZLINK_SNDHWM, 0).set(ZLINK_SNDBUF, 4096);
    const std::string endpoint = push.bind(transport::tcp);
    constexpr std::size_t count = 100;
    constexpr std::size_t body_bytes = 100000;
    {
        zmtp_peer puller{endpoint};
        puller.shake_hands("PULL");
        for (std::size_t sent = 0; sent < count; ++sent) {
            REQUIRE(push.send(std::string(body_bytes, 'x')) == ok);
        }
        puller.recv(3 * (9 + body_bytes));
    }
    wait_until(owner, [&] { return peers(push).empty(); });
    CHECK(dropped(push) <= count - 3);
    CHECK(dropped(push) >= count / 10);
}

TEST_CASE("peers: where they are, over each transport") {
    for (const setting& chosen : every_setting()) {
        CAPTURE(chosen);
        const context owner{chosen};
        api_test::socket bound{owner, ZLINK_DEALER};
        const std::string endpoint = bound.bind(chosen.via);
        CHECK(peers(bound).empty());
        api_test::socket connected{owner, ZLINK_DEALER};
        connected.set(ZLINK_ROUTING_ID, "name").connect(endpoint);
        REQUIRE(connected.send("x") == ok);
        REQUIRE(bound.recv_frame() == "x");

        // A message may arrive before the writer has recorded that it was sent.
        wait_until(owner, [&] { return peers(connected).at(0).messages == 0; });
        const auto ours = peers(connected);
        REQUIRE(ours.size() == 1);
        CHECK(ours[0].endpoint == endpoint);
        CHECK(ours[0].dropped == 0);
        const auto theirs = peers(bound);
        REQUIRE(theirs.size() == 1);
        CHECK(routing_id(theirs[0]) == "name");
        const std::string where = theirs[0].endpoint;
        switch (chosen.via) {
        case transport::inproc:
            CHECK(where.empty());
            break;
        case transport::tcp:
            CHECK(where.starts_with("tcp://127.0.0.1:"));
            CHECK(where != endpoint);
            break;
        case transport::ipc:
            CHECK(where == endpoint);
            break;
        case transport::ws:
            CHECK(where.starts_with("ws://127.0.0.1:"));
            CHECK(where != endpoint);
            break;
        }
    }
}

TEST_CASE("peers: who they are, also to sockets that do not receive") {
    for (const int type : {ZLINK_PUSH, ZLINK_DEALER}) {
        CAPTURE(type);
        const context owner;
        api_test::socket bound{owner, type};
        const std::string endpoint = bound.bind(transport::tcp);
        api_test::socket connected{owner, type == ZLINK_PUSH ? ZLINK_PULL : ZLINK_DEALER};
        connected.set(ZLINK_ROUTING_ID, "name").connect(endpoint);
        wait_until(owner, [&] {
            const auto found = peers(bound);
            return found.size() == 1 && found[0].endpoint[0] != '\0';
        });
        CHECK(std::string_view{peers(bound)[0].endpoint}.starts_with("tcp://127.0.0.1:"));
        CHECK(routing_id(peers(bound)[0]) == (type == ZLINK_PUSH ? "" : "name"));
    }
}

TEST_CASE("peers: fills no more than there is room for, and refuses what it cannot use") {
    context owner;
    api_test::socket push{owner, ZLINK_PUSH};
    push.connect("tcp://127.0.0.1:9");
    push.connect("tcp://127.0.0.1:9");
    zlink_peer_t room[2]{};
    CHECK(zlink_socket_peers(push, room, 1) == 2);
    CHECK(std::strcmp(room[0].endpoint, "tcp://127.0.0.1:9") == 0);
    CHECK(room[1].endpoint[0] == '\0');
    CHECK(error_of(zlink_socket_peers(push, nullptr, 1)) == EINVAL);
    CHECK(error_of(zlink_socket_peers(owner, nullptr, 0)) == ENOTSOCK);
    std::uint32_t small = 0;
    std::size_t bytes = sizeof small;
    CHECK(error_of(zlink_getsockopt(push, ZLINK_DROPPED, &small, &bytes)) == EINVAL);
    owner.shut_down();
    CHECK(error_of(zlink_socket_peers(push, nullptr, 0)) == ETERM);
}
