// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"

using namespace api_test;

TEST_CASE("high-water mark: an inproc pipe holds what both sides allow together") {
    for (const int io_threads : every_io_threads) {
        for (const auto& [send_max, recv_max] :
             {std::pair{1, 1}, {2, 3}, {10, 1}, {1, 10}, {100, 200}, {1000, 1000}}) {
            for (const bool sender_connects : {true, false}) {
                CAPTURE(io_threads);
                CAPTURE(send_max);
                CAPTURE(recv_max);
                CAPTURE(sender_connects);
                const context owner{io_threads};
                socket push{owner, ZLINK_PUSH};
                socket pull{owner, ZLINK_PULL};
                push.set(ZLINK_SNDHWM, send_max);
                pull.set(ZLINK_RCVHWM, recv_max);
                if (sender_connects) {
                    push.connect(pull.bind(transport::inproc));
                } else {
                    pull.connect(push.bind(transport::inproc));
                }

                const filled full = fill(push);

                CHECK(full.count == send_max + recv_max);
                CHECK(full.error == EAGAIN);
                CHECK(push.events() == 0);
            }
        }
    }
}

TEST_CASE("high-water mark: so does one that was connected before it was bound") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        const std::string endpoint = vacant(transport::inproc);
        socket push{owner, ZLINK_PUSH};
        socket pull{owner, ZLINK_PULL};
        push.set(ZLINK_SNDHWM, 5).connect(endpoint);
        CHECK(fill(push).count == 5);

        pull.set(ZLINK_RCVHWM, 7).bind(endpoint);
        for (int count = 0; count < 5; ++count) {
            CHECK(pull.recv() == message{"x"});
        }
        CHECK(pull.recv_error() == EAGAIN);

        CHECK(fill(push).count == 5 + 7);
        for (int count = 0; count < 5 + 7; ++count) {
            CHECK(pull.recv() == message{"x"});
        }
        CHECK(pull.recv_error() == EAGAIN);
    }
}

TEST_CASE("high-water mark: without a connection a pipe holds what the sender allows") {
    for (const setting& over : every_setting()) {
        for (const int send_max : {1, 2, 7, 1000}) {
            CAPTURE(over);
            CAPTURE(send_max);
            const context owner{over};
            socket push{owner, ZLINK_PUSH};
            push.set(ZLINK_SNDHWM, send_max).connect(vacant(over.via));

            const filled full = fill(push);

            CHECK(full.count == send_max);
            CHECK(full.error == EAGAIN);
        }
    }
}

TEST_CASE(
    "high-water mark: an unread peer of the network takes its own mark at least, and not all") {
    for (const setting& over : network_settings()) {
        CAPTURE(over);
        const context owner{over};
        socket push{owner, ZLINK_PUSH};
        socket pull{owner, ZLINK_PULL};
        push.set(ZLINK_SNDHWM, 10).set(ZLINK_SNDBUF, 4096);
        pull.set(ZLINK_RCVHWM, 20).set(ZLINK_RCVBUF, 4096);
        push.connect(pull.bind(over.via));
        const std::string body(10000, 'x');

        // Our side counts messages until they are known to be written, so both counts may overlap.
        int count = 0;
        for (; count < 20; ++count) {
            REQUIRE(push.send(std::to_string(count) + body) == ok);
        }
        // Until no more messages move.
        push.set(ZLINK_SNDTIMEO, 2 * moment);
        while (push.send(std::to_string(count) + body) == ok) {
            REQUIRE(++count < 1000);
        }

        for (int number = 0; number < count; ++number) {
            CHECK((pull.recv() == message{std::to_string(number) + body}));
        }
        push.set(ZLINK_SNDTIMEO, patience);
        CHECK(push.send("room again") == ok);
        CHECK(pull.recv() == message{"room again"});
    }
}

