// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"

using namespace api_test;

namespace {

constexpr int both_ways = ZLINK_POLLIN | ZLINK_POLLOUT;

message subscription(std::string topic) {
    return {"\x01" + topic};
}

message cancellation(std::string topic) {
    return {std::string(1, '\0') + topic};
}

} // namespace

TEST_CASE("pub, sub: a subscriber gets the messages that begin with its topics") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket pub{owner, ZLINK_XPUB};
        const std::string endpoint = pub.bind(over.via);
        socket some{owner, ZLINK_SUB};
        socket all{owner, ZLINK_SUB};
        some.set(ZLINK_SUBSCRIBE, "a").set(ZLINK_SUBSCRIBE, "bc").connect(endpoint);
        for (int count = 0; count < 2; ++count) {
            pub.recv();
        }
        all.set(ZLINK_SUBSCRIBE, "").connect(endpoint);
        CHECK(pub.recv() == subscription(""));

        for (const std::string first : {"a", "aa", "b", "bc", "bcd", "bd", "c", "", "A"}) {
            REQUIRE(pub.send(message{first, "tail"}) == ok);
        }

        for (const std::string first : {"a", "aa", "bc", "bcd"}) {
            CHECK(some.recv() == message{first, "tail"});
        }
        for (const std::string first : {"a", "aa", "b", "bc", "bcd", "bd", "c", "", "A"}) {
            CHECK(all.recv() == message{first, "tail"});
        }
        CHECK(some.recv_error() == EAGAIN);
        CHECK(all.recv_error() == EAGAIN);
    }
}

TEST_CASE("sub: may bind, and the publisher connect") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket pub{owner, ZLINK_PUB};
        socket sub{owner, ZLINK_SUB};
        sub.set(ZLINK_SUBSCRIBE, "x");
        pub.connect(sub.bind(over.via));

        await_subscription(pub, sub, "x");
    }
}

TEST_CASE("sub: gets a message once, however many of its subscriptions match") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket pub{owner, ZLINK_XPUB};
        socket sub{owner, ZLINK_SUB};
        sub.connect(pub.bind(over.via));
        for (const std::string topic : {"", "a", "ab", "abc"}) {
            sub.set(ZLINK_SUBSCRIBE, topic);
            CHECK(pub.recv() == subscription(topic));
        }

        REQUIRE(pub.send("abcd") == ok);
        REQUIRE(pub.send("end") == ok);

        CHECK(sub.recv() == message{"abcd"});
        CHECK(sub.recv() == message{"end"});
    }
}

TEST_CASE("sub: a topic counts until it was unsubscribed as often as subscribed") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket pub{owner, ZLINK_XPUB};
        socket sub{owner, ZLINK_SUB};
        sub.connect(pub.bind(over.via));
        sub.set(ZLINK_SUBSCRIBE, "other");
        CHECK(pub.recv() == subscription("other"));
        sub.set(ZLINK_SUBSCRIBE, "a").set(ZLINK_SUBSCRIBE, "a");
        CHECK(pub.recv() == subscription("a"));

        sub.set(ZLINK_UNSUBSCRIBE, "a");
        // The order of subscriptions is kept, so this one shows that the previous one is done.
        sub.set(ZLINK_SUBSCRIBE, "marker 1");
        CHECK(pub.recv() == subscription("marker 1"));
        REQUIRE(pub.send("a still") == ok);
        CHECK(sub.recv() == message{"a still"});

        sub.set(ZLINK_UNSUBSCRIBE, "a");
        CHECK(pub.recv() == cancellation("a"));
        REQUIRE(pub.send("a no more") == ok);
        REQUIRE(pub.send("other") == ok);
        CHECK(sub.recv() == message{"other"});

        sub.set(ZLINK_UNSUBSCRIBE, "never subscribed");
        sub.set(ZLINK_SUBSCRIBE, "a");
        CHECK(pub.recv() == subscription("a"));
    }
}

