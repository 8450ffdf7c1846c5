// SPDX-License-Identifier: MPL-2.0
//
// Sockets that several threads use at the same time: ZLINK_THREAD_SAFE, and the draft types.
#include "fixture.hpp"

#include <algorithm>
#include <ctime>
#include <map>
#include <mutex>
#include <optional>
#include <poll.h>
#include <pthread.h>
#include <set>
#include <unistd.h>

using namespace api_test;

namespace {

socket shared_socket(const context& owner, int type) {
    socket made{owner, type};
    made.set(ZLINK_THREAD_SAFE, 1);
    return made;
}

/// Runs `body(number)` on that many threads, and waits for them.
void on_threads(int count, const std::function<void(int)>& body) {
    std::vector<std::jthread> all;
    for (int number = 0; number < count; ++number) {
        all.emplace_back([&body, number] { body(number); });
    }
}

/// A thread that is inside `call`, which waits.
class waiting_thread {
public:
    explicit waiting_thread(std::function<int()> call)
        : thread_{[this, call = std::move(call)] {
              id_ = gettid();
              id_.notify_all();
              outcome_ = call();
          }} {
        await_asleep(id_);
    }

    /// Waits for the call's end.
    int outcome() {
        thread_.join();
        return outcome_;
    }

private:
    std::atomic<int> id_{0};
    int outcome_ = -1;
    std::jthread thread_;
};

} // namespace

TEST_CASE("thread-safe: an option, which cannot be unset") {
    const context owner;
    socket pair{owner, ZLINK_PAIR};
    CHECK(pair.get(ZLINK_THREAD_SAFE) == 0);
    pair.set(ZLINK_THREAD_SAFE, 0);
    pair.set(ZLINK_THREAD_SAFE, 1);
    CHECK(pair.get(ZLINK_THREAD_SAFE) == 1);
    pair.set(ZLINK_THREAD_SAFE, 1);
    const int no = 0;
    CHECK(error_of(zlink_setsockopt(pair, ZLINK_THREAD_SAFE, &no, sizeof no)) == EINVAL);
    CHECK(std::string{zlink_error_text()}.find("stays so") != std::string::npos);
    const int two = 2;
    CHECK(error_of(zlink_setsockopt(pair, ZLINK_THREAD_SAFE, &two, sizeof two)) == EINVAL);
    CHECK(pair.get(ZLINK_THREAD_SAFE) == 1);
    CHECK(zlink_socket_peers(pair, nullptr, 0) == 0);
    void* const handle = pair;
    pair.close();
    CHECK(error_of(zlink_send(handle, "x", 1, 0)) == ENOTSOCK);
    CHECK(error_of(zlink_close(handle)) == ENOTSOCK);
#ifdef ZLINK_BUILD_DRAFT_API
    for (int type = ZLINK_SERVER; type <= ZLINK_CHANNEL; ++type) {
        if (type != ZLINK_DGRAM) {
            CHECK(socket{owner, type}.get(ZLINK_THREAD_SAFE) == 1);
        }
    }
#endif
}

TEST_CASE("thread-safe: messages that several threads send arrive whole, in each thread's order") {
    constexpr int thread_count = 8;
    constexpr int message_count = 500;
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket push = shared_socket(owner, ZLINK_PUSH);
        socket pull{owner, ZLINK_PULL};
        push.connect(pull.bind(over.via));
        std::jthread receiver{[&] {
            std::array<int, thread_count> next{};
            for (int number = 0; number < thread_count * message_count; ++number) {
                const message got = pull.recv();
                REQUIRE(got.frames.size() == 3);
                CHECK(got.frames[0] == got.frames[2]);
                const int from = std::stoi(got.frames[0]);
                CHECK(got.frames[1] == std::to_string(next[from]++));
            }
        }};
        on_threads(thread_count, [&](int thread) {
            const std::string name = std::to_string(thread);
            for (int number = 0; number < message_count; ++number) {
                REQUIRE(push.send(message{name, std::to_string(number), name}) == ok);
            }
        });
    }
}

