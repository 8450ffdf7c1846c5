// SPDX-License-Identifier: MPL-2.0
//
// The effect of zlink_unbind, zlink_disconnect and zlink_close on messages sent and arrived, and
// the endpoints that they accept.
#include "fixture.hpp"
#include "watcher.hpp"

#include <string>
#include <unistd.h>
#include <vector>

using namespace api_test;

namespace {

/// A pattern by which one side sends to the other.
struct direction {
    int sender;
    int receiver;
    message sent;
    message received;
};

const direction every_direction[] = {
    {ZLINK_PUSH, ZLINK_PULL, {"a"}, {"a"}},
    {ZLINK_PAIR, ZLINK_PAIR, {"a", "b"}, {"a", "b"}},
    {ZLINK_DEALER, ZLINK_DEALER, {"a"}, {"a"}},
    {ZLINK_DEALER, ZLINK_ROUTER, {"a", "b"}, {"name", "a", "b"}},
    {ZLINK_XPUB, ZLINK_SUB, {"a"}, {"a"}},
    {ZLINK_REQ, ZLINK_REP, {"a"}, {"a"}},
};

enum class undoing { unbind, disconnect };

/// Two joined sockets, of which one sends.
struct joined {
    joined(const context& owner, const direction& by, const setting& over, undoing what)
        : sender(owner, by.sender), receiver(owner, by.receiver) {
        sender.set(ZLINK_ROUTING_ID, "name");
        if (by.receiver == ZLINK_SUB) {
            receiver.set(ZLINK_SUBSCRIBE, "");
        }
        socket& bound = what == undoing::unbind ? receiver : sender;
        socket& connected = what == undoing::unbind ? sender : receiver;
        endpoint = bound.bind(over.via);
        connected.connect(endpoint);
        if (by.receiver == ZLINK_SUB) {
            wait_until(owner, [&] {
                receiver.events(); // Makes it notice a new peer, and subscribe there.
                return sender.poll(ZLINK_POLLIN, 0ms) != 0;
            });
        }
    }

    int undo(undoing what) {
        return what == undoing::unbind ? receiver.unbind(endpoint) : receiver.disconnect(endpoint);
    }

    socket sender;
    socket receiver;
    std::string endpoint;
};

/// ZLINK_DROPPED.
std::uint64_t dropped_count(const api_test::socket& asked) {
    std::uint64_t count = 0;
    std::size_t bytes = sizeof count;
    REQUIRE(zlink_getsockopt(asked, ZLINK_DROPPED, &count, &bytes) == 0);
    return count;
}

} // namespace

TEST_CASE("unbind: what has arrived can still be received, and nothing else") {
    for (const setting& over : every_setting()) {
        for (const direction& by : every_direction) {
            CAPTURE(over);
            CAPTURE(by.sender);
            const context owner{over};
            joined two{owner, by, over, undoing::unbind};
            REQUIRE(two.sender.send(by.sent) == ok);
            REQUIRE(two.receiver.poll(ZLINK_POLLIN) == ZLINK_POLLIN);

            REQUIRE(two.undo(undoing::unbind) == ok);
            CHECK(two.undo(undoing::unbind) == ENOENT);
            CHECK(two.receiver.recv() == by.received);
            if (by.receiver != ZLINK_REP) {
                CHECK(two.receiver.recv_error() == EAGAIN);
            }
            CHECK(dropped_count(two.receiver) == 0);
        }
    }
}