TEST_CASE("sub: does not deliver what it unsubscribed from, even if that is here already") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket pub{owner, ZLINK_XPUB};
        socket sub{owner, ZLINK_SUB};
        sub.set(ZLINK_SUBSCRIBE, "a").set(ZLINK_SUBSCRIBE, "b");
        sub.connect(pub.bind(transport::inproc));
        pub.recv();
        pub.recv();
        REQUIRE(pub.send(message{"a", "tail"}) == ok);
        REQUIRE(pub.send(message{"b", "tail"}) == ok);

        sub.set(ZLINK_UNSUBSCRIBE, "a");

        CHECK(sub.recv() == message{"b", "tail"});
        CHECK(sub.recv_error() == EAGAIN);
    }
}

TEST_CASE("pub: drops what a full subscriber cannot take, and never waits") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket pub{owner, ZLINK_PUB};
        pub.set(ZLINK_SNDHWM, 10).set(ZLINK_SNDTIMEO, -1);
        socket full{owner, ZLINK_SUB};
        socket other{owner, ZLINK_SUB};
        full.set(ZLINK_RCVHWM, 20).set(ZLINK_SUBSCRIBE, "");
        other.set(ZLINK_RCVHWM, 1000).set(ZLINK_SUBSCRIBE, "");
        const std::string endpoint = pub.bind(transport::inproc);
        full.connect(endpoint);
        other.connect(endpoint);

        for (int number = 0; number < 500; ++number) {
            REQUIRE(pub.send(message{std::to_string(number), "tail"}) == ok);
        }

        CHECK(pub.events() == ZLINK_POLLOUT);
        for (int number = 0; number < 30; ++number) {
            CHECK(full.recv() == message{std::to_string(number), "tail"});
        }
        CHECK(full.recv_error() == EAGAIN);
        for (int number = 0; number < 500; ++number) {
            CHECK(other.recv() == message{std::to_string(number), "tail"});
        }
        REQUIRE(pub.send("room again") == ok);
        CHECK(full.recv() == message{"room again"});
    }
}

TEST_CASE("pub: never waits for a peer that does not read, over the network either") {
    for (const setting& over : network_settings()) {
        CAPTURE(over);
        const context owner{over};
        socket pub{owner, ZLINK_PUB};
        socket sub{owner, ZLINK_SUB};
        pub.set(ZLINK_SNDHWM, 10).set(ZLINK_SNDTIMEO, -1).set(ZLINK_SNDBUF, 4096);
        sub.set(ZLINK_RCVHWM, 10).set(ZLINK_RCVBUF, 4096).set(ZLINK_SUBSCRIBE, "");
        sub.connect(pub.bind(over.via));
        await_subscription(pub, sub, "");

        const std::string body(1000, 'x');
        constexpr int count = 20000;
        for (int number = 0; number < count; ++number) {
            REQUIRE(pub.send(message{std::to_string(number), body}) == ok);
        }

        // Messages arrive in order and whole.
        int received_count = 0;
        int last = -1;
        while (true) {
            if (sub.poll(ZLINK_POLLIN, 0ms) == 0) { // There is room for one more then.
                REQUIRE(pub.send("end") == ok);
            }
            const message got = sub.recv();
            if (got == message{"end"}) {
                break;
            }
            REQUIRE(got.frames.size() == 2);
            const int number = std::stoi(got.frames[0]);
            CHECK(number > last);
            CHECK(got.frames[1] == body);
            last = number;
            ++received_count;
        }
        CHECK(received_count < count);
    }
}