TEST_CASE("thread-safe: several threads that receive get each message once, whole") {
    constexpr int thread_count = 4;
    constexpr int message_count = 2000;
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket pull = shared_socket(owner, ZLINK_PULL);
        socket push{owner, ZLINK_PUSH};
        push.connect(pull.bind(over.via));
        std::mutex mutex;
        std::set<std::string> all;
        std::jthread sender{[&] {
            for (int number = 0; number < message_count; ++number) {
                const std::string text = std::to_string(number);
                REQUIRE(push.send(message{text, text}) == ok);
            }
            for (int number = 0; number < thread_count; ++number) {
                REQUIRE(push.send(message{"end", "end"}) == ok);
            }
        }};
        on_threads(thread_count, [&](int) {
            while (true) {
                const message got = pull.recv();
                REQUIRE(got.frames.size() == 2);
                CHECK(got.frames[0] == got.frames[1]);
                if (got.frames[0] == "end") {
                    return;
                }
                const std::lock_guard lock{mutex};
                CHECK(all.insert(got.frames[0]).second);
            }
        });
        CHECK(all.size() == message_count);
    }
}

TEST_CASE("thread-safe: of the threads that wait for a message each gets one") {
    for (const setting& over : threaded_settings()) {
        CAPTURE(over);
        const context owner{over};
        socket pull = shared_socket(owner, ZLINK_PULL);
        socket push{owner, ZLINK_PUSH};
        push.connect(pull.bind(over.via));
        std::vector<std::unique_ptr<waiting_thread>> waiting;
        for (int index = 0; index < 4; ++index) {
            waiting.push_back(std::make_unique<waiting_thread>(
                [&] { return pull.recv() == message{"x"} ? ok : -1; }));
        }
        for (int index = 0; index < 4; ++index) {
            REQUIRE(push.send("x") == ok);
        }
        for (const auto& each : waiting) {
            CHECK(each->outcome() == ok);
        }
        // All at once, too.
        waiting.clear();
        for (int index = 0; index < 4; ++index) {
            waiting.push_back(std::make_unique<waiting_thread>(
                [&] { return pull.recv().frames.size() == 2 ? ok : -1; }));
        }
        on_threads(1, [&](int) {
            for (int index = 0; index < 4; ++index) {
                REQUIRE(push.send(message{"a", "b"}) == ok);
            }
        });
        for (const auto& each : waiting) {
            CHECK(each->outcome() == ok);
        }
    }
}

TEST_CASE("thread-safe: threads that wait to send and to receive do not hold each other up") {
    for (const setting& over : threaded_settings()) {
        CAPTURE(over);
        const context owner{over};
        socket dealer = shared_socket(owner, ZLINK_DEALER);
        dealer.set(ZLINK_SNDHWM, 1).set(ZLINK_SNDBUF, 4096);
        socket other{owner, ZLINK_DEALER};
        other.set(ZLINK_RCVHWM, 1).set(ZLINK_RCVBUF, 4096);
        dealer.connect(other.bind(over.via));
        const std::string large(100'000, 'x');
        waiting_thread receiver{[&] { return dealer.recv() == message{"for you"} ? ok : -1; }};
        int sent = 0;
        while (dealer.poll(ZLINK_POLLOUT, moment) != 0) {
            if (dealer.send(large, ZLINK_DONTWAIT) == ok) {
                REQUIRE(++sent < 10000);
            }
        }
        // It waits, unless the other end has just read more.
        int sender_outcome = -1;
        std::jthread sender{[&] { sender_outcome = dealer.send("at last"); }};

        REQUIRE(other.send("for you") == ok);
        CHECK(receiver.outcome() == ok);
        for (int number = 0; number < sent; ++number) {
            CHECK(other.recv() == message{large});
        }
        CHECK(other.recv() == message{"at last"});
        sender.join();
        CHECK(sender_outcome == ok);
    }
}

TEST_CASE("thread-safe: without I/O threads the waiting threads take turns in driving") {
    for (const transport via : {transport::inproc, transport::tcp, transport::ipc, transport::ws}) {
        const context owner{0};
        socket one = shared_socket(owner, ZLINK_DEALER);
        socket other = shared_socket(owner, ZLINK_DEALER);
        other.connect(one.bind(via));
        constexpr int message_count = 300;
        on_threads(4, [&](int thread) {
            socket& mine = thread % 2 == 0 ? one : other;
            for (int number = 0; number < message_count; ++number) {
                if (thread < 2) {
                    REQUIRE(mine.send(message{"a", std::to_string(number)}) == ok);
                } else {
                    CHECK(mine.recv().frames.size() == 2);
                }
            }
        });
    }
}

TEST_CASE("thread-safe: closing a socket ends the calls of other threads") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        for (int round = 0; round < 20; ++round) {
            socket pull = shared_socket(owner, ZLINK_PULL);
            pull.bind(transport::tcp);
            void* const handle = pull;
            socket second{owner, ZLINK_PULL};
            std::atomic<int> begun{0};
            std::vector<std::jthread> all;
            for (int thread = 0; thread < 3; ++thread) {
                all.emplace_back([&] {
                    char byte;
                    ++begun;
                    CHECK(error_of(zlink_recv(handle, &byte, 1, 0)) == ENOTSOCK);
                    CHECK(error_of(zlink_send(handle, &byte, 1, 0)) == ENOTSOCK);
                });
            }
            all.emplace_back([&] {
                zlink_pollitem_t items[] = {{handle, 0, ZLINK_POLLIN, 0}};
                ++begun;
                CHECK(error_of(zlink_poll(items, 1, -1)) == ENOTSOCK);
            });
            while (begun != 4) {
                std::this_thread::yield();
            }
            pull.close();
        }
    }
}

