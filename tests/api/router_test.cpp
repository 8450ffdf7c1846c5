// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"
#include "watcher.hpp"

#include <array>
#include <string>

using namespace api_test;

TEST_CASE("router: puts five bytes that begin with 0 before the messages of a nameless peer") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket router{owner, ZLINK_ROUTER};
        const std::string endpoint = router.bind(over.via);
        socket one{owner, ZLINK_DEALER};
        socket other{owner, ZLINK_DEALER};
        one.connect(endpoint);
        other.connect(endpoint);

        REQUIRE(one.send(message{"a", "b"}) == ok);
        const message from_one = router.recv();
        REQUIRE(other.send(message{"a", "b"}) == ok);
        const message from_other = router.recv();

        for (const message& each : {from_one, from_other}) {
            REQUIRE(each.frames.size() == 3);
            CHECK(each.frames[0].size() == 5);
            CHECK(each.frames[0][0] == '\0');
            CHECK(each.frames[1] == "a");
            CHECK(each.frames[2] == "b");
        }
        CHECK(from_one.frames[0] != from_other.frames[0]);
        REQUIRE(router.send(message{from_one.frames[0], "to one"}) == ok);
        REQUIRE(router.send(message{from_other.frames[0], "to other"}) == ok);
        CHECK(one.recv() == message{"to one"});
        CHECK(other.recv() == message{"to other"});
    }
}

TEST_CASE("router: knows a peer by the name that it chose, whoever connects") {
    for (const setting& over : every_setting()) {
        for (const bool router_binds : {true, false}) {
            CAPTURE(over);
            CAPTURE(router_binds);
            const context owner{over};
            socket router{owner, ZLINK_ROUTER};
            socket dealer{owner, ZLINK_DEALER};
            const std::string name(255, 'n');
            dealer.set(ZLINK_ROUTING_ID, name);
            if (router_binds) {
                dealer.connect(router.bind(over.via));
            } else {
                router.connect(dealer.bind(over.via));
            }

            REQUIRE(dealer.send("here") == ok);
            CHECK(router.recv() == message{name, "here"});
            REQUIRE(router.send(message{name, "there"}) == ok);
            CHECK(dealer.recv() == message{"there"});
        }
    }
}

TEST_CASE("router: cuts a name off where the buffer is too short, and says how long it is") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket router{owner, ZLINK_ROUTER};
        socket dealer{owner, ZLINK_DEALER};
        dealer.set(ZLINK_ROUTING_ID, "a long name");
        dealer.connect(router.bind(over.via));
        std::array<char, 16> buffer;

        for (const std::size_t capacity : {0U, 4U, 11U, 16U}) {
            CAPTURE(capacity);
            REQUIRE(dealer.send("here") == ok);
            buffer.fill('-');
            REQUIRE(zlink_recv(router, buffer.data(), capacity, 0) == 11);
            const std::string expected = std::string{"a long name"}.substr(0, capacity);
            CHECK(std::string(buffer.data(), buffer.size()) ==
                  expected + std::string(buffer.size() - expected.size(), '-'));
            CHECK(router.more());
            REQUIRE(zlink_recv(router, buffer.data(), buffer.size(), 0) == 4);
            CHECK(std::string(buffer.data(), 4) == "here");
            CHECK_FALSE(router.more());
        }
    }
}

TEST_CASE("router: two of them talk by their names") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket one{owner, ZLINK_ROUTER};
        socket other{owner, ZLINK_ROUTER};
        one.set(ZLINK_ROUTING_ID, "one").set(ZLINK_ROUTER_MANDATORY, 1);
        other.set(ZLINK_ROUTING_ID, "other").set(ZLINK_ROUTER_MANDATORY, 1);
        other.connect(one.bind(over.via));

        wait_until(owner, [&] { return other.send(message{"one", "hello"}) == ok; });
        CHECK(one.recv() == message{"other", "hello"});
        REQUIRE(one.send(message{"other", "", "hi"}) == ok);
        CHECK(other.recv() == message{"one", "", "hi"});
    }
}

