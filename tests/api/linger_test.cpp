// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"
#include "watcher.hpp"

using namespace api_test;

TEST_CASE("linger: without a limit, ending the context delivers everything") {
    for (const transport via : {transport::tcp, transport::ipc}) {
        for (const int io_threads : every_io_threads) {
            CAPTURE(static_cast<int>(via));
            CAPTURE(io_threads);
            const context theirs;
            socket pull{theirs, ZLINK_PULL};
            pull.set(ZLINK_RCVHWM, 10);
            const std::string endpoint = pull.bind(via);
            constexpr int count = 2000;
            std::jthread sender{[&] {
                context ours{io_threads};
                {
                    socket push{ours, ZLINK_PUSH};
                    push.set(ZLINK_LINGER, -1).set(ZLINK_SNDHWM, 0).connect(endpoint);
                    for (int number = 0; number < count; ++number) {
                        const std::string large(number % 100 == 0 ? 100000 : 10, 'x');
                        CHECK(push.send(message{std::to_string(number), large}) == ok);
                    }
                }
                ours.end();
            }};

            for (int number = 0; number < count; ++number) {
                const message got = pull.recv();
                REQUIRE(got.frames.size() == 2);
                CHECK(got.frames[0] == std::to_string(number));
            }
        }
    }
}

TEST_CASE("linger: without a limit, messages wait for a peer that binds after they were sent") {
    for (const transport via : {transport::tcp, transport::ipc}) {
        for (const int io_threads : every_io_threads) {
            CAPTURE(static_cast<int>(via));
            CAPTURE(io_threads);
            const std::string endpoint = vacant(via);
            context ours{io_threads};
            {
                socket push{ours, ZLINK_PUSH};
                push.set(ZLINK_LINGER, -1).set(ZLINK_RECONNECT_IVL, 5).connect(endpoint);
                for (int number = 0; number < 10; ++number) {
                    REQUIRE(push.send(std::to_string(number)) == ok);
                }
            }
            std::jthread ending{[&] { ours.end(); }};

            const context theirs;
            socket pull{theirs, ZLINK_PULL};
            pull.bind(endpoint);
            for (int number = 0; number < 10; ++number) {
                CHECK(pull.recv() == message{std::to_string(number)});
            }
        }
    }
}

TEST_CASE("linger: 0 drops what was not sent, and ending the context does not wait") {
    const silent_listener silent;
    for (const int io_threads : every_io_threads) {
        for (const std::string& endpoint : {vacant(transport::tcp), vacant(transport::ipc),
                                            vacant(transport::inproc), silent.endpoint()}) {
            CAPTURE(endpoint);
            CAPTURE(io_threads);
            context owner{io_threads};
            socket push{owner, ZLINK_PUSH};
            watcher watched{owner, push};
            push.set(ZLINK_LINGER, 0).connect(endpoint);
            for (int number = 0; number < 10; ++number) {
                REQUIRE(push.send(std::string(10000, 'x')) == ok);
            }
            if (!endpoint.starts_with("inproc")) {
                watched.next(); // The connection attempt has begun.
            }
            watched.end().close();

            const milliseconds taken = time_of([&] {
                push.close();
                owner.end();
            });

            CHECK(taken < 1s);
        }
    }
}

TEST_CASE("linger: a number of milliseconds is what ending the context waits at most") {
    const silent_listener silent;
    for (const int io_threads : every_io_threads) {
        for (const std::string& endpoint :
             {vacant(transport::tcp), vacant(transport::ipc), silent.endpoint()}) {
            CAPTURE(endpoint);
            CAPTURE(io_threads);
            context owner{io_threads};
            socket push{owner, ZLINK_PUSH};
            push.set(ZLINK_LINGER, 60).connect(endpoint);
            REQUIRE(push.send("x") == ok);

            const milliseconds taken = time_of([&] {
                push.close();
                owner.end();
            });

            CHECK(taken >= 55ms);
            CHECK(taken < 2s);
        }
    }
}

TEST_CASE("linger: a number of milliseconds is not waited for when there is nothing to send") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        context owner{over};
        {
            socket push{owner, ZLINK_PUSH};
            socket pull{owner, ZLINK_PULL};
            push.set(ZLINK_LINGER, 5000).connect(pull.bind(over.via));
            REQUIRE(push.send("x") == ok);
            CHECK(pull.recv() == message{"x"});
            socket idle{owner, ZLINK_PUSH};
            idle.set(ZLINK_LINGER, 5000).connect(vacant(over.via));
        }
        CHECK(time_of([&] { owner.end(); }) < 2s);
    }
}

TEST_CASE("linger: sockets of a context that is not blocky do not linger, others do") {
    void* const owner = zlink_ctx_new();
    const auto linger_of = [&](int type) {
        void* const asked = zlink_socket(owner, type);
        int linger = 12345;
        std::size_t bytes = sizeof linger;
        CHECK(zlink_getsockopt(asked, ZLINK_LINGER, &linger, &bytes) == 0);
        zlink_close(asked);
        return linger;
    };
    CHECK(linger_of(ZLINK_PUSH) == -1);
    CHECK(zlink_ctx_set(owner, ZLINK_BLOCKY, 0) == 0);
    CHECK(linger_of(ZLINK_PUSH) == 0);
    zlink_ctx_term(owner);
}

TEST_CASE("linger: a bound socket delivers to the peers that it has") {
    for (const setting& over : network_settings()) {
        CAPTURE(over);
        const context theirs;
        context ours{over};
        socket pull{theirs, ZLINK_PULL};
        {
            socket push{ours, ZLINK_PUSH};
            push.set(ZLINK_LINGER, -1);
            pull.connect(push.bind(over.via));
            for (int number = 0; number < 500; ++number) {
                REQUIRE(push.send(std::to_string(number)) == ok);
            }
        }
        ours.end();

        for (int number = 0; number < 500; ++number) {
            CHECK(pull.recv() == message{std::to_string(number)});
        }
    }
}

TEST_CASE("linger: what was sent to an inproc peer stays when the sender closes") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket pull{owner, ZLINK_PULL};
        const std::string endpoint = pull.bind(transport::inproc);
        {
            socket push{owner, ZLINK_PUSH};
            push.set(ZLINK_LINGER, 0).connect(endpoint);
            REQUIRE(push.send(message{"a", "b"}) == ok);
        }
        CHECK(pull.recv() == message{"a", "b"});
    }
}

TEST_CASE("linger: a context ends while its sockets are still connecting") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        for (int round = 0; round < 30; ++round) {
            context owner{io_threads};
            {
                std::vector<socket> many;
                for (int index = 0; index < 5; ++index) {
                    socket& dealer = many.emplace_back(owner, ZLINK_DEALER);
                    dealer.connect(vacant(transport::tcp));
                    dealer.connect(vacant(transport::ipc));
                    dealer.connect("tcp://localhost:" + std::to_string(1 + round));
                }
            }
            CHECK(time_of([&] { owner.end(); }) < 5s);
        }
    }
}
