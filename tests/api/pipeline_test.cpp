// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"

using namespace api_test;

TEST_CASE("push: sends to its peers strictly in turn") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket push{owner, ZLINK_PUSH};
        std::vector<socket> pulls;
        for (int index = 0; index < 3; ++index) {
            push.connect(pulls.emplace_back(owner, ZLINK_PULL).bind(over.via));
        }

        for (int number = 0; number < 30; ++number) {
            REQUIRE(push.send(message{std::to_string(number), "tail"}) == ok);
        }

        for (int number = 0; number < 30; ++number) {
            CHECK(pulls[number % 3].recv() == message{std::to_string(number), "tail"});
        }
    }
}

TEST_CASE("push: without a peer it waits as long as SNDTIMEO says") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket push{owner, ZLINK_PUSH};
        push.bind(over.via);

        CHECK(push.send("x", ZLINK_DONTWAIT) == EAGAIN);
        CHECK(push.events() == 0);
        push.set(ZLINK_SNDTIMEO, 0);
        CHECK(push.send("x") == EAGAIN);
        push.set(ZLINK_SNDTIMEO, moment);
        const milliseconds waited = time_of([&] { CHECK(push.send("x") == EAGAIN); });
        CHECK(waited >= moment);
        CHECK(waited < patience);
    }
}

TEST_CASE("push: what was blocked without a peer is sent when one comes") {
    for (const setting& over : threaded_settings()) {
        CAPTURE(over);
        const context owner{over};
        socket push{owner, ZLINK_PUSH};
        socket pull{owner, ZLINK_PULL};
        const std::string endpoint = push.bind(over.via);
        std::jthread sender{[&] { CHECK(push.send(message{"at", "last"}) == ok); }};

        pull.connect(endpoint);

        CHECK(pull.recv() == message{"at", "last"});
    }
}

TEST_CASE("push: skips a peer that is full") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket push{owner, ZLINK_PUSH};
        push.set(ZLINK_SNDHWM, 2);
        socket reader{owner, ZLINK_PULL};
        // There is no peer: the pipe holds its limit of messages.
        push.connect(vacant(over.via));
        if (over.via == transport::inproc) {
            reader.set(ZLINK_RCVHWM, 100);
        }
        push.connect(reader.bind(over.via));

        for (int number = 0; number < 100; ++number) {
            REQUIRE(push.send(std::to_string(number)) == ok);
            if (number % 2 == 1 || number > 3) {
                CHECK(reader.recv() == message{std::to_string(number)});
            }
        }
    }
}

TEST_CASE("pull: receives from its peers strictly in turn, a message each") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket pull{owner, ZLINK_PULL};
        const std::string endpoint = pull.bind(over.via);
        constexpr int rounds = 100;
        std::vector<socket> pushes;
        for (const std::string name : {"a", "b", "c"}) {
            socket& push = pushes.emplace_back(owner, ZLINK_PUSH);
            push.connect(endpoint);
            REQUIRE(push.send(name) == ok);
            CHECK(pull.recv() == message{name});
        }
        for (socket& push : pushes) {
            const std::string name{static_cast<char>('a' + (&push - pushes.data()))};
            for (int number = 0; number < rounds; ++number) {
                REQUIRE(push.send(message{name, std::to_string(number), "tail"}) == ok);
            }
        }

        std::array<int, 3> counts{};
        int unfair_count = 0;
        for (int number = 0; number < 3 * rounds; ++number) {
            const message got = pull.recv();
            REQUIRE(got.frames.size() == 3);
            const int from = got.frames[0][0] - 'a';
            CHECK(got.frames[1] == std::to_string(counts[from]));
            ++counts[from];
            const auto [least, most] = std::minmax({counts[0], counts[1], counts[2]});
            unfair_count += most - least > 1;
        }
        CHECK(counts == std::array{rounds, rounds, rounds});
        // Over other transports bytes may be delayed, and the peers with messages take turns.
        if (over.via == transport::inproc) {
            CHECK(unfair_count == 0);
        }
    }
}

TEST_CASE("pull: keeps what a peer sent before it closed") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket pull{owner, ZLINK_PULL};
        socket push{owner, ZLINK_PUSH};
        push.set(ZLINK_LINGER, -1).connect(pull.bind(over.via));

        for (int number = 0; number < 500; ++number) {
            REQUIRE(push.send(std::to_string(number)) == ok);
        }
        push.close();

        for (int number = 0; number < 500; ++number) {
            CHECK(pull.recv() == message{std::to_string(number)});
        }
    }
}

TEST_CASE("pull: waits as long as RCVTIMEO says") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket pull{owner, ZLINK_PULL};
        pull.bind(over.via);

        CHECK(pull.recv_error() == EAGAIN);
        pull.set(ZLINK_RCVTIMEO, moment);
        const milliseconds waited = time_of([&] { CHECK(pull.recv_error(0) == EAGAIN); });
        CHECK(waited >= moment);
        CHECK(waited < patience);
    }
}

TEST_CASE("dealer: sends in turn and receives fairly") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket dealer{owner, ZLINK_DEALER};
        std::vector<socket> peers;
        for (int index = 0; index < 3; ++index) {
            dealer.connect(peers.emplace_back(owner, ZLINK_DEALER).bind(over.via));
        }

        for (int number = 0; number < 9; ++number) {
            REQUIRE(dealer.send(message{"", std::to_string(number)}) == ok);
        }
        for (int number = 0; number < 9; ++number) {
            CHECK(peers[number % 3].recv() == message{"", std::to_string(number)});
        }

        for (socket& each : peers) {
            REQUIRE(each.send("reply") == ok);
        }
        for (std::size_t index = 0; index < peers.size(); ++index) {
            CHECK(dealer.recv() == message{"reply"});
        }
        CHECK(dealer.recv_error() == EAGAIN);
    }
}

TEST_CASE("dealer: sends nothing to a peer that has gone, though what it sent was not read") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket dealer{owner, ZLINK_DEALER};
        const std::string endpoint = dealer.bind(over.via);
        socket gone{owner, ZLINK_DEALER};
        socket there{owner, ZLINK_DEALER};
        gone.set(ZLINK_LINGER, -1).connect(endpoint);
        REQUIRE(gone.send("last words") == ok);
        REQUIRE(dealer.poll(ZLINK_POLLIN) == ZLINK_POLLIN);
        gone.close();
        wait_until(owner, [&] { return dealer.poll(ZLINK_POLLOUT, 0ms) == 0; });
        there.connect(endpoint);

        for (int number = 0; number < 10; ++number) {
            REQUIRE(dealer.send(std::to_string(number)) == ok);
        }

        for (int number = 0; number < 10; ++number) {
            CHECK(there.recv() == message{std::to_string(number)});
        }
        CHECK(dealer.recv() == message{"last words"});
    }
}

TEST_CASE("push, pull: do not receive and do not send") {
    const context owner;
    socket push{owner, ZLINK_PUSH};
    socket pull{owner, ZLINK_PULL};
    push.connect(pull.bind(transport::inproc));

    CHECK(push.recv_error() == ENOTSUP);
    CHECK(pull.send("x", ZLINK_DONTWAIT) == ENOTSUP);
    CHECK(push.events() == ZLINK_POLLOUT);
    CHECK(pull.events() == 0);
}
