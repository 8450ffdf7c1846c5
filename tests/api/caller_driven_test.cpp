// SPDX-License-Identifier: MPL-2.0
#include "raw_peer.hpp"
#include "stream_fixture.hpp"

#include <atomic>
#include <ctime>
#include <future>
#include <span>
#include <sys/resource.h>
#include <unistd.h>

// Threads that share a context without I/O threads: the callers run the I/O.

using namespace api_test;

namespace {

/// Two pull sockets that one thread waits for, and a push socket connected to the first.
struct receivers {
    explicit receivers(const context& owner)
        : first(owner, ZLINK_PULL), second(owner, ZLINK_PULL), sender(owner, ZLINK_PUSH) {
        sender.connect(first.bind(transport::tcp));
        REQUIRE(sender.send("connected") == ok);
        REQUIRE(first.recv() == message{"connected"});
    }

    /// Waits for both sockets and `descriptor`.
    /// @return The index of the ready one, or -1 if none is.
    int poll(milliseconds longest, int descriptor = -1) {
        zlink_pollitem_t items[] = {{first, -1, ZLINK_POLLIN, 0},
                                    {second, -1, ZLINK_POLLIN, 0},
                                    {nullptr, descriptor, ZLINK_POLLIN, 0}};
        const int item_count = descriptor < 0 ? 2 : 3;
        if (zlink_poll(items, item_count, static_cast<long>(longest.count())) != 1) {
            return -1;
        }
        for (int index = 0; index < item_count; ++index) {
            if (items[index].revents != 0) {
                return index;
            }
        }
        return -1;
    }

    /// Waits for one message on the first socket.
    std::string next() {
        if (poll(patience) != 0) {
            return "nothing";
        }
        char data[16];
        const int bytes = zlink_recv(first, data, sizeof data, ZLINK_DONTWAIT);
        return bytes < 0 ? "nothing after all" : std::string(data, static_cast<std::size_t>(bytes));
    }

    socket first;
    socket second;
    socket sender;
};

/// A pipe(2).
struct system_pipe {
    system_pipe() { REQUIRE(::pipe(ends) == 0); }
    ~system_pipe() {
        ::close(ends[0]);
        ::close(ends[1]);
    }

    int ends[2];
};

/// During its lifetime the process can open no more descriptors.
class no_descriptors_left {
public:
    no_descriptors_left() {
        REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
        const int lowest_free = ::dup(STDERR_FILENO);
        REQUIRE(lowest_free >= 0);
        ::close(lowest_free);
        const rlimit none_left{static_cast<rlim_t>(lowest_free), before_.rlim_max};
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &none_left) == 0);
    }
    no_descriptors_left(const no_descriptors_left&) = delete;
    no_descriptors_left& operator=(const no_descriptors_left&) = delete;
    ~no_descriptors_left() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

template<class Body>
auto in_thread(Body&& body) {
    return std::async(std::launch::async, std::forward<Body>(body));
}

/// The processor time that the calling thread has used.
milliseconds thread_time() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::duration_cast<milliseconds>(std::chrono::seconds(now.tv_sec) +
                                                    std::chrono::nanoseconds(now.tv_nsec));
}

} // namespace

TEST_CASE(
    "poll: while another caller drives, messages and descriptors are noticed; then drives on") {
    const context owner{0};
    receivers one{owner};
    receivers other{owner};
    const system_pipe told;

    for (int round = 0; round < 20; ++round) {
        auto stays = in_thread([&] { return one.next(); });
        auto first = in_thread([&] { return other.next(); });
        REQUIRE(other.sender.send("first") == ok);
        CHECK(first.get() == "first");

        auto descriptor = in_thread([&] { return other.poll(patience, told.ends[0]); });
        char byte = 'x';
        REQUIRE(::write(told.ends[1], &byte, 1) == 1);
        CHECK(descriptor.get() == 2);
        REQUIRE(::read(told.ends[0], &byte, 1) == 1);

        auto second = in_thread([&] { return other.next(); });
        REQUIRE(one.sender.send("go") == ok);
        CHECK(stays.get() == "go");
        REQUIRE(other.sender.send("second") == ok);
        CHECK(second.get() == "second");
    }
}