TEST_CASE("router: drops messages for unknown peers, or reports them if that is mandatory") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket router{owner, ZLINK_ROUTER};
        socket dealer{owner, ZLINK_DEALER};
        dealer.set(ZLINK_ROUTING_ID, "known");
        dealer.connect(router.bind(over.via));
        REQUIRE(dealer.send("here") == ok);
        CHECK(router.recv() == message{"known", "here"});

        CHECK(router.send(message{"unknown", "lost"}) == ok);
        router.set(ZLINK_ROUTER_MANDATORY, 1);
        CHECK(router.send(message{"unknown", "refused"}) == EHOSTUNREACH);

        // The whole message was refused.
        CHECK(router.send(message{"known", "kept"}) == ok);
        CHECK(dealer.recv() == message{"kept"});
        router.set(ZLINK_ROUTER_MANDATORY, 0);
        CHECK(router.send(message{"unknown", "lost"}) == ok);
        CHECK(router.send(message{"known", "kept, too"}) == ok);
        CHECK(dealer.recv() == message{"kept, too"});
    }
}

TEST_CASE("router: drops what a full peer cannot take, or says so if that is mandatory") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket router{owner, ZLINK_ROUTER};
        socket full{owner, ZLINK_DEALER};
        socket other{owner, ZLINK_DEALER};
        router.set(ZLINK_SNDHWM, 2);
        full.set(ZLINK_RCVHWM, 3).set(ZLINK_ROUTING_ID, "full");
        other.set(ZLINK_RCVHWM, 3).set(ZLINK_ROUTING_ID, "other");
        const std::string endpoint = router.bind(transport::inproc);
        full.connect(endpoint);
        other.connect(endpoint);

        for (int number = 0; number < 10; ++number) {
            CHECK(router.send(message{"full", std::to_string(number)}) == ok);
        }
        router.set(ZLINK_ROUTER_MANDATORY, 1);
        CHECK(router.send(message{"full", "refused"}, ZLINK_DONTWAIT) == EAGAIN);
        router.set(ZLINK_SNDTIMEO, moment);
        CHECK(router.send(message{"full", "refused"}) == EAGAIN);
        CHECK(router.send(message{"other", "taken"}) == ok);

        CHECK(other.recv() == message{"taken"});
        for (int number = 0; number < 5; ++number) {
            CHECK(full.recv() == message{std::to_string(number)});
        }
        CHECK(full.recv_error() == EAGAIN);
        CHECK(router.send(message{"full", "room"}, ZLINK_DONTWAIT) == ok);
        CHECK(full.recv() == message{"room"});
    }
}

TEST_CASE("router: waits for a full peer if that is mandatory") {
    for (const int io_threads : {1, 3}) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket router{owner, ZLINK_ROUTER};
        socket dealer{owner, ZLINK_DEALER};
        router.set(ZLINK_SNDHWM, 1).set(ZLINK_ROUTER_MANDATORY, 1);
        dealer.set(ZLINK_RCVHWM, 1).set(ZLINK_ROUTING_ID, "d");
        dealer.connect(router.bind(transport::inproc));

        std::jthread sender{[&] {
            for (int number = 0; number < 1000; ++number) {
                CHECK(router.send(message{"d", std::to_string(number)}) == ok);
            }
        }};

        for (int number = 0; number < 1000; ++number) {
            CHECK(dealer.recv() == message{std::to_string(number)});
        }
    }
}

TEST_CASE("router: ignores a peer that chose a name which is taken") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket router{owner, ZLINK_ROUTER};
        const std::string endpoint = router.bind(over.via);
        socket first{owner, ZLINK_DEALER};
        socket second{owner, ZLINK_DEALER};
        first.set(ZLINK_ROUTING_ID, "name").connect(endpoint);
        REQUIRE(first.send("first") == ok);
        CHECK(router.recv() == message{"name", "first"});
        second.set(ZLINK_ROUTING_ID, "name");
        watcher watched{owner, second, ZLINK_EVENT_HANDSHAKE_SUCCEEDED};
        second.connect(endpoint);
        REQUIRE(second.send("second") == ok);
        if (over.via != transport::inproc) {
            watched.await(ZLINK_EVENT_HANDSHAKE_SUCCEEDED);
        }

        for (int number = 0; number < 10; ++number) {
            REQUIRE(router.send(message{"name", "back"}) == ok);
            CHECK(first.recv() == message{"back"});
            REQUIRE(first.send("again") == ok);
            CHECK(router.recv() == message{"name", "again"});
        }
        CHECK(second.recv_error() == EAGAIN);
        CHECK(router.recv_error() == EAGAIN);
    }
}

