// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"

#include <array>
#include <set>
#include <string>

using namespace api_test;

namespace {

struct pattern_pair {
    int sends;
    int receives;
};
constexpr std::array conflatable{pattern_pair{ZLINK_PUSH, ZLINK_PULL},
                                 pattern_pair{ZLINK_PUB, ZLINK_SUB},
                                 pattern_pair{ZLINK_DEALER, ZLINK_DEALER}};

/// More than the kernel buffers for one connection, in all.
constexpr int large_count = 300;
constexpr std::size_t large_bytes = 100'000;

/// The message numbered `number`, of at least `bytes` bytes.
std::string numbered(int number, std::size_t bytes = 0) {
    std::string made = std::to_string(number);
    if (made.size() < bytes) {
        made.append(bytes - made.size(), ' ');
    }
    return made;
}

/// Subscribes `receiver` to everything, if it is a SUB.
void subscribe(socket& sender, socket& receiver) {
    if (receiver.get(ZLINK_TYPE) == ZLINK_SUB) {
        receiver.set(ZLINK_SUBSCRIBE, "");
        await_subscription(sender, receiver, "");
    }
}

/// Receives until message `last` comes, and checks that no message comes after a newer one.
/// @return The number received.
int receive_up_to(socket& receiver, int last) {
    int count = 0;
    for (int newest = -1; newest != last; ++count) {
        const message got = receiver.recv();
        REQUIRE(got.frames.size() == 1);
        const int number = std::stoi(got.frames.front());
        REQUIRE(number > newest);
        newest = number;
    }
    return count;
}

void set_conflate(socket& chosen) {
    chosen.set(ZLINK_CONFLATE, 1);
}

} // namespace

TEST_CASE("conflate: of what waits in an inproc pipe only the newest message is received") {
    for (const int io_threads : every_io_threads) {
        for (const auto& [sends, receives] : conflatable) {
            for (const bool sender_conflates : {true, false}) {
                for (const bool sender_connects : {true, false}) {
                    CAPTURE(io_threads);
                    CAPTURE(sends);
                    CAPTURE(sender_conflates);
                    CAPTURE(sender_connects);
                    const context owner{io_threads};
                    socket sender{owner, sends};
                    socket receiver{owner, receives};
                    set_conflate(sender_conflates ? sender : receiver);
                    sender.set(ZLINK_SNDHWM, 1);
                    receiver.set(ZLINK_RCVHWM, 1);
                    if (sender_connects) {
                        sender.connect(receiver.bind(transport::inproc));
                    } else {
                        receiver.connect(sender.bind(transport::inproc));
                    }
                    subscribe(sender, receiver);

                    for (int round = 0; round < 3; ++round) {
                        for (int number = 0; number < 100; ++number) {
                            CHECK(sender.send(numbered(number), ZLINK_DONTWAIT) == ok);
                        }
                        CHECK(receiver.recv() == message{"99"});
                        CHECK(receiver.recv_error() == EAGAIN);
                    }
                }
            }
        }
    }
}

TEST_CASE("conflate: the binding side decides, also for peers that connected before") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        const std::string endpoint = vacant(transport::inproc);
        socket push{owner, ZLINK_PUSH};
        socket pull{owner, ZLINK_PULL};
        push.set(ZLINK_SNDHWM, 2).connect(endpoint);
        CHECK(fill(push).count == 2);

        set_conflate(pull);
        pull.bind(endpoint);

        for (int number = 0; number < 100; ++number) {
            CHECK(push.send(numbered(number), ZLINK_DONTWAIT) == ok);
        }
        CHECK(pull.recv() == message{"x"});
        CHECK(pull.recv() == message{"x"});
        CHECK(pull.recv() == message{"99"});
        CHECK(pull.recv_error() == EAGAIN);
    }
}

TEST_CASE("conflate: of a message that was begun before the last frame counts") {
    const context owner;
    const std::string endpoint = vacant(transport::inproc);
    socket push{owner, ZLINK_PUSH};
    socket pull{owner, ZLINK_PULL};
    push.connect(endpoint);
    CHECK(push.send("head", ZLINK_SNDMORE) == ok);
    set_conflate(pull);
    pull.bind(endpoint);

    CHECK(push.send("tail") == ok);

    CHECK(pull.recv() == message{"tail"});
    CHECK(pull.recv_error() == EAGAIN);
}