// As in libzmq, whose tests expect the next message once they have connected again.
TEST_CASE("disconnect: what has arrived and was not received is dropped, and counted") {
    for (const setting& over : every_setting()) {
        for (const direction& by : every_direction) {
            CAPTURE(over);
            CAPTURE(by.sender);
            const context owner{over};
            joined two{owner, by, over, undoing::disconnect};
            if (by.sender == ZLINK_REQ) {
                two.sender.set(ZLINK_REQ_RELAXED, 1);
            }
            REQUIRE(two.sender.send(by.sent) == ok);
            // Some patterns take the beginning of a message to know that there is one.
            REQUIRE(two.receiver.poll(ZLINK_POLLIN) == ZLINK_POLLIN);

            REQUIRE(two.undo(undoing::disconnect) == ok);
            CHECK(two.undo(undoing::disconnect) == ENOENT);
            CHECK(two.receiver.recv_error() == EAGAIN);
            CHECK(two.receiver.poll(ZLINK_POLLIN, 0ms) == 0);
            CHECK(dropped_count(two.receiver) == 1);

            wait_until(owner, [&] { return zlink_socket_peers(two.sender, nullptr, 0) == 0; });
            two.receiver.connect(two.endpoint);
            wait_until(owner, [&] { return zlink_socket_peers(two.sender, nullptr, 0) == 1; });
            if (by.receiver == ZLINK_SUB) {
                wait_until(owner, [&] {
                    char topic[2] = {};
                    two.receiver.events();
                    return zlink_recv(two.sender, topic, 2, ZLINK_DONTWAIT) == 1 && topic[0] == 1;
                });
            }
            message next = by.sent;
            message expected = by.received;
            next.frames.back() = expected.frames.back() = "next";
            REQUIRE(two.sender.send(next) == ok);
            CHECK(two.receiver.recv() == expected);
        }
    }
}

TEST_CASE("disconnect: only the rest of a message that is partly received follows") {
    for (const setting& over : every_setting()) {
        for (const direction& by : every_direction) {
            CAPTURE(over);
            CAPTURE(by.sender);
            const context owner{over};
            joined two{owner, by, over, undoing::disconnect};
            message expected = by.received;
            expected.frames.back() = "first";
            expected.frames.insert(expected.frames.end(), {"second", std::string(300, 'x')});
            message sent = by.sent;
            sent.frames.back() = "first";
            sent.frames.insert(sent.frames.end(), {"second", std::string(300, 'x')});
            REQUIRE(two.sender.send(sent) == ok);
            const bool sends_more = by.sender != ZLINK_REQ;
            if (sends_more) {
                REQUIRE(two.sender.send(by.sent) == ok);
            }
            message got;
            REQUIRE(two.receiver.poll(ZLINK_POLLIN) == ZLINK_POLLIN);
            got.frames.push_back(two.receiver.recv_frame());

            REQUIRE(two.undo(undoing::disconnect) == ok);
            CHECK(two.undo(undoing::disconnect) == ENOENT);
            while (two.receiver.more()) {
                got.frames.push_back(two.receiver.recv_frame());
            }
            CHECK(got == expected);
            if (by.receiver == ZLINK_REP) {
                CHECK(two.receiver.send("nobody gets this") == ok);
            }
            CHECK(two.receiver.recv_error() == EAGAIN);
            CHECK(zlink_socket_peers(two.receiver, nullptr, 0) == 0);
        }
    }
}

TEST_CASE("disconnect: of a STREAM's messages only one whose routing id was received follows") {
    for (const int io_threads : every_io_threads) {
        for (const bool begins : {false, true}) {
            CAPTURE(io_threads);
            CAPTURE(begins);
            const context owner{io_threads};
            socket server{owner, ZLINK_STREAM};
            socket client{owner, ZLINK_STREAM};
            const std::string endpoint = server.bind(transport::tcp);
            client.connect(endpoint);
            const std::string peer = server.recv().frames[0];
            const std::string own_peer = client.recv().frames[0];
            REQUIRE(server.send(message{peer, "one"}) == ok);
            REQUIRE(server.send(message{peer, "two"}) == ok);
            REQUIRE(client.poll(ZLINK_POLLIN) == ZLINK_POLLIN);
            if (begins) {
                REQUIRE(client.recv_frame() == own_peer);
            }
            REQUIRE(client.disconnect(endpoint) == ok);
            if (begins) {
                CHECK(client.recv_frame() == "one");
            }
            const message ended = client.recv();
            REQUIRE(ended.frames.size() == 3);
            CHECK(ended.frames[0] == own_peer);
            CHECK(ended.frames[1] == std::string(1, '\0'));
            CHECK(client.recv_error() == EAGAIN);
        }
    }
}

