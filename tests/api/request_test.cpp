// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"

using namespace api_test;

TEST_CASE("req, rep: a request and its reply, again and again") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket rep{owner, ZLINK_REP};
        socket req{owner, ZLINK_REQ};
        req.connect(rep.bind(over.via));

        for (int number = 0; number < 20; ++number) {
            REQUIRE(req.send(message{"request", std::to_string(number)}) == ok);
            CHECK(rep.recv() == message{"request", std::to_string(number)});
            REQUIRE(rep.send(message{"reply", "", std::to_string(number)}) == ok);
            CHECK(req.recv() == message{"reply", "", std::to_string(number)});
        }
    }
}

TEST_CASE("req, rep: refuse what is not their turn") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket rep{owner, ZLINK_REP};
        socket req{owner, ZLINK_REQ};
        req.connect(rep.bind(over.via));

        CHECK(req.recv_error() == EFSM);
        CHECK(rep.send("x", ZLINK_DONTWAIT) == EFSM);
        REQUIRE(req.send("first half", ZLINK_SNDMORE) == ok);
        CHECK(req.recv_error() == EFSM);
        REQUIRE(req.send("second half") == ok);
        CHECK(req.send("x", ZLINK_DONTWAIT) == EFSM);

        CHECK(rep.recv_frame() == "first half");
        CHECK(rep.send("x", ZLINK_DONTWAIT) == EFSM);
        CHECK(rep.recv_frame() == "second half");
        CHECK(rep.recv_error() == EFSM);
        REQUIRE(rep.send("first half", ZLINK_SNDMORE) == ok);
        CHECK(rep.recv_error() == EFSM);
        REQUIRE(rep.send("second half") == ok);
        CHECK(rep.send("x", ZLINK_DONTWAIT) == EFSM);

        CHECK(req.recv_frame() == "first half");
        CHECK(req.send("x", ZLINK_DONTWAIT) == EFSM);
        CHECK(req.recv_frame() == "second half");
        CHECK(req.recv_error() == EFSM);
    }
}

TEST_CASE("req, rep: events tell whose turn it is") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket rep{owner, ZLINK_REP};
        socket req{owner, ZLINK_REQ};
        req.connect(rep.bind(over.via));

        CHECK(req.poll(ZLINK_POLLIN | ZLINK_POLLOUT) == ZLINK_POLLOUT);
        REQUIRE(req.send("x") == ok);
        CHECK(req.events() == 0);
        CHECK(rep.poll(ZLINK_POLLIN | ZLINK_POLLOUT) == ZLINK_POLLIN);
        CHECK(rep.recv() == message{"x"});
        CHECK(rep.poll(ZLINK_POLLIN | ZLINK_POLLOUT) == ZLINK_POLLOUT);
        REQUIRE(rep.send("y") == ok);
        CHECK(rep.events() == 0);
        CHECK(req.poll(ZLINK_POLLIN | ZLINK_POLLOUT) == ZLINK_POLLIN);
    }
}

TEST_CASE("req: asks its peers in turn") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket req{owner, ZLINK_REQ};
        std::vector<socket> reps;
        for (int index = 0; index < 3; ++index) {
            req.connect(reps.emplace_back(owner, ZLINK_REP).bind(over.via));
        }

        for (int number = 0; number < 9; ++number) {
            REQUIRE(req.send(std::to_string(number)) == ok);
            socket& asked = reps[number % 3];
            CHECK(asked.recv() == message{std::to_string(number)});
            REQUIRE(asked.send("reply") == ok);
            CHECK(req.recv() == message{"reply"});
        }
    }
}

TEST_CASE("rep: answers each of its peers, whatever the order") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket rep{owner, ZLINK_REP};
        const std::string endpoint = rep.bind(over.via);
        std::vector<socket> reqs;
        for (int index = 0; index < 10; ++index) {
            reqs.emplace_back(owner, ZLINK_REQ).connect(endpoint);
            REQUIRE(reqs.back().send(std::to_string(index)) == ok);
        }

        for (int count = 0; count < 10; ++count) {
            REQUIRE(rep.send(rep.recv().frames[0] + "!", 0) == ok);
        }

        for (int index = 0; index < 10; ++index) {
            CHECK(reqs[index].recv() == message{std::to_string(index) + "!"});
        }
    }
}

TEST_CASE("rep: a message is a route, an empty frame, and a body") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket rep{owner, ZLINK_REP};
        socket dealer{owner, ZLINK_DEALER};
        dealer.connect(rep.bind(over.via));

        REQUIRE(dealer.send(message{"far", "near", "", "body", "more"}) == ok);
        CHECK(rep.recv() == message{"body", "more"});
        REQUIRE(rep.send(message{"reply", "more"}) == ok);
        CHECK(dealer.recv() == message{"far", "near", "", "reply", "more"});

        REQUIRE(dealer.send(message{"", "body"}) == ok);
        CHECK(rep.recv() == message{"body"});
        REQUIRE(rep.send("reply") == ok);
        CHECK(dealer.recv() == message{"", "reply"});
    }
}

