// SPDX-License-Identifier: MPL-2.0
//
// ZMQ_FD: a loop that waits for the descriptor, and reads ZMQ_EVENTS only when it is readable,
// misses nothing (zmq_getsockopt(3)). The context has I/O threads.
#include "fixture.hpp"

#include <poll.h>

using namespace api_test;

namespace {

struct pair_of_types {
    int connects;
    int binds;
};
constexpr std::array every_type{
    pair_of_types{ZLINK_PAIR, ZLINK_PAIR},     pair_of_types{ZLINK_PUB, ZLINK_SUB},
    pair_of_types{ZLINK_SUB, ZLINK_PUB},       pair_of_types{ZLINK_REQ, ZLINK_REP},
    pair_of_types{ZLINK_REP, ZLINK_REQ},       pair_of_types{ZLINK_DEALER, ZLINK_ROUTER},
    pair_of_types{ZLINK_ROUTER, ZLINK_DEALER}, pair_of_types{ZLINK_PULL, ZLINK_PUSH},
    pair_of_types{ZLINK_PUSH, ZLINK_PULL},     pair_of_types{ZLINK_XPUB, ZLINK_XSUB},
    pair_of_types{ZLINK_XSUB, ZLINK_XPUB}};
constexpr std::array every_transport{transport::inproc, transport::tcp, transport::ipc,
                                     transport::ws};

bool is_readable(int descriptor, milliseconds longest) {
    pollfd asked{descriptor, POLLIN, 0};
    return ::poll(&asked, 1, static_cast<int>(longest.count())) == 1;
}

/// Reads ZMQ_EVENTS whenever the descriptor is readable, until one of `events` is there.
bool loop_until(const socket& about, int descriptor, int events) {
    const auto end = clock::now() + patience;
    while (clock::now() < end) {
        if (is_readable(descriptor, patience) && (about.events() & events) != 0) {
            return true;
        }
    }
    return false;
}

} // namespace