TEST_CASE("disconnect: of several connections only those of the endpoint lose what has arrived") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket stays{owner, ZLINK_PUSH};
        socket goes{owner, ZLINK_PUSH};
        socket receiver{owner, ZLINK_PULL};
        receiver.connect(stays.bind(over.via));
        const std::string endpoint = goes.bind(over.via);
        receiver.connect(endpoint);
        REQUIRE(goes.send(message{"lost", "x"}) == ok);
        REQUIRE(receiver.poll(ZLINK_POLLIN) == ZLINK_POLLIN);
        REQUIRE(stays.send("kept") == ok);
        REQUIRE(receiver.disconnect(endpoint) == ok);
        CHECK(receiver.recv() == message{"kept"});
        CHECK(receiver.recv_error() == EAGAIN);
    }
}

TEST_CASE("disconnect: what a peer that has closed left is dropped, too") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket sender{owner, ZLINK_PUSH};
        const std::string endpoint = sender.bind(transport::inproc);
        socket receiver{owner, ZLINK_PULL};
        receiver.connect(endpoint);
        REQUIRE(sender.send("lost") == ok);
        sender.close();
        REQUIRE(receiver.poll(ZLINK_POLLIN) == ZLINK_POLLIN);
        REQUIRE(receiver.disconnect(endpoint) == ok);
        CHECK(receiver.recv_error() == EAGAIN);
    }
}

TEST_CASE("disconnect: a reply that has arrived is dropped, and a further request goes elsewhere") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket bound{owner, ZLINK_REP};
        socket connected{owner, ZLINK_REQ};
        connected.set(ZLINK_REQ_RELAXED, 1);
        const std::string endpoint = bound.bind(over.via);
        connected.connect(endpoint);
        REQUIRE(connected.send("question") == ok);
        REQUIRE(bound.recv() == message{"question"});
        REQUIRE(bound.send("answer") == ok);
        REQUIRE(connected.poll(ZLINK_POLLIN) == ZLINK_POLLIN);
        REQUIRE(connected.disconnect(endpoint) == ok);
        CHECK(connected.recv_error() == EAGAIN);
        CHECK(connected.send("again", ZLINK_DONTWAIT) == EAGAIN);
        connected.connect(endpoint);
        REQUIRE(connected.send("again") == ok);
        CHECK(bound.recv() == message{"again"});
        REQUIRE(bound.send("answer again") == ok);
        CHECK(connected.recv() == message{"answer again"});
    }
}

TEST_CASE("unbind: a message that is being sent there is dropped whole") {
    for (const setting& over : network_settings()) {
        CAPTURE(over);
        const context owner{over};
        joined two{owner, {ZLINK_DEALER, ZLINK_ROUTER, {}, {}}, over, undoing::unbind};
        two.receiver.set(ZLINK_LINGER, -1);
        watcher watched{owner, two.sender, ZLINK_EVENT_DISCONNECTED};
        REQUIRE(two.sender.send("x") == ok);
        REQUIRE(two.receiver.recv() == message{"name", "x"});
        REQUIRE(two.sender.send("y") == ok);
        REQUIRE(two.receiver.poll(ZLINK_POLLIN) == ZLINK_POLLIN);
        REQUIRE(two.receiver.send(message{"name", "whole"}) == ok);
        for (const char* const frame : {"name", "half"}) {
            REQUIRE(two.receiver.send(frame, ZLINK_SNDMORE) == ok);
        }
        REQUIRE(two.undo(undoing::unbind) == ok);
        REQUIRE(two.receiver.send("other half") == ok);
        CHECK(two.sender.recv() == message{"whole"});
        watched.await(ZLINK_EVENT_DISCONNECTED);
        CHECK(two.sender.recv_error() == EAGAIN);
        CHECK(two.receiver.recv() == message{"name", "y"});
    }
}

TEST_CASE("disconnect: what was sent goes out for as long as the socket lingers") {
    for (const setting& over : network_settings()) {
        for (const int linger : {-1, 10000, 0}) {
            CAPTURE(over);
            CAPTURE(linger);
            const context owner{over};
            const std::string endpoint = vacant(over.via);
            socket sender{owner, ZLINK_PUSH};
            sender.set(ZLINK_LINGER, linger).set(ZLINK_RECONNECT_IVL, 1);
            sender.connect(endpoint);
            REQUIRE(sender.send("early") == ok);
            REQUIRE(sender.disconnect(endpoint) == ok);

            socket receiver{owner, ZLINK_PULL};
            receiver.bind(endpoint);
            if (linger != 0) {
                CHECK(receiver.recv() == message{"early"});
            } else {
                socket other{owner, ZLINK_PUSH};
                other.connect(endpoint);
                REQUIRE(other.send("late") == ok);
                CHECK(receiver.recv() == message{"late"});
                CHECK(receiver.recv_error() == EAGAIN);
            }
        }
    }
}