TEST_CASE("rep: drops messages that are malformed") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket rep{owner, ZLINK_REP};
        socket dealer{owner, ZLINK_DEALER};
        dealer.connect(rep.bind(over.via));

        REQUIRE(dealer.send("no empty frame") == ok);
        REQUIRE(dealer.send(message{"no", "empty", "frame"}) == ok);
        REQUIRE(dealer.send("") == ok);
        REQUIRE(dealer.send(message{"no body", ""}) == ok);
        REQUIRE(dealer.send(message{"", "good"}) == ok);

        CHECK(rep.recv() == message{"good"});
        REQUIRE(rep.send("reply") == ok);
        CHECK(dealer.recv() == message{"", "reply"});
        CHECK(rep.recv_error() == EAGAIN);
    }
}

TEST_CASE("req: a request is an empty frame and a body, and only such a reply counts") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket router{owner, ZLINK_ROUTER};
        socket req{owner, ZLINK_REQ};
        req.set(ZLINK_ROUTING_ID, "req").connect(router.bind(over.via));

        REQUIRE(req.send(message{"a", "b"}) == ok);
        CHECK(router.recv() == message{"req", "", "a", "b"});
        REQUIRE(router.send(message{"req", "no", "empty", "frame"}) == ok);
        REQUIRE(router.send(message{"req", "single"}) == ok);
        REQUIRE(router.send(message{"req", ""}) == ok);
        REQUIRE(router.send(message{"req", "", "good", "reply"}) == ok);
        CHECK(req.recv() == message{"good", "reply"});
    }
}

TEST_CASE("req: what comes without being asked for is not the next reply") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket router{owner, ZLINK_ROUTER};
        socket req{owner, ZLINK_REQ};
        req.set(ZLINK_ROUTING_ID, "req").connect(router.bind(transport::inproc));
        REQUIRE(req.send("first") == ok);
        CHECK(router.recv() == message{"req", "", "first"});
        REQUIRE(router.send(message{"req", "", "to the first"}) == ok);
        CHECK(req.recv() == message{"to the first"});

        REQUIRE(router.send(message{"req", "", "unasked"}) == ok);
        CHECK(req.recv_error() == EFSM);
        CHECK(req.events() == ZLINK_POLLOUT);
        REQUIRE(req.send("second") == ok);
        CHECK(router.recv() == message{"req", "", "second"});
        REQUIRE(router.send(message{"req", "", "to the second"}) == ok);
        CHECK(req.recv() == message{"to the second"});
    }
}

TEST_CASE("req, rep: a request goes through a router and a dealer and back") {
    for (const setting& over : threaded_settings()) {
        CAPTURE(over);
        context owner{over};
        socket rep{owner, ZLINK_REP};
        socket req{owner, ZLINK_REQ};
        socket frontend{owner, ZLINK_ROUTER};
        socket backend{owner, ZLINK_DEALER};
        req.connect(frontend.bind(over.via));
        rep.connect(backend.bind(over.via));
        std::jthread broker{[&] {
            CHECK(error_of(zlink_proxy(frontend, backend, nullptr)) == ETERM);
            frontend.close();
            backend.close();
        }};

        for (int number = 0; number < 10; ++number) {
            REQUIRE(req.send(std::to_string(number)) == ok);
            CHECK(rep.recv() == message{std::to_string(number)});
            REQUIRE(rep.send("reply") == ok);
            CHECK(req.recv() == message{"reply"});
        }
        owner.shut_down();
    }
}

TEST_CASE("req: relaxed, it may ask again, and takes no reply that came before it did") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket router{owner, ZLINK_ROUTER};
        socket req{owner, ZLINK_REQ};
        req.set(ZLINK_REQ_RELAXED, 1).set(ZLINK_ROUTING_ID, "req").connect(router.bind(over.via));

        REQUIRE(req.send("first") == ok);
        CHECK(router.recv() == message{"req", "", "first"});
        REQUIRE(router.send(message{"req", "", "to the first"}) == ok);
        REQUIRE(req.poll(ZLINK_POLLIN) == ZLINK_POLLIN);
        REQUIRE(req.send("second") == ok);
        CHECK(router.recv() == message{"req", "", "second"});
        REQUIRE(router.send(message{"req", "", "to the second"}) == ok);

        CHECK(req.recv() == message{"to the second"});
    }
}

TEST_CASE("req: relaxed and correlated, it takes no late reply for the one it waits for") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket router{owner, ZLINK_ROUTER};
        socket req{owner, ZLINK_REQ};
        req.set(ZLINK_REQ_RELAXED, 1).set(ZLINK_REQ_CORRELATE, 1);
        req.connect(router.bind(over.via));

        REQUIRE(req.send("first") == ok);
        message first = router.recv();
        REQUIRE(req.send(message{"second", "more"}) == ok);
        message second = router.recv();
        REQUIRE(first.frames.size() == 4);
        REQUIRE(second.frames.size() == 5);
        CHECK(first.frames[0] == second.frames[0]);
        CHECK(first.frames[1].size() == 4);
        CHECK(first.frames[1] != second.frames[1]);
        CHECK(first.frames[2] == "");
        CHECK(first.frames[3] == "first");
        CHECK(second.frames[3] == "second");
        CHECK(second.frames[4] == "more");

        REQUIRE(router.send(first) == ok);
        REQUIRE(router.send(message{second.frames[0], "", "without its number"}) == ok);
        REQUIRE(router.send(second) == ok);
        CHECK(req.recv() == message{"second", "more"});
    }
}