TEST_CASE("thread-safe: closing a socket ends a wait to receive while others poll the socket") {
    constexpr int round_count = 150;
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        for (int round = 0; round < round_count; ++round) {
            const context owner{io_threads};
            socket one = shared_socket(owner, ZLINK_DEALER);
            socket other = shared_socket(owner, ZLINK_DEALER);
            other.connect(one.bind(transport::inproc));
            void* const handles[] = {one, other};
            std::atomic<int> begun{0};
            std::vector<std::jthread> all;
            for (void* const handle : handles) {
                all.emplace_back([&begun, handle] {
                    char byte;
                    ++begun;
                    while (zlink_recv(handle, &byte, 1, 0) >= 0) {
                    }
                    CHECK(zlink_errno() == ENOTSOCK);
                });
            }
            all.emplace_back([&begun, &handles] {
                ++begun;
                int ready = 0;
                while (ready >= 0) {
                    zlink_pollitem_t items[] = {{handles[0], 0, ZLINK_POLLIN, 0},
                                                {handles[1], 0, ZLINK_POLLIN, 0}};
                    ready = zlink_poll(items, 2, 1);
                }
                CHECK(zlink_errno() == ENOTSOCK);
            });
            all.emplace_back([&begun, handle = handles[1]] {
                ++begun;
                while (zlink_send(handle, "x", 1, ZLINK_DONTWAIT) >= 0 || zlink_errno() == EAGAIN) {
                    std::this_thread::yield();
                }
                CHECK(zlink_errno() == ENOTSOCK);
            });
            while (begun != 4) {
                std::this_thread::yield();
            }
            for (int turn = 0; turn < round; ++turn) { // Another moment in each round.
                std::this_thread::yield();
            }
            one.close();
            other.close();
        }
    }
}

TEST_CASE("thread-safe: a context's shutdown ends the calls of all threads") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        context owner{io_threads};
        socket dealer = shared_socket(owner, ZLINK_DEALER);
        dealer.bind(transport::tcp);
        std::atomic<int> begun{0};
        std::vector<std::jthread> all;
        for (int thread = 0; thread < 4; ++thread) {
            all.emplace_back([&, thread] {
                char byte;
                ++begun;
                CHECK(error_of(thread % 2 == 0 ? zlink_recv(dealer, &byte, 1, 0)
                                               : zlink_send(dealer, "x", 1, 0)) == ETERM);
            });
        }
        while (begun != 4) {
            std::this_thread::yield();
        }
        owner.shut_down();
        all.clear();
        dealer.close();
    }
}