TEST_CASE("inproc: what was sent before the name was bound stays, whether or not the sender does") {
    for (const int io_threads : every_io_threads) {
        for (const int linger : {-1, 100, 0}) { // As in libzmq, which keeps it in any case.
            for (const bool closes : {true, false}) {
                CAPTURE(io_threads);
                CAPTURE(linger);
                CAPTURE(closes);
                const context owner{io_threads};
                const std::string endpoint = vacant(transport::inproc);
                socket sender{owner, ZLINK_DEALER};
                sender.set(ZLINK_LINGER, linger).set(ZLINK_ROUTING_ID, "name");
                sender.connect(endpoint);
                REQUIRE(sender.send(message{"early", "bird"}) == ok);
                REQUIRE(sender.send("late") == ok);
                if (closes) {
                    sender.close();
                } else {
                    REQUIRE(sender.disconnect(endpoint) == ok);
                    CHECK(sender.send("x", ZLINK_DONTWAIT) == EAGAIN);
                }

                socket receiver{owner, ZLINK_ROUTER};
                receiver.bind(endpoint);
                CHECK(receiver.recv() == message{"name", "early", "bird"});
                CHECK(receiver.recv() == message{"name", "late"});
                CHECK(receiver.recv_error() == EAGAIN);
            }
        }
    }
}

TEST_CASE("inproc: the end of a context does not wait for messages that cannot be received") {
    context owner;
    for (int index = 0; index < 2000; ++index) { // More than the limit of those kept.
        socket sender{owner, ZLINK_PUSH};
        sender.set(ZLINK_LINGER, -1);
        sender.connect("inproc://nobody");
        REQUIRE(sender.send("x") == ok);
    }
    owner.end();
}

TEST_CASE("inproc: unbind gives up the name and not the peers that came by it") {
    for (const int io_threads : every_io_threads) {
        const context owner{io_threads};
        socket bound{owner, ZLINK_PAIR};
        socket connected{owner, ZLINK_PAIR};
        const std::string endpoint = bound.bind(transport::inproc);
        connected.connect(endpoint);
        REQUIRE(bound.unbind(endpoint) == ok);
        REQUIRE(connected.send("still") == ok);
        CHECK(bound.recv() == message{"still"});
        socket next{owner, ZLINK_PAIR};
        CHECK(next.try_bind(endpoint) == ok);
    }
}

// Spelling.

namespace {

/// The port at the end of an endpoint.
std::string port_of(const std::string& endpoint) {
    return endpoint.substr(endpoint.rfind(':'));
}

} // namespace

TEST_CASE("unbind: takes every spelling of the address that is bound") {
    const struct {
        const char* bound;
        bool ipv6;
        std::vector<std::string> spellings;
    } cases[] = {
        {"tcp://127.0.0.1", false, {"tcp://127.0.0.1", "tcp://localhost", "tcp://lo"}},
        {"tcp://localhost", false, {"tcp://localhost", "tcp://127.0.0.1"}},
        {"tcp://lo", false, {"tcp://lo", "tcp://127.0.0.1"}},
        {"tcp://*", false, {"tcp://*", "tcp://0.0.0.0"}},
        {"tcp://0.0.0.0", false, {"tcp://*", "tcp://0.0.0.0"}},
        {"tcp://*", true, {"tcp://*", "tcp://[::]", "tcp://[0:0:0:0:0:0:0:0]"}},
        {"tcp://[::1]", true, {"tcp://::1", "tcp://[::1]", "tcp://[0:0:0:0:0:0:0:1]"}},
        {"tcp://[0:0::1]", true, {"tcp://[0:0::1]", "tcp://[::1]"}},
    };
    for (const auto& each : cases) {
        for (const std::string& spelling : each.spellings) {
            CAPTURE(each.bound);
            CAPTURE(spelling);
            const context owner;
            socket finder{owner, ZLINK_PULL};
            finder.set(ZLINK_IPV6, each.ipv6);
            const std::string port = port_of(finder.bind(std::string(each.bound) + ":*"));
            finder.close();
            socket bound{owner, ZLINK_PULL};
            bound.set(ZLINK_IPV6, each.ipv6);
            REQUIRE(bound.try_bind(each.bound + port) == ok);

            CHECK(bound.unbind("tcp://127.0.0.2" + port) == ENOENT);
            CHECK(bound.unbind(spelling + port) == ok);
            CHECK(bound.unbind(spelling + port) == ENOENT);
        }
    }
}

