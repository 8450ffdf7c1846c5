// SPDX-License-Identifier: MPL-2.0
//
// zlink_socket_notify: an application's loop learns that a socket may be ready.
#include "fixture.hpp"
#include "raw_peer.hpp"

#include <atomic>
#include <cerrno>
#include <memory>
#include <poll.h>
#include <string>
#include <thread>

namespace api_test {

namespace {

/// Counts the calls for a socket, and waits for them.
class notices {
public:
    explicit notices(void* watched) : watched_(watched) {
        REQUIRE(zlink_socket_notify(watched, &notices::on_change, this) == 0);
    }
    notices(const notices&) = delete;
    notices& operator=(const notices&) = delete;
    ~notices() { zlink_socket_notify(watched_, nullptr, nullptr); }

    int count() const noexcept { return count_.load(); }

    /// Waits, as a loop does, until ZLINK_EVENTS has `event`; the test ends if no call says so.
    void await(const context& owner, const socket& of, int event) const {
        while (true) {
            const int before = count();
            if ((of.get(ZLINK_EVENTS) & event) != 0) {
                return;
            }
            wait_until(owner, [&] { return count() != before; });
        }
    }

private:
    static void on_change(void* hint) { ++static_cast<notices*>(hint)->count_; }

    void* watched_;
    std::atomic<int> count_{0};
};

/// A PULL, whose notices are counted, and a PUSH.
struct pipeline {
    explicit pipeline(const setting& chosen)
        : owner{chosen}, receiver{owner, ZLINK_PULL}, sender{owner, ZLINK_PUSH}, told{receiver} {
        sender.connect(receiver.bind(chosen.via));
    }

