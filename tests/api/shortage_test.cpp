// SPDX-License-Identifier: MPL-2.0
//
// The behaviour while the process has no descriptor left, and afterwards.
#include "edge_fixture.hpp"
#include "fixture.hpp"
#include "watcher.hpp"

// The undefined-behaviour sanitizer itself needs descriptors to inspect objects.
#ifndef __SANITIZE_ADDRESS__

#include <arpa/inet.h>
#include <cerrno>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace api_test;

namespace {

/// Takes every descriptor that the process may have, until relieve() or its destruction.
class shortage {
public:
    shortage() {
        REQUIRE(::getrlimit(RLIMIT_NOFILE, &former_) == 0);
        const int first = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        REQUIRE(first >= 0);
        taken_.push_back(first);
        rlimit lower = former_;
        lower.rlim_cur = static_cast<rlim_t>(first) + 100;
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &lower) == 0);
        for (int next = 0; (next = ::fcntl(first, F_DUPFD_CLOEXEC, 0)) >= 0;) {
            taken_.push_back(next);
        }
        REQUIRE(errno == EMFILE);
    }
    shortage(const shortage&) = delete;
    shortage& operator=(const shortage&) = delete;
    ~shortage() { relieve(); }

    void relieve() {
        for (const int each : taken_) {
            ::close(each);
        }
        taken_.clear();
        ::setrlimit(RLIMIT_NOFILE, &former_);
    }

private:
    rlimit former_{};
    std::vector<int> taken_;
};

/// A tcp socket of the system, created before it connects.
class system_socket {
public:
    system_socket() : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        REQUIRE(descriptor_ >= 0);
    }
    system_socket(const system_socket&) = delete;
    system_socket& operator=(const system_socket&) = delete;
    ~system_socket() { ::close(descriptor_); }

    void connect(const std::string& endpoint) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const int port = std::stoi(endpoint.substr(endpoint.rfind(':') + 1));
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        REQUIRE(::connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    }

private:
    int descriptor_;
};

} // namespace

TEST_CASE("shortage of descriptors: the first socket of a context fails with EMFILE, a later one "
          "does not") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        {
            const shortage none_left;
            CHECK(zlink_socket(owner, ZLINK_PAIR) == nullptr);
            CHECK(zlink_errno() == EMFILE);
        }
        api_test::socket first{owner, ZLINK_PAIR};
        api_test::socket second{owner, ZLINK_PAIR};
        second.connect(first.bind(transport::tcp));
        REQUIRE(second.send("x") == ok);
        CHECK(first.recv_frame() == "x");
    }
}

TEST_CASE("shortage of descriptors: sockets without one of their own still work over inproc") {
    const context owner;
    api_test::socket first{owner, ZLINK_PAIR};
    first.bind("inproc://here");
    const shortage none_left;
    api_test::socket second{owner, ZLINK_PAIR};
    second.connect("inproc://here");
    REQUIRE(second.send("x") == ok);
    CHECK(first.recv_frame() == "x");

    int descriptor = -1;
    std::size_t bytes = sizeof descriptor;
    CHECK(error_of(zlink_getsockopt(first, ZLINK_FD, &descriptor, &bytes)) == EMFILE);
    zlink_pollitem_t items[] = {{first, -1, ZLINK_POLLIN, 0}, {second, -1, ZLINK_POLLIN, 0}};
    CHECK(error_of(zlink_poll(items, 2, -1)) == EMFILE);
}

TEST_CASE("shortage of descriptors: binding fails with EMFILE, and works afterwards") {
    const context owner;
    api_test::socket bound{owner, ZLINK_PULL};
    for (const transport via : {transport::tcp, transport::ipc}) {
        {
            const shortage none_left;
            CHECK(bound.try_bind(wildcard(via)) == EMFILE);
        }
        CHECK(bound.try_bind(wildcard(via)) == ok);
    }
}

TEST_CASE("shortage of descriptors: connecting is tried again, not at once, until there is one") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        api_test::socket bound{owner, ZLINK_PULL};
        const std::string endpoint = bound.bind(transport::tcp);
        api_test::socket connecting{owner, ZLINK_PUSH};
        connecting.set(ZLINK_RECONNECT_IVL, 0);
        watcher seen{owner, connecting, ZLINK_EVENT_CONNECT_RETRIED};
        {
            const shortage none_left;
            connecting.connect(endpoint);
            CHECK(seen.await(ZLINK_EVENT_CONNECT_RETRIED) >= 100);
            CHECK(seen.await(ZLINK_EVENT_CONNECT_RETRIED) >= 100);
        }
        REQUIRE(connecting.send("x") == ok);
        CHECK(bound.recv_frame() == "x");
    }
}

TEST_CASE("shortage of descriptors: a listener says so, does not spin, and takes the connection "
          "afterwards") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        api_test::socket bound{owner, ZLINK_PULL};
        const std::string endpoint = bound.bind(transport::tcp);
        watcher seen{owner, bound, ZLINK_EVENT_ACCEPT_FAILED | ZLINK_EVENT_ACCEPTED};
        system_socket client;
        {
            const shortage none_left;
            client.connect(endpoint);
            CHECK(seen.expect(ZLINK_EVENT_ACCEPT_FAILED, endpoint) == EMFILE);
            const milliseconds pause =
                time_of([&] { CHECK(seen.expect(ZLINK_EVENT_ACCEPT_FAILED, endpoint) == EMFILE); });
            CHECK(pause >= milliseconds{50});
        }
        seen.await(ZLINK_EVENT_ACCEPTED);
    }
}

TEST_CASE("shortage of descriptors: a listener takes the connection afterwards, whatever the "
          "transport") {
    for (const std::string chosen : edge_endpoints) {
        CAPTURE(chosen);
        const context owner;
        const edge_trust trust;
        api_test::socket bound{owner, ZLINK_STREAM};
        trust.let_listen(bound);
        const std::string endpoint = bound.bind(chosen);
        watcher seen{owner, bound, ZLINK_EVENT_ACCEPT_FAILED | ZLINK_EVENT_ACCEPTED};
        system_socket client;
        {
            const shortage none_left;
            client.connect(tcp_of(endpoint));
            CHECK(seen.expect(ZLINK_EVENT_ACCEPT_FAILED, endpoint) == EMFILE);
            CHECK(seen.expect(ZLINK_EVENT_ACCEPT_FAILED, endpoint) == EMFILE);
        }
        seen.await(ZLINK_EVENT_ACCEPTED);
    }
}

#endif