TEST_CASE("thread-safe: while one thread is in the middle of a message, others wait") {
    const context owner;
    socket push = shared_socket(owner, ZLINK_PUSH);
    socket pull = shared_socket(owner, ZLINK_PULL);
    push.connect(pull.bind(transport::inproc));
    REQUIRE(push.send("first", ZLINK_SNDMORE) == ok);
    on_threads(1, [&](int) {
        CHECK(push.send("between", ZLINK_DONTWAIT) == EAGAIN);
        CHECK(push.events() == 0);
    });
    CHECK(push.events() == ZLINK_POLLOUT);
    waiting_thread sender{[&] { return push.send(message{"behind", "it"}); }};
    REQUIRE(push.send("second") == ok);
    CHECK(sender.outcome() == ok);

    CHECK(pull.recv_frame() == "first");
    CHECK(pull.more());
    on_threads(1, [&](int) {
        CHECK(!pull.more());
        CHECK(pull.recv_error() == EAGAIN);
        CHECK(pull.events() == 0);
    });
    waiting_thread receiver{[&] { return pull.recv() == message{"behind", "it"} ? ok : -1; }};
    CHECK(pull.recv_frame() == "second");
    CHECK(receiver.outcome() == ok);
}

TEST_CASE("thread-safe: threads that wait for another's message to end go on, with any type") {
    const std::array types{
        std::pair{ZLINK_PUSH, ZLINK_PULL},     std::pair{ZLINK_PUB, ZLINK_SUB},
        std::pair{ZLINK_XPUB, ZLINK_SUB},      std::pair{ZLINK_XSUB, ZLINK_XPUB},
        std::pair{ZLINK_DEALER, ZLINK_DEALER}, std::pair{ZLINK_ROUTER, ZLINK_DEALER},
        std::pair{ZLINK_PAIR, ZLINK_PAIR}};
    for (const auto& [type, peers] : types) {
        for (const setting& over : every_setting()) {
            for (const bool by_poll : {false, true}) {
                CAPTURE(type);
                CAPTURE(over);
                CAPTURE(by_poll);
                const context owner{over};
                socket one = shared_socket(owner, type);
                socket other{owner, peers};
                other.set(ZLINK_ROUTING_ID, "peer");
                other.connect(one.bind(over.via));
                wait_until(owner,
                           [&] { return one.send("peer", ZLINK_SNDMORE | ZLINK_DONTWAIT) == ok; });
                waiting_thread first{[&] {
                    return by_poll && one.poll(ZLINK_POLLOUT, patience) != ZLINK_POLLOUT
                               ? -1
                               : one.send(message{"peer", "first"});
                }};
                waiting_thread second{[&] { return one.send(message{"peer", "second"}); }};
                REQUIRE(one.send("end") == ok);
                CHECK(first.outcome() == ok);
                CHECK(second.outcome() == ok);
                // Also if the thread ends within its message.
                std::optional<waiting_thread> third;
                on_threads(1, [&](int) {
                    REQUIRE(one.send("peer", ZLINK_SNDMORE) == ok);
                    third.emplace([&] { return one.send(message{"peer", "third"}); });
                });
                CHECK(third->outcome() == ok);
            }
        }
    }
}

TEST_CASE("thread-safe: the unfinished message of a thread that ended is dropped") {
    const std::array senders{std::pair{ZLINK_PUSH, ZLINK_PULL}, std::pair{ZLINK_PUB, ZLINK_SUB},
                             std::pair{ZLINK_DEALER, ZLINK_DEALER},
                             std::pair{ZLINK_PAIR, ZLINK_PAIR}, std::pair{ZLINK_XSUB, ZLINK_XPUB}};
    for (const auto& [type, peers] : senders) {
        CAPTURE(type);
        const context owner;
        socket one = shared_socket(owner, type);
        socket other{owner, peers};
        const std::string endpoint = one.bind(transport::inproc);
        if (peers == ZLINK_SUB) {
            other.set(ZLINK_SUBSCRIBE, "");
        }
        other.connect(endpoint);
        on_threads(1, [&](int) { REQUIRE(one.send("unfinished", ZLINK_SNDMORE) == ok); });
        REQUIRE(one.send(message{"whole", "message"}) == ok);
        CHECK(other.recv() == message{"whole", "message"});
    }
}

TEST_CASE("thread-safe: the rest of a message that an ended thread received in part is dropped") {
    const context owner;
    socket router = shared_socket(owner, ZLINK_ROUTER);
    socket dealer{owner, ZLINK_DEALER};
    dealer.set(ZLINK_ROUTING_ID, "d");
    dealer.connect(router.bind(transport::inproc));
    REQUIRE(dealer.send(message{"1", "2", "3"}) == ok);
    REQUIRE(dealer.send(message{"whole"}) == ok);
    on_threads(1, [&](int) {
        CHECK(router.recv_frame() == "d");
        CHECK(router.recv_frame() == "1");
    });
    CHECK(router.recv() == message{"d", "whole"});
    // A reply that a thread began is dropped as well.
    on_threads(1, [&](int) { REQUIRE(router.send("d", ZLINK_SNDMORE) == ok); });
    REQUIRE(router.send(message{"d", "reply"}) == ok);
    CHECK(dealer.recv() == message{"reply"});
}

