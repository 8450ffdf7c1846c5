// SPDX-License-Identifier: MPL-2.0
//
// zlink_ctx_fd and zlink_ctx_run: an application's loop does the I/O of a context without threads.
#include "edge_fixture.hpp"
#include "stream_fixture.hpp"

#include <cerrno>
#include <functional>
#include <poll.h>
#include <string>
#include <thread>

namespace api_test {

namespace {

/// An event loop. No call on a socket may do I/O meanwhile, so sockets are only received from once
/// they are known to have a message.
class loop {
public:
    explicit loop(const context& owner) : owner_(owner), descriptor_(zlink_ctx_fd(owner)) {
        REQUIRE(descriptor_ >= 0);
    }

    /// Runs until `is_over` returns true; the test ends if nothing happens.
    void run_until(const std::function<bool()>& is_over) const {
        while (!is_over()) {
            pollfd waited{.fd = descriptor_, .events = POLLIN, .revents = 0};
            REQUIRE(::poll(&waited, 1, static_cast<int>(patience.count())) == 1);
            REQUIRE(zlink_ctx_run(owner_) == 0);
        }
    }

    /// Until a function that was set for the socket has been called.
    void await(const socket& of) const {
        bool is_told = false;
        REQUIRE(zlink_socket_notify(
                    of, [](void* hint) { *static_cast<bool*>(hint) = true; }, &is_told) == 0);
        run_until([&] { return is_told; });
        REQUIRE(zlink_socket_notify(of, nullptr, nullptr) == 0);
    }

private:
    void* owner_;
    int descriptor_;
};

} // namespace

TEST_SUITE("reactor") {

    TEST_CASE("a loop does all I/O: request and reply over each transport") {
        for (const transport via : {transport::tcp, transport::ipc, transport::ws}) {
            CAPTURE(static_cast<int>(via));
            context owner{0};
            const loop runs{owner};
            socket server{owner, ZLINK_REP};
            socket client{owner, ZLINK_REQ};
            client.connect(server.bind(via));
            for (int round = 0; round < 20; ++round) {
                CHECK(client.send("question") == ok);
                while ((zlink_recv(server, nullptr, 0, ZLINK_DONTWAIT)) < 0) {
                    REQUIRE(errno == EAGAIN);
                    runs.await(server);
                }
                CHECK(server.send("answer") == ok);
                while ((zlink_recv(client, nullptr, 0, ZLINK_DONTWAIT)) < 0) {
                    REQUIRE(errno == EAGAIN);
                    runs.await(client);
                }
            }
        }
    }

    TEST_CASE("peers of a STREAM are served in the calls of the loop alone") {
        const edge_trust trust;
        for (const char* endpoint : edge_endpoints) {
            CAPTURE(endpoint);
            context owner{0};
            const loop runs{owner};
            socket server{owner, ZLINK_STREAM};
            socket client{owner, ZLINK_STREAM};
            trust.let_listen(server);
            trust.let_dial(client);
            int server_news = 0;
            int client_news = 0;
            const auto count = [](void* hint) { ++*static_cast<int*>(hint); };
            REQUIRE(zlink_socket_notify(server, count, &server_news) == 0);
            REQUIRE(zlink_socket_notify(client, count, &client_news) == 0);
            client.connect(server.bind(endpoint)); // That may change ZLINK_EVENTS already.
            CHECK(server.get(ZLINK_EVENTS) == ZLINK_POLLOUT);
            CHECK(client.get(ZLINK_EVENTS) == ZLINK_POLLOUT);
            server_news = client_news = 0;
            runs.run_until([&] { return server_news != 0 && client_news != 0; });
            const std::string peer = recv_arrival(server);
            const std::string home = recv_arrival(client);
            CHECK(client.get(ZLINK_EVENTS) == ZLINK_POLLOUT);
            CHECK(server.get(ZLINK_EVENTS) == ZLINK_POLLOUT);
            server_news = client_news = 0;
            const std::string large = long_text(500'000);
            CHECK(client.send({home, large}) == ok);
            runs.run_until([&] { return server_news != 0; });
            CHECK(server.recv() == message{peer, large});
            REQUIRE(zlink_socket_notify(server, nullptr, nullptr) == 0);
            REQUIRE(zlink_socket_notify(client, nullptr, nullptr) == 0);
        }
    }

    TEST_CASE("timers, and names that another thread looks up, wake the loop") {
        context owner{0};
        const loop runs{owner};
        socket client{owner, ZLINK_PUSH};
        client.set(ZLINK_RECONNECT_IVL, milliseconds{1});
        const std::string endpoint = vacant(transport::tcp);
        const std::string port = endpoint.substr(endpoint.rfind(':'));
        client.connect("tcp://localhost" + port);
        CHECK(client.send("late") == ok);
        for (int count = 0; count < 10; ++count) { // Refused, and tried again.
            bool has_run = false;
            runs.run_until([&] { return std::exchange(has_run, true); });
        }
        socket server{owner, ZLINK_PULL};
        server.bind(endpoint);
        runs.await(server);
        while (zlink_recv(server, nullptr, 0, ZLINK_DONTWAIT) < 0) {
            runs.await(server);
        }
    }

    TEST_CASE("ZLINK_FD of a STREAM works once the loop does the I/O") {
        context owner{0};
        socket server{owner, ZLINK_STREAM};
        int descriptor = -1;
        std::size_t bytes = sizeof descriptor;
        CHECK(zlink_getsockopt(server, ZLINK_FD, &descriptor, &bytes) == -1);
        CHECK(errno == EMTHREAD);
        const loop runs{owner};
        CHECK(zlink_getsockopt(server, ZLINK_FD, &descriptor, &bytes) == 0);
        raw_peer client{owner, tcp_of(server.bind("tcp://127.0.0.1:*"))};
        pollfd waited{.fd = descriptor, .events = POLLIN, .revents = 0};
        runs.run_until([&] { return ::poll(&waited, 1, 0) == 1; });
        recv_arrival(server);
    }

    TEST_CASE("the descriptor is the same in each call, and quiet if there is nothing to do") {
        context owner{0};
        const int descriptor = zlink_ctx_fd(owner);
        REQUIRE(descriptor >= 0);
        socket bound{owner, ZLINK_PULL};
        bound.bind(transport::tcp);
        CHECK(zlink_ctx_fd(owner) == descriptor);
        CHECK(zlink_ctx_run(owner) == 0);
        pollfd waited{.fd = descriptor, .events = POLLIN, .revents = 0};
        CHECK(::poll(&waited, 1, 0) == 0);
    }

    TEST_CASE("calls that block go on beside the loop") {
        context owner{0};
        const int descriptor = zlink_ctx_fd(owner);
        REQUIRE(descriptor >= 0);
        socket server{owner, ZLINK_PULL};
        const std::string endpoint = server.bind(transport::tcp);
        std::thread other{[&] {
            socket client{owner, ZLINK_PUSH};
            client.connect(endpoint);
            for (int count = 0; count < 1000; ++count) {
                CHECK(client.send("x") == ok);
            }
            client.set(ZLINK_LINGER, -1);
        }};
        for (int count = 0; count < 1000; ++count) {
            server.recv(); // Drives, or waits while the other thread does.
            CHECK(zlink_ctx_fd(owner) == descriptor);
            CHECK(zlink_ctx_run(owner) == 0);
        }
        other.join();
    }

    TEST_CASE("a context with threads, or that has ended, is refused") {
        context threaded{1};
        CHECK(zlink_ctx_fd(threaded) == -1);
        CHECK(errno == ENOTSUP);
        CHECK(zlink_ctx_run(threaded) == -1);
        CHECK(errno == ENOTSUP);
        const socket used{threaded, ZLINK_PULL};
        CHECK(zlink_ctx_fd(threaded) == -1);
        CHECK(errno == ENOTSUP);
        CHECK(zlink_ctx_fd(nullptr) == -1);
        CHECK(errno == EFAULT);
        CHECK(zlink_ctx_run(nullptr) == -1);
        CHECK(errno == EFAULT);
        context ended{0};
        ended.shut_down();
        CHECK(zlink_ctx_fd(ended) == -1);
        CHECK(errno == ETERM);
        CHECK(zlink_ctx_run(ended) == -1);
        CHECK(errno == ETERM);
    }

} // TEST_SUITE

} // namespace api_test