TEST_CASE(
    "xpub: with NODROP it reports that a subscriber is full, and no subscriber gets the message") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket pub{owner, ZLINK_XPUB};
        pub.set(ZLINK_SNDHWM, 2).set(ZLINK_XPUB_NODROP, 1);
        socket full{owner, ZLINK_SUB};
        socket other{owner, ZLINK_SUB};
        full.set(ZLINK_RCVHWM, 3).set(ZLINK_SUBSCRIBE, "");
        other.set(ZLINK_RCVHWM, 100).set(ZLINK_SUBSCRIBE, "");
        const std::string endpoint = pub.bind(transport::inproc);
        full.connect(endpoint);
        CHECK(pub.recv() == subscription(""));
        other.connect(endpoint);
        other.set(ZLINK_SUBSCRIBE, "known");
        CHECK(pub.recv() == subscription("known"));

        CHECK(fill(pub, {"x", "y"}).count == 5);
        CHECK(pub.send("x", ZLINK_DONTWAIT) == EAGAIN);
        pub.set(ZLINK_SNDTIMEO, moment);
        CHECK(pub.send("x") == EAGAIN);

        for (int count = 0; count < 5; ++count) {
            CHECK(full.recv() == message{"x", "y"});
            CHECK(other.recv() == message{"x", "y"});
        }
        CHECK(full.recv_error() == EAGAIN);
        CHECK(other.recv_error() == EAGAIN);
        CHECK(pub.send("room again", ZLINK_DONTWAIT) == ok);
        CHECK(full.recv() == message{"room again"});
        CHECK(other.recv() == message{"room again"});
    }
}

TEST_CASE("xpub: with NODROP it waits for a subscriber that is full") {
    for (const setting& over : threaded_settings()) {
        CAPTURE(over);
        const context owner{over};
        socket pub{owner, ZLINK_XPUB};
        socket sub{owner, ZLINK_SUB};
        pub.set(ZLINK_SNDHWM, 1).set(ZLINK_XPUB_NODROP, 1);
        sub.set(ZLINK_RCVHWM, 1).set(ZLINK_SUBSCRIBE, "");
        sub.connect(pub.bind(over.via));
        CHECK(pub.recv() == subscription(""));

        std::jthread sender{[&] {
            for (int number = 0; number < 2000; ++number) {
                CHECK(pub.send(std::to_string(number)) == ok);
            }
        }};

        for (int number = 0; number < 2000; ++number) {
            CHECK(sub.recv() == message{std::to_string(number)});
        }
    }
}

TEST_CASE("xpub: receives each topic's first subscription and last cancellation") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket pub{owner, ZLINK_XPUB};
        const std::string endpoint = pub.bind(over.via);
        socket one{owner, ZLINK_SUB};
        socket other{owner, ZLINK_SUB};
        one.connect(endpoint);
        other.connect(endpoint);

        one.set(ZLINK_SUBSCRIBE, "a");
        CHECK(pub.recv() == subscription("a"));
        CHECK_FALSE(pub.more());
        other.set(ZLINK_SUBSCRIBE, "a").set(ZLINK_SUBSCRIBE, "b");
        CHECK(pub.recv() == subscription("b"));
        one.set(ZLINK_UNSUBSCRIBE, "a").set(ZLINK_SUBSCRIBE, "c");
        CHECK(pub.recv() == subscription("c"));
        other.set(ZLINK_UNSUBSCRIBE, "a");
        CHECK(pub.recv() == cancellation("a"));
        CHECK(pub.recv_error() == EAGAIN);
    }
}

TEST_CASE("xpub: a peer that goes takes its subscriptions with it") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket pub{owner, ZLINK_XPUB};
        socket sub{owner, ZLINK_SUB};
        sub.set(ZLINK_SUBSCRIBE, "a").set(ZLINK_SUBSCRIBE, "").connect(pub.bind(over.via));
        pub.recv();
        pub.recv();

        sub.close();

        const message one = pub.recv();
        const message other = pub.recv();
        CHECK((one == cancellation("a") || one == cancellation("")));
        CHECK((other == cancellation("a") || other == cancellation("")));
        CHECK(one != other);
        CHECK(pub.recv_error() == EAGAIN);
    }
}