TEST_CASE("thread-safe: a request that an ended thread began is dropped") {
    const context owner;
    socket req = shared_socket(owner, ZLINK_REQ);
    socket rep = shared_socket(owner, ZLINK_REP);
    req.connect(rep.bind(transport::inproc));
    on_threads(1, [&](int) { REQUIRE(req.send("unfinished", ZLINK_SNDMORE) == ok); });
    REQUIRE(req.send("request") == ok);
    CHECK(rep.recv() == message{"request"});
    on_threads(1, [&](int) { REQUIRE(rep.send("unfinished", ZLINK_SNDMORE) == ok); });
    CHECK(rep.recv_error() == EAGAIN);
    CHECK(rep.send("nobody asked") == EFSM);
}

TEST_CASE("thread-safe: threads that poll several sockets are told what others left") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket pull = shared_socket(owner, ZLINK_PULL);
        socket quiet = shared_socket(owner, ZLINK_PULL);
        socket push{owner, ZLINK_PUSH};
        push.connect(pull.bind(transport::tcp));
        quiet.bind(transport::tcp);
        constexpr int message_count = 500;
        std::atomic<int> received{0};
        std::vector<std::jthread> all;
        for (int thread = 0; thread < 3; ++thread) {
            all.emplace_back([&, thread] {
                while (true) {
                    if (thread == 2) {
                        if (pull.recv_frame() == "end") {
                            return;
                        }
                        ++received;
                        continue;
                    }
                    zlink_pollitem_t items[] = {{pull, 0, ZLINK_POLLIN, 0},
                                                {quiet, 0, ZLINK_POLLIN, 0}};
                    REQUIRE(zlink_poll(items, 2, patience.count()) == 1);
                    char text[8];
                    const int bytes = zlink_recv(pull, text, sizeof text, ZLINK_DONTWAIT);
                    if (bytes < 0) {
                        CHECK(zlink_errno() == EAGAIN);
                    } else if (std::string_view(text, static_cast<std::size_t>(bytes)) == "end") {
                        return;
                    } else {
                        ++received;
                    }
                }
            });
        }
        for (int number = 0; number < message_count; ++number) {
            REQUIRE(push.send("x") == ok);
        }
        for (int number = 0; number < 3; ++number) {
            REQUIRE(push.send("end") == ok);
        }
        all.clear();
        CHECK(received == message_count);
    }
}

TEST_CASE("thread-safe: the descriptor stays readable while another thread leaves a message") {
    const context owner;
    socket pull = shared_socket(owner, ZLINK_PULL);
    socket push{owner, ZLINK_PUSH};
    push.connect(pull.bind(transport::inproc));
    pollfd watched{pull.get(ZLINK_FD), POLLIN, 0};
    CHECK(pull.events() == 0);
    CHECK(::poll(&watched, 1, 0) == 0);
    REQUIRE(push.send("1") == ok);
    REQUIRE(push.send("2") == ok);
    CHECK(::poll(&watched, 1, 0) == 1);
    on_threads(1, [&](int) { CHECK(pull.recv() == message{"1"}); });
    CHECK(::poll(&watched, 1, 0) == 1);
    CHECK(pull.events() == ZLINK_POLLIN);
    CHECK(pull.recv() == message{"2"});
    CHECK(pull.events() == 0);
    CHECK(::poll(&watched, 1, 0) == 0);
    // Reading the events again and again does not make it readable.
    CHECK(push.get(ZLINK_THREAD_SAFE) == 0);
}