TEST_CASE("conflate: a receiver drops what it had no time for, and never holds back its peer") {
    for (const setting& over : network_settings()) {
        for (const auto& [sends, receives] : conflatable) {
            if (over.io_threads == 0) {
                continue; // There would be no receiver while the sender waits.
            }
            CAPTURE(over);
            CAPTURE(sends);
            const context owner{over};
            socket sender{owner, sends};
            socket receiver{owner, receives};
            set_conflate(receiver);
            receiver.set(ZLINK_RCVHWM, 1);
            sender.set(ZLINK_SNDHWM, 1);
            if (sends == ZLINK_PUB) {
                sender.set(ZLINK_XPUB_NODROP, 1);
            }
            sender.connect(receiver.bind(over.via));
            subscribe(sender, receiver);

            for (int number = 0; number < large_count; ++number) {
                REQUIRE(sender.send(numbered(number, large_bytes)) == ok);
            }

            CHECK(receive_up_to(receiver, large_count - 1) < large_count);
            CHECK(receiver.recv_error() == EAGAIN);
        }
    }
}

TEST_CASE("conflate: a sender keeps the newest message for a peer that does not read") {
    for (const setting& over : network_settings()) {
        for (const auto& [sends, receives] : conflatable) {
            CAPTURE(over);
            CAPTURE(sends);
            const context owner{over};
            socket sender{owner, sends};
            socket receiver{owner, receives};
            set_conflate(sender);
            sender.set(ZLINK_SNDHWM, 1);
            receiver.set(ZLINK_RCVHWM, 1);
            sender.connect(receiver.bind(over.via));
            subscribe(sender, receiver);

            for (int number = 0; number < large_count; ++number) {
                REQUIRE(sender.send(numbered(number, large_bytes), ZLINK_DONTWAIT) == ok);
            }

            CHECK(receive_up_to(receiver, large_count - 1) < large_count);
            CHECK(receiver.recv_error() == EAGAIN);
        }
    }
}

TEST_CASE("conflate: so they do where messages are encrypted") {
    for (const bool sender_conflates : {true, false}) {
        CAPTURE(sender_conflates);
        const context owner;
        std::array<char, 41> public_key;
        std::array<char, 41> secret_key;
        REQUIRE(zlink_curve_keypair(public_key.data(), secret_key.data()) == 0);
        socket push{owner, ZLINK_PUSH};
        socket pull{owner, ZLINK_PULL};
        for (socket* const each : {&push, &pull}) {
            each->set(ZLINK_CURVE_PUBLICKEY, public_key.data());
            each->set(ZLINK_CURVE_SECRETKEY, secret_key.data());
        }
        pull.set(ZLINK_CURVE_SERVER, 1);
        push.set(ZLINK_CURVE_SERVERKEY, public_key.data());
        set_conflate(sender_conflates ? push : pull);
        push.set(ZLINK_SNDHWM, 1);
        pull.set(ZLINK_RCVHWM, 1);
        push.connect(pull.bind(transport::tcp));

        for (int number = 0; number < large_count; ++number) {
            REQUIRE(push.send(numbered(number, large_bytes)) == ok);
        }

        CHECK(receive_up_to(pull, large_count - 1) < large_count);
        CHECK(pull.recv_error() == EAGAIN);
    }
}

TEST_CASE("conflate: a sender without a connection keeps the newest message") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        const std::string endpoint = vacant(over.via);
        socket push{owner, ZLINK_PUSH};
        set_conflate(push);
        push.set(ZLINK_SNDHWM, 1).set(ZLINK_RECONNECT_IVL, 1).connect(endpoint);
        for (int number = 0; number < 100; ++number) {
            CHECK(push.send(numbered(number), ZLINK_DONTWAIT) == ok);
        }

        socket pull{owner, ZLINK_PULL};
        pull.bind(endpoint);

        CHECK(pull.recv() == message{"99"});
        CHECK(push.send("100") == ok);
        CHECK(pull.recv() == message{"100"});
    }
}