TEST_CASE("xpub: verbose, it receives repeated subscriptions, and verboser cancellations, too") {
    for (const setting& over : every_setting()) {
        for (const int option : {ZLINK_XPUB_VERBOSE, ZLINK_XPUB_VERBOSER}) {
            CAPTURE(over);
            CAPTURE(option);
            const context owner{over};
            socket pub{owner, ZLINK_XPUB};
            pub.set(option, 1);
            const std::string endpoint = pub.bind(over.via);
            socket one{owner, ZLINK_SUB};
            socket other{owner, ZLINK_SUB};
            one.connect(endpoint);
            other.connect(endpoint);

            one.set(ZLINK_SUBSCRIBE, "a");
            CHECK(pub.recv() == subscription("a"));
            other.set(ZLINK_SUBSCRIBE, "a");
            CHECK(pub.recv() == subscription("a"));
            one.set(ZLINK_UNSUBSCRIBE, "a").set(ZLINK_SUBSCRIBE, "marker");
            if (option == ZLINK_XPUB_VERBOSER) {
                CHECK(pub.recv() == cancellation("a"));
            }
            CHECK(pub.recv() == subscription("marker"));
            other.set(ZLINK_UNSUBSCRIBE, "a");
            CHECK(pub.recv() == cancellation("a"));
        }
    }
}

TEST_CASE("xsub: subscribes by sending, and sends other messages upstream") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket pub{owner, ZLINK_XPUB};
        socket sub{owner, ZLINK_XSUB};
        sub.connect(pub.bind(over.via));

        REQUIRE(sub.send("\x01topic") == ok);
        CHECK(pub.recv() == subscription("topic"));
        REQUIRE(sub.send(message{"hello", "there"}) == ok);
        CHECK(pub.recv() == message{"hello", "there"});
        REQUIRE(pub.send("topic is there") == ok);
        REQUIRE(pub.send("other") == ok);
        CHECK(sub.recv() == message{"topic is there"});
        REQUIRE(sub.send(std::string_view{"\0topic", 6}) == ok);
        CHECK(pub.recv() == cancellation("topic"));
        REQUIRE(pub.send("topic is gone") == ok);
        REQUIRE(sub.send("\x01topic") == ok);
        CHECK(pub.recv() == subscription("topic"));
        REQUIRE(pub.send("topic is back") == ok);
        CHECK(sub.recv() == message{"topic is back"});
    }
}

TEST_CASE("xpub, xsub: a device between publishers and subscribers passes both ways") {
    for (const setting& over : threaded_settings()) {
        CAPTURE(over);
        context owner{over};
        socket frontend{owner, ZLINK_XSUB};
        socket backend{owner, ZLINK_XPUB};
        const std::string upper = frontend.bind(over.via);
        const std::string lower = backend.bind(over.via);
        std::jthread device{[&] {
            CHECK(error_of(zlink_proxy(frontend, backend, nullptr)) == ETERM);
            frontend.close();
            backend.close();
        }};
        socket pub{owner, ZLINK_PUB};
        socket sub{owner, ZLINK_SUB};
        pub.connect(upper);
        sub.connect(lower);
        sub.set(ZLINK_SUBSCRIBE, "a");

        await_subscription(pub, sub, "a");
        REQUIRE(pub.send(message{"b", "nobody"}) == ok);
        REQUIRE(pub.send(message{"a", "somebody"}) == ok);
        CHECK(sub.recv() == message{"a", "somebody"});
        owner.shut_down();
    }
}

TEST_CASE("pub, sub: do not receive and do not send") {
    const context owner;
    socket pub{owner, ZLINK_PUB};
    socket sub{owner, ZLINK_SUB};
    sub.connect(pub.bind(transport::inproc));

    CHECK(pub.recv_error() == ENOTSUP);
    CHECK(sub.send("x", ZLINK_DONTWAIT) == ENOTSUP);
    CHECK(error_of(zlink_setsockopt(pub, ZLINK_SUBSCRIBE, "", 0)) == EINVAL);
    socket xsub{owner, ZLINK_XSUB};
    CHECK(error_of(zlink_setsockopt(xsub, ZLINK_SUBSCRIBE, "", 0)) == EINVAL);
}

