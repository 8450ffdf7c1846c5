// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"
#include "raw_peer.hpp"
#include "zmtp_peer.hpp"

#include <cstddef>
#include <string>

// Requests and replies are written by the thread that sends them, if the I/O thread has nothing to
// do.

using namespace api_test;

namespace {

std::string body_of(std::size_t bytes, int number) {
    std::string body = std::to_string(number);
    body.resize(bytes, static_cast<char>('a' + number % 26));
    return body;
}

} // namespace

TEST_CASE("lockstep: messages of every size arrive whole, also through small buffers") {
    for (const setting& over : network_settings()) {
        for (const int buffer_bytes : {-1, 4096}) {
            CAPTURE(over);
            CAPTURE(buffer_bytes);
            const context owner{over};
            socket rep{owner, ZLINK_REP};
            socket req{owner, ZLINK_REQ};
            for (socket* each : {&rep, &req}) {
                each->set(ZLINK_SNDBUF, buffer_bytes).set(ZLINK_RCVBUF, buffer_bytes);
            }
            req.connect(rep.bind(over.via));

            int number = 0;
            for (const std::size_t bytes : {0, 1, 255, 256, 8191, 8192, 70000, 200000, 1000000}) {
                CAPTURE(bytes);
                const message request{body_of(bytes, ++number), "end"};
                const message reply{"begin", body_of(bytes, ++number)};
                REQUIRE(req.send(request) == ok);
                REQUIRE((rep.recv() == request));
                REQUIRE(rep.send(reply) == ok);
                REQUIRE((req.recv() == reply));
            }
        }
    }
}

TEST_CASE("lockstep: what was sent leaves before the socket is gone") {
    for (const setting& over : network_settings()) {
        for (const std::size_t bytes : {10, 200000}) {
            CAPTURE(over);
            CAPTURE(bytes);
            const context owner{over};
            socket rep{owner, ZLINK_REP};
            const std::string endpoint = rep.bind(over.via);
            {
                socket req{owner, ZLINK_REQ};
                req.set(ZLINK_LINGER, patience);
                req.connect(endpoint);
                REQUIRE(req.send("first") == ok);
                REQUIRE(rep.recv() == message{"first"});
                REQUIRE(rep.send("x") == ok);
                REQUIRE(req.recv() == message{"x"});
                REQUIRE(req.send(std::string(bytes, 'y')) == ok);
            }
            CHECK((rep.recv() == message{std::string(bytes, 'y')}));
        }
    }
}

TEST_CASE("lockstep: heartbeats do not come between the bytes of a message") {
    for (const int buffer_bytes : {-1, 4096}) {
        CAPTURE(buffer_bytes);
        const context owner;
        socket rep{owner, ZLINK_REP};
        socket req{owner, ZLINK_REQ};
        for (socket* each : {&rep, &req}) {
            each->set(ZLINK_HEARTBEAT_IVL, 1).set(ZLINK_HEARTBEAT_TIMEOUT, patience);
            each->set(ZLINK_SNDBUF, buffer_bytes).set(ZLINK_RCVBUF, buffer_bytes);
        }
        req.connect(rep.bind(transport::tcp));
        const auto end = api_test::clock::now() + 200ms;
        for (int number = 0; api_test::clock::now() < end; ++number) {
            const message sent{body_of(number % 7 == 0 ? 100000 : 64, number)};
            REQUIRE(req.send(sent) == ok);
            REQUIRE((rep.recv() == sent));
            REQUIRE(rep.send(sent) == ok);
            REQUIRE((req.recv() == sent));
        }
    }
}

TEST_CASE("lockstep: a peer that goes inside a reply does no harm to the next one") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket rep{owner, ZLINK_REP};
        rep.set(ZLINK_SNDBUF, 4096);
        const std::string endpoint = rep.bind(transport::tcp);
        socket req{owner, ZLINK_REQ};
        for (int round = 0; round < 20; ++round) {
            {
                zmtp_peer reckless{endpoint};
                REQUIRE(reckless.send(data({0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 3, 0})));
                wait_until(owner, [&] { return is_read(reckless.descriptor()); });
                REQUIRE(reckless.send("NULL" + std::string(48, '\0')));
                REQUIRE(reckless.send(data({4, 25, 5}) + "READY" + data({11}) + "Socket-Type" +
                                      data({0, 0, 0, 3}) + "REQ"));
                REQUIRE(reckless.send(data({1, 0, 0, 1}) + "?"));
                REQUIRE(rep.recv() == message{"?"});
                reckless.reset();
                REQUIRE(rep.send(std::string(100000, 'z')) == ok);
            }
            if (round == 0) {
                req.connect(endpoint);
            }
            REQUIRE(req.send(std::to_string(round)) == ok);
            REQUIRE(rep.recv() == message{std::to_string(round)});
            REQUIRE(rep.send("fine") == ok);
            REQUIRE(req.recv() == message{"fine"});
        }
    }
}
