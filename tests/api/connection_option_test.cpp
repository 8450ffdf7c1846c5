// SPDX-License-Identifier: MPL-2.0
//
// Options that act on connections, as seen by the kernel and the monitor.
#include "watcher.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// Code is in the namespace, because the system's socket() is used, too.
namespace api_test {

namespace {

/// An option of the kernel's socket `descriptor`.
int kernel_option(int descriptor, int level, int option) {
    int value = -1;
    socklen_t bytes = sizeof value;
    REQUIRE(::getsockopt(descriptor, level, option, &value, &bytes) == 0);
    return value;
}

/// Whether a message from a new peer arrives at `pull`.
bool is_reached(const context& owner, socket& pull, const std::string& endpoint) {
    socket push{owner, ZLINK_PUSH};
    push.set(ZLINK_RECONNECT_IVL, -1).connect(endpoint);
    REQUIRE(push.send("x") == ok);
    return pull.poll(ZLINK_POLLIN) != 0 && pull.recv_frame() == "x";
}

/// Checks that a new peer is refused.
void check_is_refused(const context& owner, socket& pull, const std::string& endpoint) {
    watcher watched{owner, pull, ZLINK_EVENT_ACCEPT_FAILED | ZLINK_EVENT_ACCEPTED};
    socket push{owner, ZLINK_PUSH};
    push.set(ZLINK_RECONNECT_IVL, -1).connect(endpoint);
    watched.expect(ZLINK_EVENT_ACCEPT_FAILED, endpoint);
    CHECK(watched.has_told_all(owner, pull));
}

/// A tcp port where the kernel accepts no more connections, because its queue is full.
class full_listener {
public:
    full_listener() : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof address;
        auto* const generic = reinterpret_cast<sockaddr*>(&address);
        REQUIRE(::bind(descriptor_, generic, bytes) == 0);
        REQUIRE(::getsockname(descriptor_, generic, &bytes) == 0);
        REQUIRE(::listen(descriptor_, 0) == 0);
        REQUIRE(::connect(waiting_, generic, bytes) == 0);
        endpoint_ = "tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    }
    full_listener(const full_listener&) = delete;
    full_listener& operator=(const full_listener&) = delete;
    ~full_listener() {
        ::close(waiting_);
        ::close(descriptor_);
    }

    const std::string& endpoint() const { return endpoint_; }

private:
    int descriptor_;
    int waiting_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::string endpoint_;
};

/// The host at the other end of a connection.
std::string peer_host(int descriptor) {
    sockaddr_in address{};
    socklen_t bytes = sizeof address;
    REQUIRE(::getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &bytes) == 0);
    char text[INET_ADDRSTRLEN];
    return ::inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
}

/// The interface that a descriptor is bound to.
std::string device_of(int descriptor) {
    char device[16] = "";
    socklen_t bytes = sizeof device;
    REQUIRE(::getsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, device, &bytes) == 0);
    return device;
}

/// Empties a filter.
void clear(socket& of, int option) {
    REQUIRE(error_of(zlink_setsockopt(of, option, nullptr, 0)) == ok);
}

} // namespace