TEST_CASE("disconnect: takes every spelling of the address, and all connections to it") {
    const struct {
        const char* connected;
        const char* spelling;
        int expected;
    } cases[] = {
        {"tcp://127.0.0.1:9", "tcp://127.0.0.1:9", ok},
        {"tcp://127.0.0.1:9", "tcp://localhost:9", ok},
        {"tcp://localhost:9", "tcp://localhost:9", ok},
        {"tcp://[::1]:9", "tcp://[0:0:0:0:0:0:0:1]:9", ok},
        {"tcp://[0:0::1]:9", "tcp://::1:9", ok},
        {"ws://127.0.0.1:9", "ws://127.0.0.1:9/", ok},
        {"ws://127.0.0.1:9/a", "ws://127.0.0.1:9/b", ENOENT},
        {"tcp://127.0.0.1:9", "ws://127.0.0.1:9", ENOENT},
        {"tcp://127.0.0.1:9", "tcp://127.0.0.1:10", ENOENT},
        {"tcp://127.0.0.1:0;127.0.0.1:9", "tcp://127.0.0.1:0;127.0.0.1:9", ok},
        {"tcp://127.0.0.1:0;127.0.0.1:9", "tcp://127.0.0.1:9", ENOENT},
    };
    for (const auto& each : cases) {
        CAPTURE(each.connected);
        CAPTURE(each.spelling);
        const context owner;
        socket connected{owner, ZLINK_PUSH};
        connected.set(ZLINK_IPV6, 1);
        connected.connect(each.connected);
        connected.connect(each.connected);
        CHECK(connected.disconnect(each.spelling) == each.expected);
        CHECK(connected.disconnect(each.connected) == (each.expected == ok ? ENOENT : ok));
        CHECK(connected.disconnect(each.connected) == ENOENT);
    }
}

TEST_CASE("unbind: an endpoint that leaves the port to the system is not found") {
    const context owner;
    socket bound{owner, ZLINK_PULL};
    const std::string first = bound.bind("tcp://127.0.0.1:*");
    const std::string second = bound.bind("tcp://127.0.0.1:*");
    CHECK(bound.unbind("tcp://127.0.0.1:*") == ENOENT);
    CHECK(bound.unbind(first) == ok);
    CHECK(bound.unbind(second) == ok);
}

TEST_CASE("unbind, close: the address is free when they return") {
    for (const setting& over : network_settings()) {
        for (const bool closes : {false, true}) {
            CAPTURE(over);
            CAPTURE(closes);
            const context owner{over};
            const context other{over};
            socket first{owner, ZLINK_PULL};
            const std::string endpoint = vacant(over.via);
            first.bind(endpoint);
            socket sender{owner, ZLINK_PUSH};
            sender.set(ZLINK_RECONNECT_IVL, 1);
            sender.connect(endpoint);
            REQUIRE(sender.send("x") == ok);
            CHECK(first.recv() == message{"x"});
            for (int round = 0; round < 20; ++round) {
                if (closes) {
                    first.close();
                } else {
                    REQUIRE(first.unbind(endpoint) == ok);
                }
                first = socket{round % 2 == 0 ? other : owner, ZLINK_PULL};
                REQUIRE(first.try_bind(endpoint) == ok);
            }
            wait_until(owner, [&] {
                sender.send("y", ZLINK_DONTWAIT);
                return first.poll(ZLINK_POLLIN, 0ms) != 0;
            });
            CHECK(first.recv() == message{"y"});
        }
    }
}

