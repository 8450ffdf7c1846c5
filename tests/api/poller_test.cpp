// SPDX-License-Identifier: MPL-2.0
//
// The poller functions of libzmq's draft interface.
#include "fixture.hpp"

#ifdef ZLINK_BUILD_DRAFT_API

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

using namespace api_test;

namespace {

class poller {
public:
    poller() : handle_(zlink_poller_new()) { REQUIRE(handle_ != nullptr); }
    poller(const poller&) = delete;
    poller& operator=(const poller&) = delete;
    ~poller() { zlink_poller_destroy(&handle_); }

    operator void*() const noexcept { return handle_; }

private:
    void* handle_;
};

/// A pipe(2).
class byte_pipe {
public:
    byte_pipe() { REQUIRE(::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) == 0); }
    byte_pipe(const byte_pipe&) = delete;
    byte_pipe& operator=(const byte_pipe&) = delete;
    ~byte_pipe() {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    int reads() const noexcept { return ends_[0]; }
    void write() const { REQUIRE(::write(ends_[1], "x", 1) == 1); }

private:
    int ends_[2];
};

zlink_poller_event_t wait_one(const poller& set) {
    zlink_poller_event_t event;
    REQUIRE(error_of(zlink_poller_wait(set, &event, patience.count())) == ok);
    return event;
}

} // namespace

TEST_CASE("poller: reports sockets and descriptors with the data they were added with") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket pull{owner, ZLINK_PULL};
        socket push{owner, ZLINK_PUSH};
        push.connect(pull.bind(over.via));
        const byte_pipe bytes;
        const poller set;
        int of_socket = 0;
        int of_pipe = 0;
        REQUIRE(zlink_poller_add(set, pull, &of_socket, ZLINK_POLLIN) == 0);
        REQUIRE(zlink_poller_add_fd(set, bytes.reads(), &of_pipe, ZLINK_POLLIN) == 0);
        CHECK(zlink_poller_size(set) == 2);
        zlink_poller_event_t event;
        CHECK(error_of(zlink_poller_wait(set, &event, 0)) == EAGAIN);
        CHECK(event.socket == nullptr);
        CHECK(event.fd == -1);
        CHECK(event.user_data == nullptr);
        CHECK(event.events == 0);

        REQUIRE(push.send("x") == ok);
        event = wait_one(set);
        CHECK(event.socket == pull);
        CHECK(event.user_data == &of_socket);
        CHECK(event.events == ZLINK_POLLIN);
        CHECK(pull.recv() == message{"x"});
        bytes.write();
        event = wait_one(set);
        CHECK(event.socket == nullptr);
        CHECK(event.fd == bytes.reads());
        CHECK(event.user_data == &of_pipe);
        CHECK(event.events == ZLINK_POLLIN);

        REQUIRE(push.send("y") == ok);
        wait_until(owner, [&] { return pull.events() == ZLINK_POLLIN; });
        zlink_poller_event_t all[3];
        REQUIRE(zlink_poller_wait_all(set, all, 3, 0) == 2);
        CHECK(all[0].socket == pull);
        CHECK(all[1].fd == bytes.reads());
        CHECK(all[2].events == 0);
        CHECK(all[2].fd == -1);
        REQUIRE(zlink_poller_wait_all(set, all, 1, 0) == 1);
    }
}

TEST_CASE("poller: items are modified and removed") {
    const context owner;
    socket push{owner, ZLINK_PUSH};
    socket pull{owner, ZLINK_PULL};
    push.connect(pull.bind(transport::inproc));
    const byte_pipe bytes;
    bytes.write();
    const poller set;
    REQUIRE(zlink_poller_add(set, push, nullptr, ZLINK_POLLOUT) == 0);
    REQUIRE(zlink_poller_add_fd(set, bytes.reads(), nullptr, 0) == 0);
    CHECK(wait_one(set).socket == push);
    REQUIRE(zlink_poller_modify(set, push, ZLINK_POLLIN) == 0);
    zlink_poller_event_t event;
    CHECK(error_of(zlink_poller_wait(set, &event, 0)) == EAGAIN);
    REQUIRE(zlink_poller_modify_fd(set, bytes.reads(), ZLINK_POLLIN) == 0);
    CHECK(wait_one(set).fd == bytes.reads());
    REQUIRE(zlink_poller_remove_fd(set, bytes.reads()) == 0);
    CHECK(error_of(zlink_poller_wait(set, &event, 0)) == EAGAIN);
    REQUIRE(zlink_poller_remove(set, push) == 0);
    CHECK(zlink_poller_size(set) == 0);
}