TEST_CASE("connection options: reach the kernel's sockets on both sides") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket server{owner, ZLINK_PULL};
        socket client{owner, ZLINK_PUSH};
        for (socket* const each : {&server, &client}) {
            each->set(ZLINK_TOS, 0x28).set(ZLINK_PRIORITY, 3).set(ZLINK_TCP_KEEPALIVE, 1);
            each->set(ZLINK_TCP_KEEPALIVE_CNT, 4).set(ZLINK_TCP_KEEPALIVE_IDLE, 50);
            each->set(ZLINK_TCP_KEEPALIVE_INTVL, 6).set(ZLINK_TCP_MAXRT, 7000);
            each->set(ZLINK_SNDBUF, 20000).set(ZLINK_RCVBUF, 30000);
        }
        watcher of_server{owner, server};
        watcher of_client{owner, client};
        client.connect(server.bind(transport::tcp));
        const int descriptors[] = {of_server.await(ZLINK_EVENT_ACCEPTED),
                                   of_client.await(ZLINK_EVENT_CONNECTED)};

        for (const int each : descriptors) {
            CHECK(kernel_option(each, IPPROTO_IP, IP_TOS) == 0x28);
            CHECK(kernel_option(each, SOL_SOCKET, SO_PRIORITY) == 3);
            CHECK(kernel_option(each, SOL_SOCKET, SO_KEEPALIVE) == 1);
            CHECK(kernel_option(each, IPPROTO_TCP, TCP_KEEPCNT) == 4);
            CHECK(kernel_option(each, IPPROTO_TCP, TCP_KEEPIDLE) == 50);
            CHECK(kernel_option(each, IPPROTO_TCP, TCP_KEEPINTVL) == 6);
            CHECK(kernel_option(each, IPPROTO_TCP, TCP_USER_TIMEOUT) == 7000);
            // The kernel doubles what it is asked for (socket(7)).
            CHECK(kernel_option(each, SOL_SOCKET, SO_SNDBUF) == 40000);
            CHECK(kernel_option(each, SOL_SOCKET, SO_RCVBUF) == 60000);
        }
    }
}

TEST_CASE("connection options: a message tells the descriptor of its connection, on every "
          "transport but inproc") {
    for (const setting& chosen : every_setting()) {
        for (const bool is_sender_bound : {false, true}) {
            CAPTURE(chosen);
            CAPTURE(is_sender_bound);
            const context owner{chosen};
            socket push{owner, ZLINK_PUSH};
            socket pull{owner, ZLINK_PULL};
            socket& bound = is_sender_bound ? push : pull;
            socket& connected = is_sender_bound ? pull : push;
            connected.set(ZLINK_RECONNECT_IVL, -1).connect(bound.bind(chosen.via));
            REQUIRE(push.send("x") == ok);
            frame got;
            REQUIRE(zlink_msg_recv(got.get(), pull, 0) == 1);

            const int descriptor = zlink_msg_get(got.get(), ZLINK_SRCFD);
            if (chosen.via == transport::inproc) {
                CHECK(descriptor == -1);
                CHECK(zlink_errno() == EINVAL);
                continue;
            }
            CHECK(kernel_option(descriptor, SOL_SOCKET, SO_DOMAIN) ==
                  (chosen.via == transport::ipc ? AF_UNIX : AF_INET));
            REQUIRE(::shutdown(descriptor, SHUT_RDWR) == 0);
            wait_until(owner, [&] {
                push.events();
                pull.events();
                return zlink_socket_peers(bound, nullptr, 0) == 0;
            });
        }
    }
}

TEST_CASE("connection options: a device limits where peers come from") {
    const context owner;
    socket pull{owner, ZLINK_PULL};
    pull.set(ZLINK_BINDTODEVICE, "lo");
    watcher watched{owner, pull};
    const std::string endpoint = pull.bind(transport::tcp);
    CHECK(device_of(watched.await(ZLINK_EVENT_LISTENING)) == "lo");
    CHECK(is_reached(owner, pull, endpoint));

    socket push{owner, ZLINK_PUSH};
    push.set(ZLINK_BINDTODEVICE, "lo");
    watcher of_push{owner, push};
    push.connect(endpoint);
    CHECK(device_of(of_push.await(ZLINK_EVENT_CONNECTED)) == "lo");

    pull.set(ZLINK_BINDTODEVICE, "no-such-one");
    CHECK(pull.try_bind("tcp://127.0.0.1:*") == ENODEV);
}

TEST_CASE("connection options: a tcp filter turns peers of other networks away") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket pull{owner, ZLINK_PULL};
        pull.set(ZLINK_TCP_ACCEPT_FILTER, "192.0.2.0/24");
        check_is_refused(owner, pull, pull.bind(transport::tcp));

        pull.set(ZLINK_TCP_ACCEPT_FILTER, "127.0.0.0/8");
        CHECK(is_reached(owner, pull, pull.bind(transport::tcp)));

        clear(pull, ZLINK_TCP_ACCEPT_FILTER);
        pull.set(ZLINK_TCP_ACCEPT_FILTER, "192.0.2.1");
        check_is_refused(owner, pull, pull.bind(transport::tcp));
        CHECK(is_reached(owner, pull, pull.bind(transport::ipc)));
    }
}