TEST_CASE("conflate: the newest message goes out although its socket was closed") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket pull{owner, ZLINK_PULL};
        const std::string endpoint = pull.bind(over.via);
        {
            socket push{owner, ZLINK_PUSH};
            set_conflate(push);
            push.set(ZLINK_LINGER, -1).connect(endpoint);
            CHECK(push.send("newest") == ok);
        }
        CHECK(pull.recv() == message{"newest"});
    }
}

TEST_CASE("conflate: receiving after a look gives what came meanwhile") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket push{owner, ZLINK_PUSH};
        socket pull{owner, ZLINK_PULL};
        set_conflate(pull);
        push.connect(pull.bind(transport::inproc));

        CHECK(pull.events() == 0);
        CHECK(push.send("old") == ok);
        CHECK(pull.events() == ZLINK_POLLIN);
        CHECK(push.send("new") == ok);
        CHECK(pull.events() == ZLINK_POLLIN);
        CHECK(push.send("newest") == ok);

        CHECK(pull.recv() == message{"newest"});
        CHECK(pull.events() == 0);
        CHECK(pull.recv_error() == EAGAIN);
    }
}

TEST_CASE("conflate: messages of every size arrive unchanged") {
    for (const setting& over : every_setting()) {
        for (const bool sender_conflates : {true, false}) {
            CAPTURE(over);
            CAPTURE(sender_conflates);
            const context owner{over};
            socket push{owner, ZLINK_PUSH};
            socket pull{owner, ZLINK_PULL};
            set_conflate(sender_conflates ? push : pull);
            push.connect(pull.bind(over.via));

            for (const std::size_t bytes : {0, 1, 48, 49, 255, 256, 8191, 8192, 1'000'000}) {
                const std::string sent = numbered(7, bytes).substr(0, bytes);
                CHECK(push.send(sent) == ok);
                CHECK(pull.recv() == message{sent});
            }
        }
    }
}

TEST_CASE("conflate: the bytes of the application are released once nobody needs them") {
    const context owner;
    socket push{owner, ZLINK_PUSH};
    socket pull{owner, ZLINK_PULL};
    set_conflate(push);
    push.connect(pull.bind(transport::inproc));
    std::array<char, 100> data{};
    std::atomic<int> released{0};

    for (int count = 0; count < 3; ++count) {
        frame sent{data.data(), data.size(), count_release, &released};
        CHECK(zlink_msg_send(sent.get(), push, 0) == static_cast<int>(data.size()));
        CHECK(released == count);
    }
    push.close();
    pull.close();

    CHECK(released == 3);
}

TEST_CASE("conflate: of a message of several frames the last one counts") {
    for (const setting& over : every_setting()) {
        for (const bool sender_conflates : {true, false}) {
            CAPTURE(over);
            CAPTURE(sender_conflates);
            const context owner{over};
            socket push{owner, ZLINK_PUSH};
            socket pull{owner, ZLINK_PULL};
            set_conflate(sender_conflates ? push : pull);
            push.connect(pull.bind(over.via));

            CHECK(push.send(message{"first", std::string(large_bytes, 'x'), "last"}) == ok);
            CHECK(pull.recv() == message{"last"});
            CHECK(push.send(message{"first", std::string(large_bytes, 'x')}) == ok);
            CHECK(pull.recv() == message{std::string(large_bytes, 'x')});
            CHECK(pull.recv_error() == EAGAIN);
        }
    }
}

TEST_CASE("conflate: each peer has a newest message of its own") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket pull{owner, ZLINK_PULL};
        set_conflate(pull);
        const std::string endpoint = pull.bind(transport::inproc);
        socket one{owner, ZLINK_PUSH};
        socket other{owner, ZLINK_PUSH};
        one.connect(endpoint);
        other.connect(endpoint);
        for (const char* const text : {"old", "new"}) {
            CHECK(one.send(std::string{"one "} + text) == ok);
            CHECK(other.send(std::string{"other "} + text) == ok);
        }

        const std::set<std::string> got{pull.recv_frame(), pull.recv_frame()};
        CHECK(got == std::set<std::string>{"one new", "other new"});
        CHECK(pull.recv_error() == EAGAIN);
    }
}