TEST_CASE("poller: refuses what is wrong") {
    const context owner;
    socket pull{owner, ZLINK_PULL};
    const poller set;
    zlink_poller_event_t event;
    CHECK(error_of(zlink_poller_size(nullptr)) == EFAULT);
    CHECK(error_of(zlink_poller_add(nullptr, pull, nullptr, 0)) == EFAULT);
    CHECK(error_of(zlink_poller_add(set, nullptr, nullptr, 0)) == ENOTSOCK);
    CHECK(error_of(zlink_poller_add(set, pull, nullptr, 16)) == EINVAL);
    CHECK(error_of(zlink_poller_add_fd(set, -1, nullptr, 0)) == EBADF);
    CHECK(error_of(zlink_poller_modify(set, pull, 0)) == EINVAL);
    CHECK(error_of(zlink_poller_modify_fd(set, 0, 0)) == EINVAL);
    CHECK(error_of(zlink_poller_remove(set, pull)) == EINVAL);
    CHECK(error_of(zlink_poller_remove(set, nullptr)) == ENOTSOCK);
    CHECK(error_of(zlink_poller_remove_fd(set, 0)) == EINVAL);
    CHECK(error_of(zlink_poller_wait(set, &event, -1)) == EFAULT);
    CHECK(error_of(zlink_poller_wait(set, &event, moment.count())) == EAGAIN);
    CHECK(error_of(zlink_poller_wait(set, nullptr, 0)) == EFAULT);
    CHECK(error_of(zlink_poller_wait_all(set, &event, -1, 0)) == EINVAL);
    CHECK(error_of(zlink_poller_wait_all(nullptr, &event, 1, 0)) == EFAULT);
    int descriptor = 0;
    CHECK(error_of(zlink_poller_fd(set, nullptr)) == EFAULT);
    CHECK(error_of(zlink_poller_fd(set, &descriptor)) == EINVAL);
    CHECK(error_of(zlink_poller_destroy(nullptr)) == EFAULT);
    void* none = nullptr;
    CHECK(error_of(zlink_poller_destroy(&none)) == EFAULT);

    REQUIRE(zlink_poller_add(set, pull, nullptr, 0) == 0);
    CHECK(error_of(zlink_poller_add(set, pull, nullptr, 0)) == EINVAL);
    CHECK(error_of(zlink_poller_wait(set, &event, -1)) == EFAULT);
    REQUIRE(zlink_poller_modify(set, pull, ZLINK_POLLIN) == 0);
    void* const closed = pull;
    pull.close();
    CHECK(error_of(zlink_poller_wait(set, &event, 0)) == ENOTSOCK);
    CHECK(zlink_poller_remove(set, closed) == 0);
    CHECK(error_of(zlink_poller_remove(set, closed)) == ENOTSOCK);
}

TEST_CASE("poller: ends when the context is shut down") {
    context owner;
    socket pull{owner, ZLINK_PULL};
    socket server{owner, ZLINK_SERVER};
    const poller set;
    REQUIRE(zlink_poller_add(set, pull, nullptr, ZLINK_POLLIN) == 0);
    REQUIRE(zlink_poller_add(set, server, nullptr, ZLINK_POLLIN) == 0);
    std::jthread waiting{[&] {
        zlink_poller_event_t event;
        CHECK(error_of(zlink_poller_wait(set, &event, -1)) == ETERM);
    }};
    owner.let_io_happen();
    owner.shut_down();
    waiting.join();
}

TEST_CASE("poller: its descriptor tells of sockets and descriptors") {
    const context owner;
    socket server{owner, ZLINK_SERVER};
    socket client{owner, ZLINK_CLIENT};
    client.connect(server.bind(transport::tcp));
    const byte_pipe bytes;
    const poller set;
    REQUIRE(zlink_poller_add(set, server, nullptr, ZLINK_POLLIN) == 0);
    int descriptor = -1;
    REQUIRE(zlink_poller_fd(set, &descriptor) == 0);
    REQUIRE(zlink_poller_add_fd(set, bytes.reads(), nullptr, ZLINK_POLLIN) == 0);
    int same = -1;
    REQUIRE(zlink_poller_fd(set, &same) == 0);
    CHECK(same == descriptor);
    pollfd watched{descriptor, POLLIN, 0};
    zlink_poller_event_t event;

    REQUIRE(client.send("x") == ok);
    wait_until(owner, [&] {
        REQUIRE(::poll(&watched, 1, static_cast<int>(patience.count())) == 1);
        return zlink_poller_wait(set, &event, 0) == 0;
    });
    CHECK(event.socket == server);
    CHECK(server.recv() == message{"x"});
    bytes.write();
    CHECK(::poll(&watched, 1, static_cast<int>(patience.count())) == 1);
    CHECK(wait_one(set).fd == bytes.reads());
    REQUIRE(zlink_poller_remove_fd(set, bytes.reads()) == 0);
    REQUIRE(zlink_poller_remove(set, server) == 0);
    CHECK(::poll(&watched, 1, 0) == 0);
}

TEST_CASE("poller: several threads wait for the same sockets, each with a poller of its own") {
    const context owner;
    socket gather{owner, ZLINK_GATHER};
    socket other{owner, ZLINK_GATHER};
    socket scatter{owner, ZLINK_SCATTER};
    scatter.connect(gather.bind(transport::tcp));
    constexpr int thread_count = 3;
    constexpr int message_count = 300;
    std::atomic<int> received{0};
    std::vector<std::jthread> all;
    for (int thread = 0; thread < thread_count; ++thread) {
        all.emplace_back([&] {
            const poller set;
            REQUIRE(zlink_poller_add(set, gather, nullptr, ZLINK_POLLIN) == 0);
            REQUIRE(zlink_poller_add(set, other, nullptr, ZLINK_POLLIN) == 0);
            while (true) {
                CHECK(wait_one(set).socket == gather);
                char text[4];
                const int bytes = zlink_recv(gather, text, sizeof text, ZLINK_DONTWAIT);
                if (bytes == 3) {
                    return;
                }
                received += bytes == 1;
            }
        });
    }
    for (int number = 0; number < message_count; ++number) {
        REQUIRE(scatter.send("x") == ok);
    }
    for (int thread = 0; thread < thread_count; ++thread) {
        REQUIRE(scatter.send("end") == ok);
    }
    all.clear();
    CHECK(received == message_count);
}

#endif