TEST_CASE("connection options: a tcp filter has to be a network") {
    const context owner;
    socket pull{owner, ZLINK_PULL};
    for (const char* const bad : {"nonsense", "127.0.0.1/33", "::1", ""}) {
        CAPTURE(bad);
        CHECK(error_of(zlink_setsockopt(pull, ZLINK_TCP_ACCEPT_FILTER, bad, std::strlen(bad))) ==
              EINVAL);
    }
    pull.set(ZLINK_IPV6, 1).set(ZLINK_TCP_ACCEPT_FILTER, "::1");
}

TEST_CASE("connection options: an ipc filter turns other processes, users and groups away") {
    const struct {
        int option;
        int own;
    } filters[] = {{ZLINK_IPC_FILTER_PID, static_cast<int>(::getpid())},
                   {ZLINK_IPC_FILTER_UID, static_cast<int>(::getuid())},
                   {ZLINK_IPC_FILTER_GID, static_cast<int>(::getgid())}};
    for (const auto& [option, own] : filters) {
        CAPTURE(option);
        const context owner;
        socket pull{owner, ZLINK_PULL};
        pull.set(option, 0x7ffffff0);
        check_is_refused(owner, pull, pull.bind(transport::ipc));
        CHECK(is_reached(owner, pull, pull.bind(transport::tcp)));

        // A peer that passes one of several filters is accepted.
        pull.set(option, own);
        CHECK(is_reached(owner, pull, pull.bind(transport::ipc)));
        clear(pull, option);
        CHECK(is_reached(owner, pull, pull.bind(transport::ipc)));
    }
}

TEST_CASE("connection options: a descriptor that listens already is taken over") {
    for (const int family : {AF_INET, AF_UNIX}) {
        CAPTURE(family);
        const context owner;
        const int descriptor = ::socket(family, SOCK_STREAM, 0);
        REQUIRE(descriptor >= 0);
        sockaddr_in tcp{};
        tcp.sin_family = AF_INET;
        tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        sockaddr_un ipc{};
        ipc.sun_family = AF_UNIX; // The system chooses an abstract name.
        REQUIRE(::bind(descriptor,
                       family == AF_INET ? reinterpret_cast<sockaddr*>(&tcp)
                                         : reinterpret_cast<sockaddr*>(&ipc),
                       family == AF_INET ? sizeof tcp : sizeof(sa_family_t)) == 0);
        REQUIRE(::listen(descriptor, 10) == 0);
        socket pull{owner, ZLINK_PULL};
        pull.set(ZLINK_USE_FD, descriptor);
        CHECK(pull.get(ZLINK_USE_FD) == descriptor);

        const std::string endpoint = pull.bind(family == AF_INET ? "tcp://*:*" : "ipc://*");

        CHECK(pull.get(ZLINK_USE_FD) == -1);
        CHECK(is_reached(owner, pull, endpoint));
        CHECK(pull.unbind(endpoint) == ok);
    }
}

TEST_CASE("connection options: what is no listening descriptor cannot be bound with") {
    const context owner;
    socket pull{owner, ZLINK_PULL};
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    pull.set(ZLINK_USE_FD, ends[0]);
    CHECK(pull.try_bind("tcp://127.0.0.1:*") == ENOTSOCK);
    ::close(ends[0]);
    ::close(ends[1]);
    CHECK(pull.try_bind("tcp://127.0.0.1:*") == EBADF);
    const int idle = ::socket(AF_INET, SOCK_STREAM, 0);
    pull.set(ZLINK_USE_FD, idle);
    CHECK(pull.try_bind("tcp://127.0.0.1:*") == EINVAL);
    ::close(idle);
}