TEST_CASE("high-water mark: 0 is no limit, on either side of an inproc pipe") {
    for (const int io_threads : every_io_threads) {
        for (const auto& [send_max, recv_max] : {std::pair{0, 1}, {1, 0}, {0, 0}}) {
            CAPTURE(io_threads);
            CAPTURE(send_max);
            CAPTURE(recv_max);
            const context owner{io_threads};
            socket push{owner, ZLINK_PUSH};
            socket pull{owner, ZLINK_PULL};
            push.set(ZLINK_SNDHWM, send_max);
            pull.set(ZLINK_RCVHWM, recv_max);
            push.connect(pull.bind(transport::inproc));

            CHECK(fill(push, {"x"}, ZLINK_DONTWAIT, 20000).error == ok);
            for (int count = 0; count < 20000; ++count) {
                CHECK(pull.recv_frame() == "x");
            }
        }
    }
}

TEST_CASE("high-water mark: 0 is no limit before there is a connection") {
    for (const setting& over : network_settings()) {
        CAPTURE(over);
        const context owner{over};
        socket push{owner, ZLINK_PUSH};
        push.set(ZLINK_SNDHWM, 0).connect(vacant(over.via));

        CHECK(fill(push, {"x"}, ZLINK_DONTWAIT, 20000).error == ok);
    }
}

TEST_CASE("high-water mark: each peer has its own") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket push{owner, ZLINK_PUSH};
        push.set(ZLINK_SNDHWM, 3);
        const std::string endpoint = push.bind(transport::inproc);
        std::vector<socket> pulls;
        for (int index = 0; index < 4; ++index) {
            pulls.emplace_back(owner, ZLINK_PULL).set(ZLINK_RCVHWM, 2).connect(endpoint);
        }

        CHECK(fill(push).count == 4 * 5);
        for (socket& each : pulls) {
            CHECK(fill(push).count == 0);
            for (int count = 0; count < 5; ++count) {
                CHECK(each.recv() == message{"x"});
            }
            CHECK(each.recv_error() == EAGAIN);
            CHECK(fill(push).count == 5);
        }
    }
}

TEST_CASE("high-water mark: sending resumes when something was read") {
    for (const setting& over : every_setting()) {
        for (const auto& [send_max, recv_max] : {std::pair{1, 1}, {3, 2}, {100, 100}}) {
            CAPTURE(over);
            CAPTURE(send_max);
            const context owner{over};
            socket push{owner, ZLINK_PUSH};
            socket pull{owner, ZLINK_PULL};
            push.set(ZLINK_SNDHWM, send_max).set(ZLINK_SNDBUF, 4096);
            pull.set(ZLINK_RCVHWM, recv_max).set(ZLINK_RCVBUF, 4096);
            push.connect(pull.bind(over.via));
            const std::string body(2000, 'x');

            int sent_count = 0;
            int received_count = 0;
            for (int round = 0; round < 5; ++round) {
                while (push.send(std::to_string(sent_count) + body, ZLINK_DONTWAIT) == ok) {
                    ++sent_count;
                }
                while (received_count < sent_count) {
                    CHECK((pull.recv_frame() == std::to_string(received_count) + body));
                    ++received_count;
                }
                REQUIRE(push.send(std::to_string(sent_count) + body) == ok);
                ++sent_count;
            }
        }
    }
}

TEST_CASE("high-water mark: a sender that is blocked wakes up for each message that is read") {
    for (const setting& over : threaded_settings()) {
        for (const int most : {1, 2, 5}) {
            CAPTURE(over);
            CAPTURE(most);
            const context owner{over};
            socket push{owner, ZLINK_PUSH};
            socket pull{owner, ZLINK_PULL};
            push.set(ZLINK_SNDHWM, most);
            pull.set(ZLINK_RCVHWM, most);
            push.connect(pull.bind(over.via));
            constexpr int count = 3000;
            std::jthread sender{[&] {
                for (int number = 0; number < count; ++number) {
                    CHECK(push.send(std::to_string(number)) == ok);
                }
            }};

            for (int number = 0; number < count; ++number) {
                CHECK(pull.recv_frame() == std::to_string(number));
            }
        }
    }
}