TEST_SUITE("api") {

    TEST_CASE("ZMQ_FD: is readable after a connect and a bind, before ZMQ_EVENTS was ever read") {
        const context owner;
        for (const transport via : every_transport) {
            for (const auto& [connects, binds] : every_type) {
                CAPTURE(via);
                CAPTURE(connects);
                socket one(owner, connects);
                socket other(owner, binds);
                const int of_one = one.get(ZLINK_FD);
                const int of_other = other.get(ZLINK_FD);
                CHECK(!is_readable(of_one, 0ms));
                CHECK(!is_readable(of_other, 0ms));

                const std::string endpoint = other.bind(via);
                CHECK(is_readable(of_other, patience));
                one.connect(endpoint);
                CHECK(is_readable(of_one, patience));
            }
        }
    }

    TEST_CASE("ZMQ_FD: one that is asked for after the connect is readable, too") {
        const context owner;
        socket binder(owner, ZLINK_PULL);
        socket connecter(owner, ZLINK_PUSH);
        connecter.connect(binder.bind(transport::tcp));
        CHECK(is_readable(connecter.get(ZLINK_FD), patience));
        CHECK(is_readable(binder.get(ZLINK_FD), patience));
    }

    TEST_CASE("ZMQ_FD: a peer that comes makes the events of one that waited for it change") {
        const context owner;
        for (const int immediate : {0, 1}) {
            CAPTURE(immediate);
            socket binder(owner, ZLINK_PUSH);
            const std::string endpoint = binder.bind(transport::tcp);
            const int descriptor = binder.get(ZLINK_FD);
            CHECK(binder.events() == 0);
            socket connecter(owner, ZLINK_PULL);
            connecter.set(ZLINK_IMMEDIATE, immediate).connect(endpoint);
            CHECK(loop_until(binder, descriptor, ZLINK_POLLOUT));

            socket early(owner, ZLINK_PUSH);
            early.set(ZLINK_IMMEDIATE, 1);
            const int of_early = early.get(ZLINK_FD);
            early.connect(connecter.bind(transport::tcp));
            CHECK(loop_until(early, of_early, ZLINK_POLLOUT));
        }
    }

    TEST_CASE("ZMQ_FD: a loop that only waits for it receives every message") {
        const context owner;
        for (const transport via : every_transport) {
            CAPTURE(via);
            socket sender(owner, ZLINK_PUSH);
            socket receiver(owner, ZLINK_PULL);
            const int descriptor = receiver.get(ZLINK_FD);
            sender.connect(receiver.bind(via));
            constexpr int message_count = 3000;
            std::thread sends([&] {
                for (int index = 0; index < message_count; ++index) {
                    zlink_send(sender, &index, sizeof index, 0);
                }
            });
            int received_count = 0;
            while (received_count < message_count &&
                   loop_until(receiver, descriptor, ZLINK_POLLIN)) {
                int got = -1;
                while (zlink_recv(receiver, &got, sizeof got, ZLINK_DONTWAIT) == sizeof got) {
                    received_count += got == received_count;
                }
            }
            sends.join();
            CHECK(received_count == message_count);
        }
    }

    TEST_CASE("ZMQ_FD: tells of room after a send found none") {
        const context owner;
        for (const transport via : every_transport) {
            CAPTURE(via);
            socket sender(owner, ZLINK_PUSH);
            socket receiver(owner, ZLINK_PULL);
            sender.set(ZLINK_SNDHWM, 1);
            receiver.set(ZLINK_RCVHWM, 1);
            const int descriptor = sender.get(ZLINK_FD);
            sender.connect(receiver.bind(via));
            int count = 0;
            do { // The system may take more bytes a moment later.
                count += fill(sender, {std::string(100'000, 'x')}).count;
            } while ((sender.events() & ZLINK_POLLOUT) != 0 && count < 10'000);
            for (int index = 0; index < count; ++index) {
                receiver.recv();
            }
            CHECK(loop_until(sender, descriptor, ZLINK_POLLOUT));
        }
    }

    TEST_CASE(
        "ZMQ_FD: tells a REQ of its reply, though ZMQ_EVENTS was read before the request only") {
        const context owner;
        for (const transport via : every_transport) {
            CAPTURE(via);
            socket replier(owner, ZLINK_REP);
            socket asker(owner, ZLINK_REQ);
            asker.connect(replier.bind(via));
            const int descriptor = asker.get(ZLINK_FD);
            CHECK(loop_until(asker, descriptor, ZLINK_POLLOUT));
            for (const message& request : {message{"one"}, message{"two", "frames"}}) {
                CHECK(asker.events() == ZLINK_POLLOUT);
                CHECK(!is_readable(descriptor, 0ms));

                asker.send(request);
                CHECK(!is_readable(descriptor, 0ms));
                CHECK(replier.recv() == request);
                replier.send("reply");

                CHECK(is_readable(descriptor, patience));
                CHECK(asker.recv() == message{"reply"});
            }
        }
    }

    TEST_CASE("ZMQ_FD: is quiet again once ZMQ_EVENTS was read") {
        const context owner;
        socket one(owner, ZLINK_PAIR);
        socket other(owner, ZLINK_PAIR);
        const int descriptor = one.get(ZLINK_FD);
        one.bind("inproc://quiet");
        other.connect("inproc://quiet");
        other.send("x");
        CHECK(loop_until(one, descriptor, ZLINK_POLLIN));
        CHECK(one.recv() == message{"x"});
        CHECK(one.events() == ZLINK_POLLOUT);
        CHECK(!is_readable(descriptor, 0ms));
        // A receive that fails counts as a read of ZMQ_EVENTS.
        other.send("y");
        CHECK(is_readable(descriptor, patience));
        CHECK(one.recv() == message{"y"});
        CHECK(one.recv_error() == EAGAIN);
        CHECK(!is_readable(descriptor, 0ms));
    }

} // TEST_SUITE