    context owner;
    socket receiver;
    socket sender;
    notices told;
};

} // namespace

TEST_SUITE("notify") {

    TEST_CASE("a function is called when a message arrives, once until the events are read") {
        for (const setting& chosen : threaded_settings()) {
            CAPTURE(chosen);
            pipeline on{chosen};
            auto& [owner, receiver, sender, told] = on;
            for (int round = 0; round < 10; ++round) {
                CHECK(sender.send("a") == ok);
                told.await(owner, receiver, ZLINK_POLLIN);
                const int before = told.count();
                for (int count = 0; count < 100; ++count) {
                    CHECK(sender.send("b") == ok);
                }
                for (int count = 0; count < 101; ++count) {
                    receiver.recv();
                }
                CHECK(told.count() <= before + 1);
                receiver.get(ZLINK_EVENTS);
            }
        }
    }

    TEST_CASE("a function is called, and the descriptor readable, when a STREAM's peer has room") {
        const context owner;
        socket stream{owner, ZLINK_STREAM};
        stream.set(ZLINK_SNDHWM, 1);
        const notices told{stream};
        raw_peer peer{owner, stream.bind(transport::tcp)};
        const std::string id = stream.recv().frames[0];
        const int descriptor = stream.get(ZLINK_FD);
        const std::string large(1'000'000, 'x');
        const auto is_sent = [&] {
            return zlink_stream_send(stream, id.data(), large.data(), large.size(),
                                     ZLINK_DONTWAIT) >= 0;
        };
        const auto becomes_readable = [&](milliseconds longest) {
            pollfd asked{descriptor, POLLIN, 0};
            return ::poll(&asked, 1, static_cast<int>(longest.count())) == 1;
        };
        std::size_t sent_count = 0;
        wait_until(owner, [&] { // Until the system's buffers are full, too.
            while (is_sent()) {
                ++sent_count;
            }
            CHECK(zlink_errno() == EAGAIN);
            return !becomes_readable(moment);
        });
        CHECK((stream.get(ZLINK_EVENTS) & ZLINK_POLLOUT) != 0); // Says nothing of this peer.
        CHECK_FALSE(is_sent());
        const int before = told.count();
        peer.recv((sent_count - 1) * (4 + large.size()));
        wait_until(owner, [&] { return told.count() != before; });
        CHECK(becomes_readable(patience));
        wait_until(owner, is_sent);
    }

    TEST_CASE("a function is called when there is room to send") {
        for (const setting& chosen : threaded_settings()) {
            CAPTURE(chosen);
            context owner{chosen};
            socket receiver{owner, ZLINK_PULL};
            socket sender{owner, ZLINK_PUSH};
            receiver.set(ZLINK_RCVHWM, 1);
            sender.set(ZLINK_SNDHWM, 1);
            const notices told{sender};
            sender.connect(receiver.bind(chosen.via));
            told.await(owner, sender, ZLINK_POLLOUT);
            const std::string large(1'000'000, 'x'); // More than the system keeps for a reader.
            int sent = 0;
            while (sender.send(large, ZLINK_DONTWAIT) == ok) {
                ++sent;
                REQUIRE(sent < 1000);
            }
            for (; (sender.get(ZLINK_EVENTS) & ZLINK_POLLOUT) != 0; ++sent) {
                REQUIRE(sender.send(large, ZLINK_DONTWAIT) == ok); // There was room meanwhile.
            }
            for (int count = 0; count < sent; ++count) {
                receiver.recv();
            }
            told.await(owner, sender, ZLINK_POLLOUT);
        }
    }

    TEST_CASE("a call that fails with EAGAIN allows the next call of the function") {
        for (const setting& chosen : threaded_settings()) {
            CAPTURE(chosen);
            pipeline on{chosen};
            auto& [owner, receiver, sender, told] = on;
            for (int round = 0; round < 20; ++round) {
                char byte = 0;
                int before = told.count();
                while (zlink_recv(receiver, &byte, 1, ZLINK_DONTWAIT) != -1) {
                    before = told.count();
                }
                REQUIRE(zlink_errno() == EAGAIN);
                CHECK(sender.send("a") == ok);
                wait_until(owner, [&] {
                    if (told.count() == before) {
                        return false;
                    }
                    before = told.count();
                    return zlink_recv(receiver, &byte, 1, ZLINK_DONTWAIT) == 1;
                });
            }
        }
    }

    TEST_CASE("a shutdown is notified") {
        for (const int io_threads : every_io_threads) {
            context owner{io_threads};
            socket watched{owner, ZLINK_PULL};
            socket peer{owner, ZLINK_PUSH};
            peer.connect(watched.bind(transport::inproc));
            const notices told{watched};
            CHECK(watched.get(ZLINK_EVENTS) == 0);
            const int before = told.count();
            owner.shut_down();
            CHECK(told.count() == before + 1);
            int events = 0;
            std::size_t bytes = sizeof events;
            CHECK(zlink_getsockopt(watched, ZLINK_EVENTS, &events, &bytes) == -1);
            CHECK(errno == ETERM);
            CHECK(zlink_socket_notify(watched, nullptr, nullptr) == -1);
            CHECK(errno == ETERM);
            peer.close(); // Would be notified, but the function may be gone by now.
            CHECK(told.count() == before + 1);
            watched.close();
        }
    }

    TEST_CASE("what is ready already when the function is set is found by reading the events") {
        context owner;
        socket receiver{owner, ZLINK_PULL};
        socket sender{owner, ZLINK_PUSH};
        sender.connect(receiver.bind(transport::inproc));
        CHECK(sender.send("a") == ok);
        const notices told{receiver};
        told.await(owner, receiver, ZLINK_POLLIN);
        CHECK(receiver.recv() == message{"a"});
    }

    TEST_CASE("no call once the function is replaced, or the socket closed") {
        for (const transport via : {transport::inproc, transport::tcp}) {
            context owner;
            auto receiver = std::make_unique<socket>(owner, ZLINK_PULL);
            socket sender{owner, ZLINK_PUSH};
            sender.set(ZLINK_SNDTIMEO, milliseconds{0});
            sender.connect(receiver->bind(via));
            std::atomic<bool> ends{false};
            std::thread sending{[&] {
                while (!ends) {
                    sender.send("x", ZLINK_DONTWAIT);
                }
            }};
            struct target {
                std::atomic<int> calls{0};
            };
            const auto count = [](void* hint) { ++static_cast<target*>(hint)->calls; };
            int seen = 0;
            for (int round = 0; round < 1000; ++round) {
                const auto now = std::make_unique<target>();
                CHECK(zlink_socket_notify(*receiver, count, now.get()) == 0);
                while (zlink_recv(*receiver, nullptr, 0, ZLINK_DONTWAIT) >= 0) {
                }
                receiver->get(ZLINK_EVENTS);
                seen += now->calls;
                if (round % 2 == 0) {
                    CHECK(zlink_socket_notify(*receiver, nullptr, nullptr) == 0);
                } else {
                    const auto next = std::make_unique<target>(); // Replaces, then goes.
                    CHECK(zlink_socket_notify(*receiver, count, next.get()) == 0);
                    CHECK(zlink_socket_notify(*receiver, nullptr, nullptr) == 0);
                }
            }
            const auto last = std::make_unique<target>();
            CHECK(zlink_socket_notify(*receiver, count, last.get()) == 0);
            receiver->close();
            const int calls = last->calls;
            ends = true;
            sending.join();
            CHECK(last->calls == calls);
            CHECK(seen >= 0);
        }
    }

    TEST_CASE("a socket that is none is refused") {
        context owner;
        int number = 0;
        CHECK(zlink_socket_notify(nullptr, nullptr, nullptr) == -1);
        CHECK(errno == ENOTSOCK);
        CHECK(zlink_socket_notify(&number, nullptr, nullptr) == -1);
        CHECK(errno == ENOTSOCK);
        socket closed{owner, ZLINK_PULL};
        void* const handle = closed;
        closed.close();
        CHECK(zlink_socket_notify(handle, nullptr, nullptr) == -1);
        CHECK(errno == ENOTSOCK);
    }

} // TEST_SUITE

} // namespace api_test
