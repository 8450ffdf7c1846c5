// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"
#include "watcher.hpp"

#include <cstdint>
#include <cstdlib>
#include <sys/uio.h>

using namespace api_test;

namespace {

/// A message of `frame_count` frames of different sizes; each frame states its number.
message numbered(int number, int frame_count) {
    message made;
    for (int index = 0; index < frame_count; ++index) {
        std::string data = std::to_string(number) + "/" + std::to_string(index) + " ";
        data.resize(data.size() + static_cast<std::size_t>(index * 37 % 300), '.');
        made.frames.push_back(std::move(data));
    }
    return made;
}

} // namespace

TEST_CASE("multipart: a message of which the last frame was not sent arrives nowhere") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket push{owner, ZLINK_PUSH};
        socket pull{owner, ZLINK_PULL};
        socket other{owner, ZLINK_PUSH};
        const std::string endpoint = pull.bind(over.via);
        push.connect(endpoint);
        other.connect(endpoint);
        REQUIRE(push.send("before") == ok);
        CHECK(pull.recv() == message{"before"});

        REQUIRE(push.send("a", ZLINK_SNDMORE) == ok);
        REQUIRE(push.send("b", ZLINK_SNDMORE) == ok);
        REQUIRE(other.send("sent later") == ok);
        CHECK(pull.recv() == message{"sent later"});
        CHECK(pull.recv_error() == EAGAIN);
        REQUIRE(push.send("c") == ok);

        CHECK(pull.recv() == message{"a", "b", "c"});
    }
}

TEST_CASE("multipart: closing in the middle of a message drops it, and only it") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket pull{owner, ZLINK_PULL};
        const std::string endpoint = pull.bind(over.via);
        {
            socket push{owner, ZLINK_PUSH};
            push.set(ZLINK_LINGER, -1).connect(endpoint);
            REQUIRE(push.send(message{"whole", "message"}) == ok);
            REQUIRE(push.send("half", ZLINK_SNDMORE) == ok);
            REQUIRE(push.send(std::string(100000, 'x'), ZLINK_SNDMORE) == ok);
        }
        socket push{owner, ZLINK_PUSH};
        push.connect(endpoint);
        CHECK(pull.recv() == message{"whole", "message"});
        REQUIRE(push.send("next") == ok);
        CHECK(pull.recv() == message{"next"});
    }
}

TEST_CASE("multipart: of a message to a peer that goes away the rest is dropped") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket push{owner, ZLINK_PUSH};
        const std::string endpoint = push.bind(over.via);
        socket gone{owner, ZLINK_PULL};
        gone.connect(endpoint);
        REQUIRE(push.send("known") == ok);
        CHECK(gone.recv() == message{"known"});
        REQUIRE(push.send("head", ZLINK_SNDMORE) == ok);
        gone.close();
        wait_until(owner, [&] { return zlink_socket_peers(push, nullptr, 0) == 0; });
        socket there{owner, ZLINK_PULL};
        there.connect(endpoint);

        REQUIRE(push.send("middle", ZLINK_SNDMORE) == ok);
        REQUIRE(push.send("tail") == ok);
        REQUIRE(push.send(message{"another", "one"}) == ok);

        CHECK(there.recv() == message{"another", "one"});
    }
}

TEST_CASE("multipart: a message being received stays whole when its sender is lost") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket pull{owner, ZLINK_PULL};
        const std::string endpoint = pull.bind(over.via);
        watcher watched{owner, pull, ZLINK_EVENT_DISCONNECTED};
        {
            socket push{owner, ZLINK_PUSH};
            push.set(ZLINK_LINGER, -1).connect(endpoint);
            REQUIRE(push.send(message{"a", "b", "c"}) == ok);
            CHECK(pull.recv_frame() == "a");
            CHECK(pull.more());
        }
        if (over.via != transport::inproc) {
            watched.await(ZLINK_EVENT_DISCONNECTED);
        }
        socket other{owner, ZLINK_PUSH};
        other.connect(endpoint);
        REQUIRE(other.send("other") == ok);
        wait_until(owner, [&] {
            CHECK(pull.events() == ZLINK_POLLIN); // Makes the socket notice both.
            return over.via == transport::inproc || unsent_to_peer(other) == 0;
        });

        CHECK(pull.recv() == message{"b", "c"});
        CHECK(pull.recv() == message{"other"});
    }
}

TEST_CASE("multipart: large ones arrive as they were sent") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket push{owner, ZLINK_PUSH};
        socket pull{owner, ZLINK_PULL};
        push.connect(pull.bind(over.via));

        const message many = numbered(1, 10000);
        const message big{std::string(1 << 20, 'a'), "",
                          std::string(8191, 'b'),    std::string(8192, 'c'),
                          std::string(3 << 20, 'd'), "e"};
        REQUIRE(push.send(many) == ok);
        REQUIRE(push.send(big) == ok);

        CHECK((pull.recv() == many)); // In parentheses, so that doctest does not print it.
        CHECK((pull.recv() == big));
    }
}