TEST_CASE("connection options: RECONNECT_STOP ends the attempts after a refusal") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket push{owner, ZLINK_PUSH};
        push.set(ZLINK_RECONNECT_IVL, 1).set(ZLINK_RECONNECT_STOP, 1);
        watcher watched{owner, push};
        const std::string endpoint = vacant(transport::tcp);

        push.connect(endpoint);

        watched.expect(ZLINK_EVENT_CONNECT_DELAYED, endpoint);
        watched.expect(ZLINK_EVENT_CLOSED, endpoint);
        CHECK(push.send("x", ZLINK_DONTWAIT) == EAGAIN);
        CHECK(watched.is_silent_until_visited(owner, push));
    }
}

TEST_CASE("connection options: RECONNECT_STOP ends the attempts after a failed handshake") {
    const context owner;
    const silent_listener silent;
    socket push{owner, ZLINK_PUSH};
    push.set(ZLINK_RECONNECT_IVL, 1).set(ZLINK_RECONNECT_STOP, 2).set(ZLINK_HANDSHAKE_IVL, 10);
    watcher watched{owner, push};

    push.connect(silent.endpoint());

    watched.await(ZLINK_EVENT_DISCONNECTED);
    CHECK(watched.is_silent_until_visited(owner, push));
}

TEST_CASE("connection options: RECONNECT_STOP ends the attempts after the connection was lost") {
    const context owner;
    socket pull{owner, ZLINK_PULL};
    socket push{owner, ZLINK_PUSH};
    push.set(ZLINK_RECONNECT_IVL, 1).set(ZLINK_RECONNECT_STOP, 4);
    watcher watched{owner, push};
    push.connect(pull.bind(transport::tcp));
    watched.await(ZLINK_EVENT_HANDSHAKE_SUCCEEDED);

    pull.close();

    watched.await(ZLINK_EVENT_DISCONNECTED);
    CHECK(watched.is_silent_until_visited(owner, push));
}

TEST_CASE("connection options: those of transports that there are not are kept, and do nothing") {
    constexpr int loopback_fast_path = 94; // libzmq's draft API has names for these two.
    constexpr int multicast_loop = 96;
    const context owner;
    socket pub{owner, ZLINK_PUB};
    CHECK(pub.get(ZLINK_RATE) == 100);
    CHECK(pub.get(loopback_fast_path) == 0);
    CHECK(pub.get(multicast_loop) == 1);
    pub.set(ZLINK_RATE, 7).set(loopback_fast_path, 1).set(multicast_loop, 0);
    CHECK(pub.get(ZLINK_RATE) == 7);
    CHECK(pub.get(loopback_fast_path) == 1);
    CHECK(pub.get(multicast_loop) == 0);
}

TEST_CASE("connection options: BACKLOG is the length of the kernel's queue of connections") {
    const context owner;
    socket pull{owner, ZLINK_PULL};
    pull.set(ZLINK_BACKLOG, 7);
    watcher watched{owner, pull};
    pull.bind(transport::tcp);

    tcp_info of_listener{};
    socklen_t bytes = sizeof of_listener;
    REQUIRE(::getsockopt(watched.await(ZLINK_EVENT_LISTENING), IPPROTO_TCP, TCP_INFO, &of_listener,
                         &bytes) == 0);
    CHECK(of_listener.tcpi_sacked == 7); // For a listener this field is its backlog.
}

TEST_CASE("connection options: an endpoint may name the source address of its connections") {
    const context owner;
    socket pull{owner, ZLINK_PULL};
    watcher watched{owner, pull};
    const std::string endpoint = pull.bind(transport::tcp);
    socket push{owner, ZLINK_PUSH};

    push.connect("tcp://127.0.0.2:0;" + endpoint.substr(sizeof "tcp://" - 1));

    CHECK(peer_host(watched.await(ZLINK_EVENT_ACCEPTED)) == "127.0.0.2");
    CHECK(push.send("x") == ok);
    CHECK(pull.recv() == message{"x"});
}