TEST_CASE("conflate: subscriptions are not messages") {
    for (const setting& over : every_setting()) {
        for (const bool publisher_conflates : {true, false}) {
            CAPTURE(over);
            CAPTURE(publisher_conflates);
            const context owner{over};
            socket pub{owner, ZLINK_PUB};
            socket sub{owner, ZLINK_SUB};
            set_conflate(publisher_conflates ? pub : sub);
            for (const char* const topic : {"a", "b", "c"}) {
                sub.set(ZLINK_SUBSCRIBE, topic);
            }
            sub.connect(pub.bind(over.via));
            await_subscription(pub, sub, "c");

            for (const char* const topic : {"a", "b", "c"}) {
                CHECK(pub.send(topic) == ok);
                CHECK(sub.recv() == message{topic});
            }
        }
    }
}

TEST_CASE("conflate: means nothing to sockets of other types") {
    const std::array others{pattern_pair{ZLINK_PAIR, ZLINK_PAIR},
                            pattern_pair{ZLINK_DEALER, ZLINK_ROUTER},
                            pattern_pair{ZLINK_REQ, ZLINK_REP}};
    for (const setting& over : every_setting()) {
        for (const auto& [sends, receives] : others) {
            CAPTURE(over);
            CAPTURE(sends);
            const context owner{over};
            socket sender{owner, sends};
            socket receiver{owner, receives};
            set_conflate(receiver);
            sender.connect(receiver.bind(over.via));

            CHECK(sender.send(message{"first", "last"}) == ok);
            const message got = receiver.recv();
            REQUIRE(got.frames.size() >= 2);
            CHECK(got.frames.back() == "last");
            CHECK(got.frames[got.frames.size() - 2] == "first");
        }
    }
}

TEST_CASE("conflate: a peer in the same process whose messages have envelopes sends them all") {
    for (const int io_threads : every_io_threads) {
        for (const bool dealer_binds : {true, false}) {
            CAPTURE(io_threads);
            CAPTURE(dealer_binds);
            const context owner{io_threads};
            socket dealer{owner, ZLINK_DEALER};
            socket req{owner, ZLINK_REQ};
            set_conflate(dealer);
            if (dealer_binds) {
                req.connect(dealer.bind(transport::inproc));
            } else {
                dealer.connect(req.bind(transport::inproc));
            }

            req.set(ZLINK_REQ_RELAXED, 1);
            for (const char* const question : {"one", "two"}) {
                CHECK(req.send(question) == ok);
            }

            CHECK(dealer.recv() == message{"", "one"});
            CHECK(dealer.recv() == message{"", "two"});
        }
    }
}

TEST_CASE("conflate: between threads nothing is reordered, and the last message arrives") {
    constexpr int count = 5000;
    for (const setting& over : threaded_settings()) {
        for (const auto& [sends, receives] : conflatable) {
            for (const bool sender_conflates : {true, false}) {
                CAPTURE(over);
                CAPTURE(sends);
                CAPTURE(sender_conflates);
                const context owner{over};
                socket sender{owner, sends};
                socket receiver{owner, receives};
                set_conflate(sender_conflates ? sender : receiver);
                // The side that does not conflate must not drop.
                sender.set(ZLINK_SNDHWM, 0);
                receiver.set(ZLINK_RCVHWM, 0);
                sender.connect(receiver.bind(over.via));
                subscribe(sender, receiver);

                const std::jthread sending{[&] {
                    for (int number = 0; number < count; ++number) {
                        const std::size_t bytes = number % 64 == 0 ? 10'000 : number % 300;
                        CHECK(sender.send(numbered(number, bytes)) == ok);
                    }
                }};
                receive_up_to(receiver, count - 1);
            }
        }
    }
}

TEST_CASE("conflate: the option is a flag") {
    const context owner;
    socket push{owner, ZLINK_PUSH};
    CHECK(push.get(ZLINK_CONFLATE) == 0);
    set_conflate(push);
    CHECK(push.get(ZLINK_CONFLATE) == 1);
    for (const int refused : {2, -1}) {
        CHECK(zlink_setsockopt(push, ZLINK_CONFLATE, &refused, sizeof refused) == -1);
        CHECK(zlink_errno() == EINVAL);
    }
    CHECK(push.get(ZLINK_CONFLATE) == 1);
}