TEST_CASE("multipart: messages of several senders do not mix") {
    for (const setting& over : threaded_settings()) {
        CAPTURE(over);
        const context owner{over};
        socket pull{owner, ZLINK_PULL};
        const std::string endpoint = pull.bind(over.via);
        constexpr int rounds = 500;
        std::vector<std::jthread> senders;
        for (int sender = 0; sender < 3; ++sender) {
            senders.emplace_back([&, sender] {
                socket push{owner, ZLINK_PUSH};
                push.set(ZLINK_LINGER, -1).connect(endpoint);
                for (int round = 0; round < rounds; ++round) {
                    CHECK(push.send(numbered(sender * rounds + round, 1 + round % 7)) == ok);
                }
            });
        }

        std::array<int, 3> counts{};
        for (int count = 0; count < 3 * rounds; ++count) {
            const message got = pull.recv();
            const int number = std::stoi(got.frames[0]);
            int& round = counts[static_cast<std::size_t>(number / rounds)];
            CHECK(number % rounds == round);
            CHECK(got == numbered(number, 1 + round % 7));
            ++round;
        }
    }
}

TEST_CASE("multipart: more is told of each frame by the message and by the socket") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket push{owner, ZLINK_PUSH};
        socket pull{owner, ZLINK_PULL};
        push.connect(pull.bind(over.via));
        REQUIRE(push.send(message{"a", std::string(20000, 'b'), "c"}) == ok);

        for (const int expected : {1, 1, 0}) {
            frame got;
            REQUIRE(zlink_msg_recv(got.get(), pull, 0) >= 0);
            CHECK(zlink_msg_more(got.get()) == expected);
            CHECK(zlink_msg_get(got.get(), ZLINK_MORE) == expected);
            CHECK(pull.get(ZLINK_RCVMORE) == expected);
        }
        // A failed receive changes nothing.
        CHECK(pull.recv_error() == EAGAIN);
        CHECK(pull.get(ZLINK_RCVMORE) == 0);
    }
}

TEST_CASE("multipart: a buffer may be said to hold more than any frame has") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket push{owner, ZLINK_PUSH};
        socket pull{owner, ZLINK_PULL};
        push.connect(pull.bind(over.via));
        const message sent{"short", std::string(1000, 'x'), "last"};
        for (int count = 0; count < 3; ++count) {
            REQUIRE(push.send(sent) == ok);
        }

        for (int count = 0; count < 3; ++count) {
            for (const std::string& expected : sent.frames) {
                std::string buffer(1000, '-');
                const int bytes = zlink_recv(pull, buffer.data(), SIZE_MAX, 0);
                REQUIRE(bytes == static_cast<int>(expected.size()));
                CHECK(buffer.substr(0, expected.size()) == expected);
                CHECK(pull.more() == (expected != "last"));
            }
        }
    }
}

TEST_CASE("multipart: the high-water mark counts messages, not frames") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket push{owner, ZLINK_PUSH};
        socket pull{owner, ZLINK_PULL};
        push.set(ZLINK_SNDHWM, 2);
        pull.set(ZLINK_RCVHWM, 1);
        push.connect(pull.bind(transport::inproc));

        const message sent = numbered(0, 50);
        CHECK(fill(push, sent).count == 3);
        for (int count = 0; count < 3; ++count) {
            CHECK(pull.recv() == sent);
        }
        CHECK(pull.recv_error() == EAGAIN);
    }
}

TEST_CASE("multipart: sendiov and recviov") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket push{owner, ZLINK_PUSH};
        socket pull{owner, ZLINK_PULL};
        push.connect(pull.bind(over.via));
        std::string one = "one";
        std::string two = "";
        std::string three = "three";
        std::array<iovec, 3> out{iovec{one.data(), one.size()}, iovec{two.data(), two.size()},
                                 iovec{three.data(), three.size()}};

        CHECK(zlink_sendiov(push, out.data(), out.size(), ZLINK_SNDMORE) == 5);
        CHECK(pull.recv() == message{"one", "", "three"});
        CHECK(zlink_sendiov(push, out.data(), out.size(), 0) == 5);
        CHECK(pull.recv() == message{"one"});
        CHECK(pull.recv() == message{""});
        CHECK(pull.recv() == message{"three"});

        REQUIRE(push.send(message{"one", "", "three"}) == ok);
        std::array<iovec, 2> in{};
        std::size_t count = in.size();
        CHECK(zlink_recviov(pull, in.data(), &count, 0) == 2);
        CHECK(count == 2);
        CHECK(std::string(static_cast<char*>(in[0].iov_base), in[0].iov_len) == "one");
        CHECK(in[1].iov_len == 0);
        CHECK(pull.more());
        std::free(in[0].iov_base);
        std::free(in[1].iov_base);
        CHECK(zlink_recviov(pull, in.data(), &count, 0) == 1);
        CHECK(count == 1);
        CHECK_FALSE(pull.more());
        std::free(in[0].iov_base);

        CHECK(error_of(zlink_sendiov(push, nullptr, 1, 0)) == EINVAL);
        CHECK(error_of(zlink_sendiov(push, out.data(), 0, 0)) == EINVAL);
        CHECK(error_of(zlink_recviov(pull, nullptr, &count, ZLINK_DONTWAIT)) == EINVAL);
        count = 0;
        CHECK(error_of(zlink_recviov(pull, in.data(), &count, ZLINK_DONTWAIT)) == EINVAL);
    }
}
