// SPDX-License-Identifier: MPL-2.0
//
// A message that makes the peer end the connection, and the messages behind it.
#include "watcher.hpp"
#include "zap_handler.hpp"

#include <array>
#include <cstdint>
#include <string>

using namespace api_test;

namespace {

/// More than the kernel buffers while the peer does not read.
constexpr std::size_t large_bytes = 20'000'000;

struct way {
    int sender;
    int receiver;
    enum class security { none, plain, curve } by;
};

const way every_way[] = {
    {ZLINK_PUSH, ZLINK_PULL, way::security::none},
    {ZLINK_PUSH, ZLINK_PULL, way::security::plain},
    {ZLINK_PUSH, ZLINK_PULL, way::security::curve},
    {ZLINK_DEALER, ZLINK_DEALER, way::security::none},
    {ZLINK_PAIR, ZLINK_PAIR, way::security::none},
};

struct key_pair {
    key_pair() {
        std::array<char, 41> text_of_open;
        std::array<char, 41> text_of_hidden;
        REQUIRE(zlink_curve_keypair(text_of_open.data(), text_of_hidden.data()) == 0);
        open = text_of_open.data();
        hidden = text_of_hidden.data();
    }
    std::string open;
    std::string hidden;
};

void secure(socket& sender, socket& receiver, way::security by) {
    if (by == way::security::plain) {
        receiver.set(ZLINK_PLAIN_SERVER, 1);
        sender.set(ZLINK_PLAIN_USERNAME, "joe").set(ZLINK_PLAIN_PASSWORD, "secret");
    } else if (by == way::security::curve) {
        const key_pair server;
        const key_pair client;
        receiver.set(ZLINK_CURVE_SERVER, 1).set(ZLINK_CURVE_SECRETKEY, server.hidden);
        sender.set(ZLINK_CURVE_SERVERKEY, server.open);
        sender.set(ZLINK_CURVE_PUBLICKEY, client.open).set(ZLINK_CURVE_SECRETKEY, client.hidden);
    }
}

void limit(socket& receiver) {
    const std::int64_t most = 1000;
    REQUIRE(zlink_setsockopt(receiver, ZLINK_MAXMSGSIZE, &most, sizeof most) == 0);
}

} // namespace

TEST_CASE(
    "a message above the peer's limit is sent twice, then dropped, and the next ones follow") {
    for (const setting& over : network_settings()) {
        for (const way& each : every_way) {
            CAPTURE(over);
            CAPTURE(each.sender);
            CAPTURE(static_cast<int>(each.by));
            const context owner{over.io_threads == 0 ? 1 : over.io_threads};
            zap_handler handler{owner, always("200")};
            socket receiver{owner, each.receiver};
            socket sender{owner, each.sender};
            secure(sender, receiver, each.by);
            limit(receiver);
            sender.set(ZLINK_RECONNECT_IVL, 1);
            watcher watched{owner, sender, ZLINK_EVENT_DISCONNECTED | ZLINK_EVENT_CONNECTED};
            sender.connect(receiver.bind(over.via));
            REQUIRE(sender.send("first") == ok);
            CHECK(receiver.recv() == message{"first"});

            REQUIRE(sender.send(std::string(large_bytes, 'x')) == ok);
            for (const char* const frame : {"one", "two", "three"}) {
                REQUIRE(sender.send(frame) == ok);
            }
            for (const char* const frame : {"one", "two", "three"}) {
                CHECK(receiver.recv() == message{frame});
            }
            for (int count = 0; count < 2; ++count) {
                CHECK(watched.next().what == ZLINK_EVENT_CONNECTED);
                CHECK(watched.next().what == ZLINK_EVENT_DISCONNECTED);
            }
            const event dropped = watched.next();
            CHECK(dropped.what == ZLINK_EVENT_MESSAGE_DROPPED);
            CHECK(dropped.value >= static_cast<int>(large_bytes));
            CHECK(watched.next().what == ZLINK_EVENT_CONNECTED);
            CHECK(watched.has_told_all(owner, sender));
            std::uint64_t count = 0;
            std::size_t bytes = sizeof count;
            REQUIRE(zlink_getsockopt(sender, ZLINK_DROPPED, &count, &bytes) == 0);
            CHECK(count == 1);
        }
    }
}

TEST_CASE("a request above the peer's limit does not stand before the next one") {
    for (const setting& over : network_settings()) {
        CAPTURE(over);
        const context owner{over};
        socket receiver{owner, ZLINK_REP};
        socket sender{owner, ZLINK_REQ};
        limit(receiver);
        sender.set(ZLINK_RECONNECT_IVL, 1).set(ZLINK_REQ_RELAXED, 1).set(ZLINK_REQ_CORRELATE, 1);
        watcher watched{owner, sender, ZLINK_EVENT_DISCONNECTED};
        sender.connect(receiver.bind(over.via));
        REQUIRE(sender.send(message{"small", std::string(large_bytes, 'x')}) == ok);
        CHECK(watched.await(ZLINK_EVENT_MESSAGE_DROPPED) >= static_cast<int>(large_bytes));

        REQUIRE(sender.send("next") == ok);
        CHECK(receiver.recv() == message{"next"});
        REQUIRE(receiver.send("answer") == ok);
        CHECK(sender.recv() == message{"answer"});
    }
}

TEST_CASE("a message of a ROUTER above the peer's limit does not stand before the next one") {
    for (const setting& over : network_settings()) {
        CAPTURE(over);
        const context owner{over};
        socket receiver{owner, ZLINK_DEALER};
        socket sender{owner, ZLINK_ROUTER};
        limit(receiver);
        sender.set(ZLINK_RECONNECT_IVL, 1).set(ZLINK_CONNECT_ROUTING_ID, "peer");
        watcher watched{owner, sender, ZLINK_EVENT_DISCONNECTED};
        sender.connect(receiver.bind(over.via));
        REQUIRE(sender.send(message{"peer", "small", std::string(large_bytes, 'x')}) == ok);
        REQUIRE(sender.send(message{"peer", "next"}) == ok);
        CHECK(receiver.recv() == message{"next"});
        CHECK(watched.await(ZLINK_EVENT_MESSAGE_DROPPED) >= static_cast<int>(large_bytes));
    }
}