TEST_CASE("sub: keeps its subscriptions when the publisher restarts") {
    for (const setting& over : network_settings()) {
        CAPTURE(over);
        const context owner{over};
        const std::string endpoint = vacant(over.via);
        socket sub{owner, ZLINK_SUB};
        sub.set(ZLINK_RECONNECT_IVL, 5).set(ZLINK_SUBSCRIBE, "kept");
        sub.set(ZLINK_SUBSCRIBE, "dropped");
        sub.connect(endpoint);
        for (int round = 0; round < 3; ++round) {
            CAPTURE(round);
            socket pub{owner, ZLINK_XPUB};
            wait_until(owner, [&] { return pub.try_bind(endpoint) == ok; });
            // The subscriber notices the new connection only when it is called.
            wait_until(owner, [&] { return sub.events() == 0 && pub.events() == both_ways; });
            const message first = pub.recv();
            if (round == 0) {
                CHECK(first != pub.recv());
                sub.set(ZLINK_UNSUBSCRIBE, "dropped");
                CHECK(pub.recv() == cancellation("dropped"));
            } else {
                CHECK(first == subscription("kept"));
            }
            await_subscription(pub, sub, "kept");
            REQUIRE(pub.send("dropped") == ok);
            REQUIRE(pub.send("kept") == ok);
            CHECK(sub.recv() == message{"kept"});
        }
    }
}

TEST_CASE("sub: thousands of subscriptions, of which none is lost") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket pub{owner, ZLINK_XPUB};
        socket sub{owner, ZLINK_SUB};
        // High-water marks do not count subscriptions.
        sub.set(ZLINK_SNDHWM, 1);
        pub.set(ZLINK_RCVHWM, 1);
        sub.connect(pub.bind(over.via));
        constexpr int count = 3000;
        for (int number = 0; number < count; ++number) {
            sub.set(ZLINK_SUBSCRIBE, std::to_string(number) + "/");
        }
        for (int number = 0; number < count; ++number) {
            CHECK(pub.recv() == subscription(std::to_string(number) + "/"));
        }
        for (int number = 0; number < count; number += 100) {
            REQUIRE(pub.send(std::to_string(number) + "/x") == ok);
            CHECK(sub.recv() == message{std::to_string(number) + "/x"});
        }
    }
}

TEST_CASE("xpub: manual, it subscribes for the peer that it received from last") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket pub{owner, ZLINK_XPUB};
        pub.set(ZLINK_XPUB_MANUAL, 1);
        const std::string endpoint = pub.bind(over.via);
        socket one{owner, ZLINK_XSUB};
        socket other{owner, ZLINK_XSUB};
        one.connect(endpoint);
        REQUIRE(one.send(subscription("A")) == ok);
        CHECK(pub.recv() == subscription("A"));
        pub.set(ZLINK_SUBSCRIBE, "XA");
        other.connect(endpoint);
        REQUIRE(other.send(subscription("A")) == ok);
        // Repeated ones are received, too: the decision concerns the peer.
        CHECK(pub.recv() == subscription("A"));
        pub.set(ZLINK_SUBSCRIBE, "XB");

        for (const std::string topic : {"A", "XA", "XB"}) {
            REQUIRE(pub.send(topic) == ok);
        }

        CHECK(one.recv() == message{"XA"});
        CHECK(other.recv() == message{"XB"});

        REQUIRE(one.send(cancellation("A")) == ok);
        CHECK(pub.recv() == cancellation("A"));
        REQUIRE(pub.send("XA") == ok);
        CHECK(one.recv() == message{"XA"});
        pub.set(ZLINK_UNSUBSCRIBE, "XA");
        REQUIRE(pub.send("XA") == ok);
        REQUIRE(pub.send("XB") == ok);
        CHECK(other.recv() == message{"XB"});
        CHECK(one.recv_error() == EAGAIN);
    }
}

TEST_CASE("xpub: manual, a peer that goes is unsubscribed as it asked, and may not be answered") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket pub{owner, ZLINK_XPUB};
        pub.set(ZLINK_XPUB_MANUAL, 1);
        const std::string endpoint = pub.bind(over.via);
        socket one{owner, ZLINK_SUB};
        one.set(ZLINK_SUBSCRIBE, "A").connect(endpoint);
        CHECK(pub.recv() == subscription("A"));
        pub.set(ZLINK_SUBSCRIBE, "XA");

        one.close();

        CHECK(pub.recv() == cancellation("A"));
        pub.set(ZLINK_SUBSCRIBE, "XB").set(ZLINK_UNSUBSCRIBE, "XA");
        CHECK(pub.recv_error() == EAGAIN);
    }
}