TEST_CASE("connection options: an endpoint may name an interface") {
    const context owner;
    socket pull{owner, ZLINK_PULL};
    const std::string endpoint = pull.bind("tcp://lo:*");
    CHECK(endpoint.starts_with("tcp://127.0.0.1:"));
    CHECK(is_reached(owner, pull, endpoint));
    CHECK(pull.try_bind("tcp://no-such-one:*") == ENODEV);
}

TEST_CASE("connection options: CONNECT_TIMEOUT ends an attempt that is not answered") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        const full_listener silent;
        socket push{owner, ZLINK_PUSH};
        push.set(ZLINK_CONNECT_TIMEOUT, 10).set(ZLINK_RECONNECT_IVL, 1);
        watcher watched{owner, push};

        push.connect(silent.endpoint());

        for (int attempt = 0; attempt < 2; ++attempt) {
            watched.expect(ZLINK_EVENT_CONNECT_DELAYED, silent.endpoint());
            watched.expect(ZLINK_EVENT_CLOSED, silent.endpoint());
            watched.expect(ZLINK_EVENT_CONNECT_RETRIED, silent.endpoint());
        }
    }
}

TEST_CASE("connection options: attempts are as far apart as RECONNECT_IVL says") {
    const context owner;
    socket push{owner, ZLINK_PUSH};
    push.set(ZLINK_RECONNECT_IVL, 3);
    watcher watched{owner, push, ZLINK_EVENT_CONNECT_RETRIED};
    const milliseconds taken = time_of([&] {
        push.connect(vacant(transport::tcp));
        for (int attempt = 0; attempt < 5; ++attempt) {
            const int wait = watched.next().value;
            CHECK(wait >= 3);
            CHECK(wait < 6);
        }
    });
    CHECK(taken >= milliseconds{4 * 3});
}

TEST_CASE("connection options: the wait doubles up to RECONNECT_IVL_MAX") {
    const context owner;
    socket push{owner, ZLINK_PUSH};
    push.set(ZLINK_RECONNECT_IVL, 4).set(ZLINK_RECONNECT_IVL_MAX, 20);
    watcher watched{owner, push, ZLINK_EVENT_CONNECT_RETRIED};
    push.connect(vacant(transport::tcp));

    const std::pair<int, int> ranges[] = {{4, 7}, {8, 15}, {16, 20}, {20, 20}, {20, 20}};
    for (const auto& [least, most] : ranges) {
        const int wait = watched.next().value;
        CHECK(wait >= least);
        CHECK(wait <= most);
    }
}

TEST_CASE("connection options: with a RECONNECT_IVL of -1 there is one attempt") {
    const context owner;
    socket push{owner, ZLINK_PUSH};
    push.set(ZLINK_RECONNECT_IVL, -1);
    watcher watched{owner, push};
    const std::string endpoint = vacant(transport::tcp);

    push.connect(endpoint);

    watched.expect(ZLINK_EVENT_CONNECT_DELAYED, endpoint);
    watched.expect(ZLINK_EVENT_CLOSED, endpoint);
    CHECK(watched.is_silent_until_visited(owner, push));
}

TEST_CASE("connection options: IMMEDIATE queues nothing for a peer that is not there") {
    for (const setting& over : network_settings()) {
        CAPTURE(over);
        const context owner{over};
        const std::string endpoint = vacant(over.via);
        socket push{owner, ZLINK_PUSH};
        push.set(ZLINK_IMMEDIATE, 1).set(ZLINK_RECONNECT_IVL, 1).connect(endpoint);
        CHECK(push.send("lost", ZLINK_DONTWAIT) == EAGAIN);

        for (int round = 0; round < 2; ++round) {
            socket pull{owner, ZLINK_PULL};
            pull.bind(endpoint);
            REQUIRE(push.send("x") == ok);
            CHECK(pull.recv() == message{"x"});
            pull.close();
            wait_until(owner, [&] { return push.events() == 0; });
            CHECK(push.send("lost", ZLINK_DONTWAIT) == EAGAIN);
        }
    }
}

} // namespace api_test