TEST_CASE("thread-safe: the descriptor is not readable while there is nothing to do") {
    for (const int type : {ZLINK_PULL, ZLINK_XPUB, ZLINK_XSUB, ZLINK_DEALER, ZLINK_ROUTER,
                           ZLINK_PAIR, ZLINK_STREAM}) {
        CAPTURE(type);
        const context owner;
        socket one = shared_socket(owner, type);
        one.bind(transport::tcp);
        pollfd watched{one.get(ZLINK_FD), POLLIN, 0};
        // Receives all, then waits, as docs/guide/event_loops.md says.
        int wakes = 0;
        do {
            while (one.recv_error() == ok) {
            }
        } while (::poll(&watched, 1, 0) == 1 && ++wakes < 10);
        CHECK(wakes <= 2);
        // The same in another thread than the one that has asked for the descriptor.
        on_threads(1, [&](int) {
            wakes = 0;
            do {
                while (one.recv_error() == ok) {
                }
            } while (::poll(&watched, 1, 0) == 1 && ++wakes < 10);
            CHECK(wakes <= 2);
        });
    }
}

TEST_CASE("thread-safe: the descriptor tells that another thread's message has ended") {
    const context owner;
    socket push = shared_socket(owner, ZLINK_PUSH);
    socket pull = shared_socket(owner, ZLINK_PULL);
    push.connect(pull.bind(transport::inproc));
    pollfd to_send{push.get(ZLINK_FD), POLLIN, 0};
    pollfd to_receive{pull.get(ZLINK_FD), POLLIN, 0};
    const auto wait = [&](pollfd& watched, socket& of, int wanted) {
        while ((of.events() & wanted) == 0) {
            if (::poll(&watched, 1, static_cast<int>(patience.count())) != 1) {
                return -1;
            }
        }
        return ok;
    };
    REQUIRE(push.send("1", ZLINK_SNDMORE) == ok);
    waiting_thread sender{[&] { return wait(to_send, push, ZLINK_POLLOUT); }};
    REQUIRE(push.send("2") == ok);
    CHECK(sender.outcome() == ok);

    REQUIRE(push.send(message{"3", "4"}) == ok);
    REQUIRE(push.send("5") == ok);
    CHECK(pull.recv_frame() == "1");
    waiting_thread receiver{[&] { return wait(to_receive, pull, ZLINK_POLLIN); }};
    CHECK(pull.recv_frame() == "2");
    CHECK(receiver.outcome() == ok);

    // Also if the thread ends within it, and by a function instead of the descriptor.
    std::atomic<int> called{0};
    const auto count = [](void* hint) { ++*static_cast<std::atomic<int>*>(hint); };
    REQUIRE(zlink_socket_notify(pull, count, &called) == 0);
    on_threads(1, [&](int) {
        CHECK(pull.recv_frame() == "3");
        on_threads(1, [&](int) { CHECK(pull.recv_error() == EAGAIN); });
        called = 0;
    });
    CHECK(called > 0);
    CHECK(pull.recv() == message{"5"});
    REQUIRE(zlink_socket_notify(pull, nullptr, nullptr) == 0);
}

TEST_CASE("thread-safe: a proxy passes messages while other threads use its sockets") {
    const context owner;
    socket front = shared_socket(owner, ZLINK_PULL);
    socket back = shared_socket(owner, ZLINK_PUSH);
    socket push{owner, ZLINK_PUSH};
    socket pull{owner, ZLINK_PULL};
    push.connect(front.bind(transport::inproc));
    pull.connect(back.bind(transport::inproc));
    void* const front_handle = front;
    std::jthread proxy{[&] { CHECK(error_of(zlink_proxy(front, back, nullptr)) == ENOTSOCK); }};
    for (int number = 0; number < 500; ++number) {
        REQUIRE(push.send(message{"a", std::to_string(number)}) == ok);
        if (number % 10 == 0) {
            REQUIRE(back.send(message{"b", "directly"}) == ok);
        }
    }
    int from_proxy = 0;
    int direct = 0;
    while (from_proxy + direct < 550) {
        const message got = pull.recv();
        if (got.frames[0] == "a") {
            CHECK(got.frames[1] == std::to_string(from_proxy++));
        } else {
            ++direct;
        }
    }
    front.close(); // This ends the proxy.
    proxy.join();
    CHECK(error_of(zlink_close(front_handle)) == ENOTSOCK);
}