TEST_CASE("xpub: subscribes for no peer unless it is manual") {
    const context owner;
    socket pub{owner, ZLINK_XPUB};
    CHECK(error_of(zlink_setsockopt(pub, ZLINK_SUBSCRIBE, "A", 1)) == EINVAL);
    CHECK(error_of(zlink_setsockopt(pub, ZLINK_UNSUBSCRIBE, "A", 1)) == EINVAL);
}

TEST_CASE("xpub: takes frames for subscriptions anywhere in a message, or only where it begins") {
    for (const bool only_first : {false, true}) {
        CAPTURE(only_first);
        const context owner;
        socket pub{owner, ZLINK_XPUB};
        pub.set(ZLINK_ONLY_FIRST_SUBSCRIBE, only_first);
        const std::string endpoint = pub.bind(transport::inproc);
        socket sub{owner, ZLINK_XSUB};
        sub.connect(endpoint);

        REQUIRE(sub.send(message{"data", "\x01topic"}) == ok);
        REQUIRE(sub.send("end") == ok);

        CHECK(pub.recv_frame() == "data");
        CHECK(pub.recv_frame() == "\x01topic");
        CHECK(pub.recv_frame() == "end");
        REQUIRE(pub.send("topical") == ok);
        if (only_first) {
            CHECK(sub.recv_error() == EAGAIN);
        } else {
            CHECK(sub.recv_frame() == "topical");
        }
    }
}

TEST_CASE("pub, sub: with INVERT_MATCHING what was not subscribed to arrives") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket pub{owner, ZLINK_PUB};
        socket sub{owner, ZLINK_SUB};
        pub.set(ZLINK_INVERT_MATCHING, 1);
        sub.set(ZLINK_INVERT_MATCHING, 1).set(ZLINK_SUBSCRIBE, "a");
        sub.connect(pub.bind(over.via));
        // Until the subscription is known, the publisher sends "a", too, as it sends everything.
        await_subscription(pub, sub, "other");

        CHECK(pub.send("apple") == ok);
        CHECK(pub.send("pear") == ok);
        CHECK(pub.send("avocado") == ok);
        CHECK(pub.send("plum") == ok);

        CHECK(sub.recv() == message{"pear"});
        CHECK(sub.recv() == message{"plum"});
    }
}

TEST_CASE("pub: with INVERT_MATCHING it does not send what was subscribed to") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket xpub{owner, ZLINK_XPUB};
        socket xsub{owner, ZLINK_XSUB}; // It delivers everything that comes.
        xpub.set(ZLINK_INVERT_MATCHING, 1);
        xsub.connect(xpub.bind(over.via));
        CHECK(xsub.send("\1a") == ok);
        CHECK(xpub.recv() == message{"\1a"});

        CHECK(xpub.send("apple") == ok);
        CHECK(xpub.send("pear") == ok);

        CHECK(xsub.recv() == message{"pear"});
    }
}

TEST_CASE("xpub: WELCOME_MSG is the first message of each new subscriber that asked for it") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket xpub{owner, ZLINK_XPUB};
        xpub.set(ZLINK_XPUB_WELCOME_MSG, "welcome");
        const std::string endpoint = xpub.bind(over.via);
        for (int count = 0; count < 2; ++count) {
            socket sub{owner, ZLINK_SUB};
            sub.set(ZLINK_SUBSCRIBE, "w").connect(endpoint);
            CHECK(xpub.recv() == message{"\1w"});
            CHECK(sub.recv() == message{"welcome"});

            CHECK(xpub.send("weather") == ok);
            CHECK(sub.recv() == message{"weather"});
            sub.close();
            CHECK(xpub.recv() == message{std::string{"\0w", 2}});
        }

        xpub.set(ZLINK_XPUB_WELCOME_MSG, "");
        socket sub{owner, ZLINK_SUB};
        sub.set(ZLINK_SUBSCRIBE, "w").connect(endpoint);
        CHECK(xpub.recv() == message{"\1w"});
        CHECK(xpub.send("weather") == ok);
        CHECK(sub.recv() == message{"weather"});
    }
}