TEST_CASE("stream: messages of more peers than are handled at once are received and answered") {
    constexpr int peer_count = 24;
    constexpr int message_count = 25;
    const std::string body = long_text(5000);
    const context elsewhere{1};
    for (const auto& [io_threads, flags] : {std::pair{0, 0}, {0, ZLINK_DONTWAIT}, {1, 0}}) {
        CAPTURE(io_threads);
        CAPTURE(flags);
        const context owner{io_threads};
        socket server(owner, ZLINK_STREAM);
        server.set(ZLINK_STREAM_EVENTS, 0);
        const std::string endpoint = server.bind(transport::tcp);
        // Answers each message, once there are more than one call handles.
        std::promise<void> all_sent;
        std::atomic<bool> all_read = false;
        auto served = in_thread([&server, &all_read, flags = flags,
                                 sent = all_sent.get_future()]() mutable {
            int count = 0;
            bool is_waited_for = true;
            unsigned char id[4];
            char data[8192];
            const auto end = std::chrono::steady_clock::now() + patience;
            while (count < peer_count * message_count && std::chrono::steady_clock::now() < end) {
                const int bytes = zlink_stream_recv(server, id, data, sizeof data, flags);
                if (bytes < 0) {
                    continue;
                }
                count +=
                    zlink_stream_send(server, id, data, static_cast<std::size_t>(bytes), 0) == bytes
                        ? 1
                        : 0;
                if (std::exchange(is_waited_for, false)) {
                    sent.wait();
                }
            }
            server.set(ZLINK_RCVTIMEO, 10);
            while (!all_read && std::chrono::steady_clock::now() < end) { // Sends the remaining
                                                                          // answers.
                zlink_stream_recv(server, id, data, sizeof data, 0);
            }
            return count;
        });
        std::vector<std::unique_ptr<raw_peer>> peers;
        while (peers.size() < peer_count) {
            peers.push_back(std::make_unique<raw_peer>(elsewhere, endpoint));
            peers.back()->send(framed(body));
        }
        for (int round = 1; round < message_count; ++round) {
            for (auto& each : peers) {
                each->send(framed(body));
            }
        }
        all_sent.set_value();
        int answered_count = 0;
        for (auto& each : peers) {
            for (int round = 0; round < message_count; ++round) {
                answered_count += each->recv(4 + body.size()) == framed(body) ? 1 : 0;
            }
        }
        all_read = true;
        CHECK(served.get() == peer_count * message_count);
        CHECK(answered_count == peer_count * message_count);
    }
}

TEST_CASE("poll: callers that drive in turn hand over to each other and to one that receives") {
    constexpr int message_count = 200;
    const context owner{0};
    std::vector<receivers> all;
    all.reserve(3);
    std::vector<std::future<int>> received;
    for (int index = 0; index < 3; ++index) {
        receivers& added = all.emplace_back(owner);
        added.sender.set(ZLINK_SNDHWM, 0);
    }
    for (receivers& each : all) {
        const bool polls = &each != &all.back();
        received.push_back(in_thread([&each, polls] {
            int count = 0;
            char data[16];
            while (count < message_count &&
                   (polls ? each.next() == "x" : zlink_recv(each.first, data, 16, 0) == 1)) {
                ++count;
            }
            return count;
        }));
    }

    for (int count = 0; count < message_count; ++count) {
        for (receivers& each : all) {
            REQUIRE(each.sender.send("x") == ok);
        }
    }

    for (auto& each : received) {
        CHECK(each.get() == message_count);
    }
}

TEST_CASE("poll: while another caller drives, waits for as long as it was told, at rest") {
    constexpr milliseconds longest{100};
    const context owner{0};
    receivers one{owner};
    receivers other{owner};
    const system_pipe told;
    auto stays = in_thread([&] { return one.poll(patience, told.ends[0]); });

    for (const int descriptor : {-1, told.ends[0]}) {
        const milliseconds used_before = thread_time();
        CHECK(time_of([&] { CHECK(other.poll(longest, descriptor) == -1); }) >= longest);
        CHECK(thread_time() - used_before < longest / 2);
    }

    REQUIRE(one.sender.send("go") == ok);
    CHECK(stays.get() == 0);
}

TEST_CASE("poll: a caller that waits while another drives learns that the context ends") {
    context owner{0};
    receivers one{owner};
    receivers other{owner};
    const auto error = [](receivers& asked) {
        zlink_pollitem_t items[] = {{asked.first, -1, ZLINK_POLLIN, 0},
                                    {asked.second, -1, ZLINK_POLLIN, 0}};
        return error_of(zlink_poll(items, 2, static_cast<long>(patience.count())));
    };
    auto first = in_thread([&] { return error(one); });
    auto second = in_thread([&] { return error(other); });

    owner.shut_down();

    CHECK(first.get() == ETERM);
    CHECK(second.get() == ETERM);
}

TEST_CASE("poll: says so if the system has nothing left to wait with") {
    const context owner{0};
    socket pull{owner, ZLINK_PULL};
    const system_pipe silent;
    const int descriptor = silent.ends[0];
    zlink_pollitem_t items[] = {{pull, -1, ZLINK_POLLIN, 0},
                                {nullptr, descriptor, ZLINK_POLLIN, 0},
                                {nullptr, descriptor, ZLINK_POLLIN, 0}};
    CHECK(zlink_poll(items, 3, 0) == 0);
    {
        const no_descriptors_left here;
        CHECK(error_of(zlink_poll(items, 3, static_cast<long>(patience.count()))) == EMFILE);
    }
    CHECK(zlink_poll(items, 3, 1) == 0);
}