TEST_CASE("router: gives a name that is taken to the newcomer if HANDOVER says so") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket router{owner, ZLINK_ROUTER};
        router.set(ZLINK_ROUTER_HANDOVER, 1);
        const std::string endpoint = router.bind(over.via);
        socket first{owner, ZLINK_DEALER};
        socket second{owner, ZLINK_DEALER};
        first.set(ZLINK_ROUTING_ID, "name").connect(endpoint);
        REQUIRE(first.send("first") == ok);
        CHECK(router.recv() == message{"name", "first"});
        second.set(ZLINK_ROUTING_ID, "name").connect(endpoint);
        REQUIRE(second.send("second") == ok);

        CHECK(router.recv() == message{"name", "second"});
        REQUIRE(router.send(message{"name", "to the second"}) == ok);
        CHECK(second.recv() == message{"to the second"});
        first.send("late", ZLINK_DONTWAIT);
        for (int count = 0; count < 10; ++count) {
            REQUIRE(second.send("again") == ok);
            CHECK(router.recv() == message{"name", "again"});
            REQUIRE(router.send(message{"name", "to the second"}) == ok);
            CHECK(second.recv() == message{"to the second"});
        }
        CHECK(first.recv_error() == EAGAIN);
        CHECK(router.recv_error() == EAGAIN);
    }
}

TEST_CASE("router: a peer may come back under its name before what it sent was read") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket router{owner, ZLINK_ROUTER};
        const std::string endpoint = router.bind(over.via);
        {
            socket before{owner, ZLINK_DEALER};
            before.set(ZLINK_LINGER, -1).set(ZLINK_ROUTING_ID, "name").connect(endpoint);
            REQUIRE(before.send("before") == ok);
            REQUIRE(router.poll(ZLINK_POLLIN) == ZLINK_POLLIN);
        }
        // Gone, as far as the router can see.
        router.set(ZLINK_ROUTER_MANDATORY, 1);
        wait_until(owner, [&] { return router.send(message{"name", "x"}) == EHOSTUNREACH; });

        socket after{owner, ZLINK_DEALER};
        after.set(ZLINK_ROUTING_ID, "name").connect(endpoint);
        REQUIRE(after.send("after") == ok);

        CHECK(router.recv() == message{"name", "before"});
        CHECK(router.recv() == message{"name", "after"});
        REQUIRE(router.send(message{"name", "back"}) == ok);
        CHECK(after.recv() == message{"back"});
    }
}

TEST_CASE("router: names the peer that it connects to as CONNECT_ROUTING_ID says, once") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket router{owner, ZLINK_ROUTER};
        socket named{owner, ZLINK_DEALER};
        socket nameless{owner, ZLINK_DEALER};
        named.set(ZLINK_ROUTING_ID, "its own name");
        router.set(ZLINK_ROUTER_MANDATORY, 1);

        router.set(ZLINK_CONNECT_ROUTING_ID, "ours");
        router.connect(named.bind(over.via));
        // Known at once, though nothing was received.
        CHECK(router.send(message{"ours", "first"}) == ok);
        CHECK(named.recv() == message{"first"});
        REQUIRE(named.send("back") == ok);
        CHECK(router.recv() == message{"ours", "back"});

        router.connect(nameless.bind(over.via));
        REQUIRE(nameless.send("back") == ok);
        const message got = router.recv();
        REQUIRE(got.frames.size() == 2);
        CHECK(got.frames[0].size() == 5);
    }
}