TEST_CASE("unbind: an abstract ipc address is free when it returns") {
    const context owner;
    const std::string endpoint = "ipc://@zlink_unbind_test_" + std::to_string(::getpid());
    for (int round = 0; round < 50; ++round) {
        socket bound{owner, ZLINK_PULL};
        REQUIRE(bound.try_bind(endpoint) == ok);
        REQUIRE(bound.unbind(endpoint) == ok);
        REQUIRE(bound.try_bind(endpoint) == ok);
    }
}

// Connecting again.

TEST_CASE("connect: a second time to one endpoint does nothing for DEALER, SUB, PUB and REQ") {
    const struct {
        int type;
        int other;
        bool again;
    } cases[] = {
        {ZLINK_DEALER, ZLINK_ROUTER, false}, {ZLINK_SUB, ZLINK_XPUB, false},
        {ZLINK_PUB, ZLINK_XSUB, false},      {ZLINK_REQ, ZLINK_REP, false},
        {ZLINK_PUSH, ZLINK_PULL, true},      {ZLINK_XSUB, ZLINK_XPUB, true},
        {ZLINK_XPUB, ZLINK_XSUB, true},      {ZLINK_ROUTER, ZLINK_ROUTER, true},
    };
    for (const setting& over : network_settings()) {
        for (const auto& each : cases) {
            CAPTURE(over);
            CAPTURE(each.type);
            const context owner{over};
            socket bound{owner, each.other};
            const std::string endpoint = bound.bind(over.via);
            socket connected{owner, each.type};
            for (int count = 0; count < 3; ++count) {
                REQUIRE(connected.try_connect(endpoint) == ok);
            }
            const auto peers = [&] { return zlink_socket_peers(connected, nullptr, 0); };
            CHECK(peers() == (each.again ? 3 : 1));
            REQUIRE(connected.disconnect(endpoint) == ok);
            CHECK(connected.disconnect(endpoint) == ENOENT);
            REQUIRE(connected.try_connect(endpoint) == ok);
            CHECK(peers() == 1);
        }
    }
}

TEST_CASE("connect: every connection over inproc counts, as in libzmq") {
    const context owner;
    socket bound{owner, ZLINK_XPUB};
    bound.set(ZLINK_XPUB_VERBOSE, 1);
    const std::string endpoint = bound.bind(transport::inproc);
    socket connected{owner, ZLINK_SUB};
    connected.set(ZLINK_SUBSCRIBE, "");
    connected.connect(endpoint);
    connected.connect(endpoint);
    REQUIRE(bound.recv() == message{std::string("\1", 1)});
    REQUIRE(bound.recv() == message{std::string("\1", 1)});
    REQUIRE(bound.send("x") == ok);
    CHECK(connected.recv() == message{"x"});
    CHECK(connected.recv() == message{"x"});
    CHECK(connected.disconnect(endpoint) == ok);
    CHECK(connected.disconnect(endpoint) == ENOENT);
}

// The order of peers.

TEST_CASE("connect: peers take their turn in the order in which they came") {
    for (const setting& over : every_setting()) {
        for (const int type : {ZLINK_PUSH, ZLINK_DEALER}) {
            for (int round = 0; round < 10; ++round) {
                CAPTURE(over);
                CAPTURE(type);
                const context owner{over};
                const context network; // It has one I/O thread, so that they connect in this order.
                const context& others = over.via == transport::inproc ? owner : network;
                socket sender{owner, type};
                const std::string endpoint = sender.bind(over.via);
                std::vector<socket> peers;
                for (int index = 0; index < 5; ++index) {
                    peers.emplace_back(others, type == ZLINK_PUSH ? ZLINK_PULL : ZLINK_DEALER);
                    peers.back().connect(endpoint);
                }
                wait_until(owner, [&] { return zlink_socket_peers(sender, nullptr, 0) == 5; });
                for (std::size_t index = 0; index < peers.size(); ++index) {
                    REQUIRE(sender.send(std::to_string(index)) == ok);
                }
                for (std::size_t index = 0; index < peers.size(); ++index) {
                    // Without I/O threads, wait_until() runs the sender's I/O.
                    wait_until(owner, [&] { return (peers[index].events() & ZLINK_POLLIN) != 0; });
                    CHECK(peers[index].recv() == message{std::to_string(index)});
                }
            }
        }
    }
}