TEST_CASE("req: relaxed, it may ask again in the middle of a reply") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket rep{owner, ZLINK_REP};
        socket req{owner, ZLINK_REQ};
        req.set(ZLINK_REQ_RELAXED, 1).set(ZLINK_REQ_CORRELATE, 1).connect(rep.bind(over.via));

        REQUIRE(req.send("first") == ok);
        CHECK(rep.recv() == message{"first"});
        REQUIRE(rep.send(message{"a", "b", "c"}) == ok);
        CHECK(req.recv_frame() == "a");
        REQUIRE(req.send("second") == ok);
        CHECK(rep.recv() == message{"second"});
        REQUIRE(rep.send("reply") == ok);

        CHECK(req.recv() == message{"reply"});
    }
}

TEST_CASE("req: relaxed, it asks another peer when the one that it asked has gone") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket req{owner, ZLINK_REQ};
        req.set(ZLINK_REQ_RELAXED, 1).set(ZLINK_REQ_CORRELATE, 1);
        const std::string endpoint = req.bind(over.via);
        socket first{owner, ZLINK_REP};
        first.connect(endpoint);
        REQUIRE(req.send("question") == ok);
        CHECK(first.recv() == message{"question"});
        first.close();
        wait_until(owner, [&] { return req.events() == 0; });

        socket second{owner, ZLINK_REP};
        second.connect(endpoint);
        REQUIRE(req.send("question") == ok);

        CHECK(second.recv() == message{"question"});
        REQUIRE(second.send("answer") == ok);
        CHECK(req.recv() == message{"answer"});
    }
}

TEST_CASE("rep: goes on when the peer that asked has gone before the reply") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket rep{owner, ZLINK_REP};
        const std::string endpoint = rep.bind(over.via);
        for (const message& reply : {message{"whole"}, message{"in", "parts"}}) {
            socket gone{owner, ZLINK_REQ};
            gone.set(ZLINK_LINGER, -1).connect(endpoint);
            REQUIRE(gone.send("question") == ok);
            CHECK(rep.recv() == message{"question"});
            gone.close();
            wait_until(owner, [&] { return zlink_socket_peers(rep, nullptr, 0) == 0; });
            REQUIRE(rep.send(reply) == ok);

            socket there{owner, ZLINK_REQ};
            there.connect(endpoint);
            REQUIRE(there.send("question") == ok);
            CHECK(rep.recv() == message{"question"});
            REQUIRE(rep.send("answer") == ok);
            CHECK(there.recv() == message{"answer"});
        }
    }
}

TEST_CASE("req: blocks while there is no peer, and as long as SNDTIMEO says") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket req{owner, ZLINK_REQ};
        req.bind(over.via);

        CHECK(req.send("x", ZLINK_DONTWAIT) == EAGAIN);
        req.set(ZLINK_SNDTIMEO, moment);
        CHECK(req.send("x") == EAGAIN);
        // No message was begun.
        CHECK(req.recv_error() == EFSM);
    }
}

TEST_CASE("req: relaxed, it takes no reply that came before, even if it has not looked yet") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket router{owner, ZLINK_ROUTER};
        socket req{owner, ZLINK_REQ};
        req.set(ZLINK_REQ_RELAXED, 1).set(ZLINK_ROUTING_ID, "req");
        req.connect(router.bind(transport::inproc));

        REQUIRE(req.send("first") == ok);
        CHECK(router.recv() == message{"req", "", "first"});
        REQUIRE(router.send(message{"req", "", "to", "the first"}) == ok);
        REQUIRE(router.send(message{"req", "", "to the first, again"}) == ok);
        REQUIRE(req.send("second") == ok);
        CHECK(router.recv() == message{"req", "", "second"});
        REQUIRE(router.send(message{"req", "", "to the second"}) == ok);

        CHECK(req.recv() == message{"to the second"});
    }
}

TEST_CASE("req: takes no second reply to one request for the reply to the next") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket router{owner, ZLINK_ROUTER};
        socket req{owner, ZLINK_REQ};
        req.set(ZLINK_ROUTING_ID, "req").connect(router.bind(transport::inproc));

        REQUIRE(req.send("first") == ok);
        CHECK(router.recv() == message{"req", "", "first"});
        REQUIRE(router.send(message{"req", "", "to the first"}) == ok);
        REQUIRE(router.send(message{"req", "", "to the first, again"}) == ok);
        CHECK(req.recv() == message{"to the first"});
        REQUIRE(req.send("second") == ok);
        CHECK(router.recv() == message{"req", "", "second"});
        REQUIRE(router.send(message{"req", "", "to the second"}) == ok);

        CHECK(req.recv() == message{"to the second"});
    }
}