TEST_CASE("router: sends nothing where the message has no content") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket router{owner, ZLINK_ROUTER};
        socket dealer{owner, ZLINK_DEALER};
        dealer.set(ZLINK_ROUTING_ID, "d").connect(router.bind(over.via));
        REQUIRE(dealer.send("here") == ok);
        router.recv();

        CHECK(router.send("d") == ok);
        CHECK(router.send(message{"d", ""}) == ok);

        CHECK(dealer.recv() == message{""});
        CHECK(dealer.recv_error() == EAGAIN);
    }
}

TEST_CASE("router: takes the replies of a hundred peers apart") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket router{owner, ZLINK_ROUTER};
        const std::string endpoint = router.bind(over.via);
        std::vector<socket> dealers;
        for (int index = 0; index < 100; ++index) {
            socket& dealer = dealers.emplace_back(owner, ZLINK_DEALER);
            dealer.connect(endpoint);
            REQUIRE(dealer.send(std::to_string(index)) == ok);
        }

        for (int count = 0; count < 100; ++count) {
            message request = router.recv();
            REQUIRE(request.frames.size() == 2);
            REQUIRE(router.send(request) == ok);
        }

        for (int index = 0; index < 100; ++index) {
            CHECK(dealers[index].recv() == message{std::to_string(index)});
        }
    }
}

TEST_CASE("router: a peer asked to probe is known before it has sent anything") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket router{owner, ZLINK_ROUTER};
        socket dealer{owner, ZLINK_DEALER};
        dealer.set(ZLINK_PROBE_ROUTER, 1).set(ZLINK_ROUTING_ID, "d");
        dealer.connect(router.bind(over.via));

        CHECK(router.recv() == message{"d", ""});
        REQUIRE(router.send(message{"d", "x"}) == ok);
        CHECK(dealer.recv() == message{"x"});
    }
}

TEST_CASE("router: drops the messages of a peer that it ignores, when that peer goes") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket router{owner, ZLINK_ROUTER};
        const std::string endpoint = router.bind(over.via);
        socket first{owner, ZLINK_DEALER};
        first.set(ZLINK_ROUTING_ID, "name").connect(endpoint);
        REQUIRE(first.send("first") == ok);
        CHECK(router.recv() == message{"name", "first"});

        std::atomic<int> freed_count{0};
        std::string large(100000, 'x');
        {
            socket second{owner, ZLINK_DEALER};
            second.set(ZLINK_ROUTING_ID, "name").set(ZLINK_LINGER, 300).connect(endpoint);
            frame sent{large.data(), large.size(), count_release, &freed_count};
            REQUIRE(zlink_msg_send(sent.get(), second, 0) >= 0);
        }

        wait_until(owner, [&] {
            CHECK(router.recv_error() == EAGAIN);
            return freed_count == 1;
        });
    }
}

TEST_CASE("router: hands a name over in the middle of a message without tearing it") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket router{owner, ZLINK_ROUTER};
        router.set(ZLINK_ROUTER_HANDOVER, 1);
        const std::string endpoint = router.bind(over.via);
        socket first{owner, ZLINK_DEALER};
        socket second{owner, ZLINK_DEALER};
        first.set(ZLINK_ROUTING_ID, "name").connect(endpoint);
        REQUIRE(first.send(message{"a", "b", "c"}) == ok);
        CHECK(router.recv_frame() == "name");
        CHECK(router.recv_frame() == "a");
        REQUIRE(router.send("name", ZLINK_SNDMORE) == ok);
        REQUIRE(router.send("torn", ZLINK_SNDMORE) == ok);

        second.set(ZLINK_ROUTING_ID, "name").connect(endpoint);
        REQUIRE(second.send("second") == ok);
        wait_until(owner, [&] {
            router.events(); // Makes it notice the second peer.
            return over.via == transport::inproc || unsent_to_peer(second) == 0;
        });
        router.events();

        CHECK(router.recv() == message{"b", "c"});
        CHECK(router.recv() == message{"name", "second"});
        REQUIRE(router.send("end") == ok);
        REQUIRE(router.send(message{"name", "whole"}) == ok);
        CHECK(second.recv() == message{"whole"});
    }
}