TEST_CASE("thread-safe: a stream serves its peers from several threads") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket server = shared_socket(owner, ZLINK_STREAM);
        server.set(ZLINK_STREAM_EVENTS, 0);
        const std::string endpoint = server.bind(transport::tcp);
        constexpr int message_count = 200;
        std::vector<std::jthread> workers;
        for (int thread = 0; thread < 3; ++thread) {
            workers.emplace_back([&] {
                while (true) {
                    char id[4];
                    char text[16];
                    const int bytes = zlink_stream_recv(server, id, text, sizeof text, 0);
                    REQUIRE(bytes >= 0);
                    if (std::string_view(text, static_cast<std::size_t>(bytes)) == "end") {
                        return;
                    }
                    REQUIRE(zlink_stream_send(server, id, text, static_cast<std::size_t>(bytes),
                                              0) == bytes);
                }
            });
        }
        {
            const context others{1};
            socket client{others, ZLINK_STREAM};
            client.set(ZLINK_STREAM_EVENTS, 0);
            client.connect(endpoint);
            char id[4] = {0, 0, 0, 1};
            std::set<std::string> answers;
            for (int number = 0; number < message_count; ++number) {
                const std::string text = std::to_string(number);
                wait_until(others, [&] {
                    return zlink_stream_send(client, id, text.data(), text.size(), 0) >= 0;
                });
            }
            for (int number = 0; number < message_count; ++number) {
                char text[16];
                const int bytes = zlink_stream_recv(client, id, text, sizeof text, 0);
                REQUIRE(bytes > 0);
                answers.emplace(text, static_cast<std::size_t>(bytes));
            }
            CHECK(answers.size() == message_count);
            for (int number = 0; number < 3; ++number) {
                REQUIRE(zlink_stream_send(client, id, "end", 3, 0) == 3);
            }
            workers.clear();
        }
        zlink_stream_message_t batch[2];
        CHECK(error_of(zlink_stream_recv_batch(server, batch, 2, ZLINK_DONTWAIT)) == ENOTSUP);
    }
}

TEST_CASE("thread-safe: events of a stream are received whole") {
    const context owner;
    socket server = shared_socket(owner, ZLINK_STREAM);
    const std::string endpoint = server.bind(transport::tcp);
    socket first{owner, ZLINK_STREAM};
    socket second{owner, ZLINK_STREAM};
    first.connect(endpoint);
    second.connect(endpoint);
    char id[4];
    char event[2];
    REQUIRE(zlink_stream_recv(server, id, event, sizeof event, 0) == 1);
    REQUIRE(server.more());
    waiting_thread other{[&] {
        char to[4];
        char what[2];
        return zlink_stream_recv(server, to, what, sizeof what, 0) == 1 && server.more()
                   ? ok
                   : zlink_errno();
    }};
    server.recv_frame(); // The text of the event.
    CHECK(!server.more());
    CHECK(other.outcome() == ok);
}

TEST_CASE("thread-safe: a cancelled thread ends after its call, and harms nobody") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket pull = shared_socket(owner, ZLINK_PULL);
        pull.set(ZLINK_RCVTIMEO, moment);
        socket push{owner, ZLINK_PUSH};
        push.connect(pull.bind(transport::tcp));
        pthread_t cancelled;
        REQUIRE(pthread_create(
                    &cancelled, nullptr,
                    [](void* from) -> void* {
                        char byte;
                        while (true) {
                            zlink_recv(from, &byte, 1, 0);
                            pthread_testcancel();
                        }
                    },
                    pull) == 0);
        REQUIRE(pthread_cancel(cancelled) == 0);
        void* outcome = nullptr;
        REQUIRE(pthread_join(cancelled, &outcome) == 0);
        CHECK(outcome == PTHREAD_CANCELED);
        pull.set(ZLINK_RCVTIMEO, patience);
        REQUIRE(push.send("x") == ok);
        CHECK(pull.recv() == message{"x"});
    }
}

#ifdef ZLINK_BUILD_DRAFT_API

TEST_CASE("thread-safe: workers of a server answer its clients") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket server{owner, ZLINK_SERVER};
        const std::string endpoint = server.bind(over.via);
        constexpr int worker_count = 4;
        constexpr int request_count = 300;
        std::vector<std::jthread> workers;
        for (int thread = 0; thread < worker_count; ++thread) {
            workers.emplace_back([&] {
                frame request;
                while (zlink_msg_recv(request.get(), server, 0) >= 0 && request.text() != "end") {
                    REQUIRE(zlink_msg_send(request.get(), server, 0) >= 0);
                }
            });
        }
        {
            socket client{owner, ZLINK_CLIENT};
            client.connect(endpoint);
            on_threads(3, [&](int) {
                for (int number = 0; number < request_count; ++number) {
                    REQUIRE(client.send("x") == ok);
                    CHECK(client.recv() == message{"x"});
                }
            });
            for (int number = 0; number < worker_count; ++number) {
                REQUIRE(client.send("end") == ok);
            }
            workers.clear();
        }
    }
}

TEST_CASE("thread-safe: threads that wait for full peers sleep, and each goes on with its own") {
    const context owner;
    socket server{owner, ZLINK_SERVER};
    server.set(ZLINK_SNDHWM, 1);
    const std::string endpoint = server.bind(transport::inproc);
    std::vector<socket> clients;
    std::vector<std::uint32_t> numbers;
    for (int index = 0; index < 3; ++index) {
        socket& client = clients.emplace_back(owner, ZLINK_CLIENT);
        client.set(ZLINK_RCVHWM, 1);
        client.connect(endpoint);
        REQUIRE(client.send("hello") == ok);
        frame got;
        REQUIRE(zlink_msg_recv(got.get(), server, 0) >= 0);
        numbers.push_back(zlink_msg_routing_id(got.get()));
    }
    const auto send_to = [&](std::size_t index, int flags) {
        frame sent{"x"};
        zlink_msg_set_routing_id(sent.get(), numbers[index]);
        return error_of(zlink_msg_send(sent.get(), server, flags));
    };
    std::array<int, 3> sent{};
    for (std::size_t index = 0; index < 3; ++index) {
        while (send_to(index, ZLINK_DONTWAIT) == ok) {
            ++sent[index];
        }
    }
    std::vector<std::unique_ptr<waiting_thread>> waiting;
    for (std::size_t index = 0; index < 3; ++index) {
        waiting.push_back(
            std::make_unique<waiting_thread>([&, index] { return send_to(index, 0); }));
    }
    waiting_thread receiver{[&] { return server.recv() == message{"wake up"} ? ok : -1; }};

    const std::clock_t before = std::clock();
    std::this_thread::sleep_for(10 * moment); // Not for an event: nothing may happen.
    CHECK(std::clock() - before < CLOCKS_PER_SEC / 20);

    for (const std::size_t index : {1, 2, 0}) {
        for (int number = 0; number <= sent[index]; ++number) {
            CHECK(clients[index].recv() == message{"x"});
        }
        CHECK(waiting[index]->outcome() == ok);
    }
    REQUIRE(clients[0].send("wake up") == ok);
    CHECK(receiver.outcome() == ok);
}

TEST_CASE("thread-safe: a draft socket has a descriptor") {
    const context owner;
    socket server{owner, ZLINK_SERVER};
    socket client{owner, ZLINK_CLIENT};
    client.connect(server.bind(transport::tcp));
    pollfd watched{server.get(ZLINK_FD), POLLIN, 0};
    REQUIRE(client.send("x") == ok);
    wait_until(owner, [&] {
        REQUIRE(::poll(&watched, 1, static_cast<int>(patience.count())) == 1);
        return (server.events() & ZLINK_POLLIN) != 0;
    });
    CHECK(server.recv() == message{"x"});
}

TEST_CASE("ppoll: a signal that was blocked ends the wait, and no call before") {
    static std::atomic<int> handled{0};
    struct sigaction chosen {};
    chosen.sa_handler = [](int) { ++handled; };
    struct sigaction before {};
    REQUIRE(sigaction(SIGUSR1, &chosen, &before) == 0);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigset_t old;
    REQUIRE(pthread_sigmask(SIG_BLOCK, &blocked, &old) == 0);
    const context owner;
    for (const int type : {ZLINK_PULL, ZLINK_SERVER}) {
        socket asked{owner, type};
        handled = 0;
        pthread_kill(pthread_self(), SIGUSR1);
        zlink_pollitem_t items[] = {{asked, 0, ZLINK_POLLIN, 0}};
        CHECK(zlink_poll(items, 1, 0) == 0);
        CHECK(handled == 0);
        CHECK(error_of(zlink_ppoll(items, 1, patience.count(), &old)) == EINTR);
        CHECK(handled == 1);
        CHECK(zlink_ppoll(items, 1, 0, nullptr) == 0);
    }
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    sigaction(SIGUSR1, &before, nullptr);
}

#endif
