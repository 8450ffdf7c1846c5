// SPDX-License-Identifier: MPL-2.0
//
// The proxy is a thread of the test, which forwards bytes.
#include "edge_fixture.hpp"
#include "stream_fixture.hpp"
#include "watcher.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

// Code is in the namespace, because the system's socket() is used, too.
namespace api_test {

namespace {

/// A SOCKS5 proxy for one connection, to a tcp port of the loopback interface.
class proxy {
public:
    struct script {
        bool asks_for_credentials = false;
        char reply = 0;
    };

    explicit proxy(const script& what)
        : script_(what), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in own = loopback(0);
        socklen_t bytes = sizeof own;
        REQUIRE(::bind(listener_, reinterpret_cast<sockaddr*>(&own), bytes) == 0);
        REQUIRE(::listen(listener_, 10) == 0);
        REQUIRE(::getsockname(listener_, reinterpret_cast<sockaddr*>(&own), &bytes) == 0);
        address = "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
        thread_ = std::thread([this] { serve(::accept(listener_, nullptr, nullptr)); });
    }
    proxy(const proxy&) = delete;
    proxy& operator=(const proxy&) = delete;
    ~proxy() {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
    }

    std::string address;
    /// The client's request; valid once the proxy has answered.
    std::string credentials;
    std::string request;

private:
    static sockaddr_in loopback(unsigned short port) {
        sockaddr_in made{};
        made.sin_family = AF_INET;
        made.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        made.sin_port = htons(port);
        return made;
    }

    static std::string read(int from, std::size_t bytes) {
        std::string data(bytes, '\0');
        const ssize_t got = ::recv(from, data.data(), bytes, MSG_WAITALL);
        data.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
        return data;
    }

    /// Writes one byte at a time: the client must not rely on more.
    static void write(int to, std::string_view data) {
        for (const char& each : data) {
            ::send(to, &each, 1, MSG_NOSIGNAL);
        }
    }

    void serve(int client) {
        if (client < 0) {
            return;
        }
        const std::string greeting = read(client, 2);
        read(client, greeting.size() < 2 ? 0 : static_cast<unsigned char>(greeting[1]));
        write(client, script_.asks_for_credentials ? std::string("\x05\x02", 2)
                                                   : std::string("\x05\x00", 2));
        if (script_.asks_for_credentials) {
            credentials = read(client, 1 + 1 + 2 + 1 + 6);
            write(client, std::string("\x01\x00", 2));
        }
        request = read(client, 4);
        if (request.size() == 4 && request[3] == 3) {
            const std::string length = read(client, 1);
            request += read(client, static_cast<unsigned char>(length[0]));
        } else {
            request += read(client, 4);
        }
        const std::string port = read(client, 2);
        const std::string reply = std::string("\x05", 1) + script_.reply;
        const int server = ::socket(AF_INET, SOCK_STREAM, 0);
        if (port.size() == 2 && script_.reply == 0) {
            const sockaddr_in target = loopback(static_cast<unsigned short>(
                static_cast<unsigned char>(port[0]) << 8 | static_cast<unsigned char>(port[1])));
            ::connect(server, reinterpret_cast<const sockaddr*>(&target), sizeof target);
        }
        write(client, reply + std::string("\0\x01\x7f\0\0\x01\0\0", 8));
        pass_on(client, server);
        ::close(client);
        ::close(server);
    }

    void pass_on(int client, int server) const {
        pollfd both[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
        while (script_.reply == 0 && ::poll(both, 2, -1) > 0) {
            for (int side = 0; side < 2; ++side) {
                char data[1000];
                if (both[side].revents == 0) {
                    continue;
                }
                const ssize_t got = ::recv(both[side].fd, data, sizeof data, 0);
                if (got <= 0) {
                    return;
                }
                ::send(both[1 - side].fd, data, static_cast<std::size_t>(got), MSG_NOSIGNAL);
            }
        }
    }

    script script_;
    int listener_;
    std::thread thread_;
};

std::string port_of(const std::string& endpoint) {
    return endpoint.substr(endpoint.rfind(':'));
}

} // namespace

TEST_CASE("socks: connects through the proxy, which finds the peer") {
    for (const int io_threads : every_io_threads) {
        for (const std::string host : {"127.0.0.1", "peer.invalid"}) {
            CAPTURE(io_threads);
            CAPTURE(host);
            proxy between{{}};
            const context owner{io_threads};
            socket server{owner, ZLINK_REP};
            socket client{owner, ZLINK_REQ};
            const std::string endpoint = "tcp://" + host + port_of(server.bind(transport::tcp));
            watcher watched{owner, client};
            client.set(ZLINK_SOCKS_PROXY, between.address).connect(endpoint);

            REQUIRE(client.send("question") == ok);
            CHECK(server.recv_frame() == "question");
            REQUIRE(server.send("answer") == ok);
            CHECK(client.recv_frame() == "answer");

            watched.expect(ZLINK_EVENT_CONNECT_DELAYED, endpoint);
            watched.expect(ZLINK_EVENT_CONNECTED, endpoint);
            watched.expect(ZLINK_EVENT_HANDSHAKE_SUCCEEDED, endpoint);
            CHECK(between.request == (host == "127.0.0.1"
                                          ? std::string("\x05\x01\x00\x01\x7f\x00\x00\x01", 8)
                                          : std::string("\x05\x01\x00\x03", 4) + host));
        }
    }
}

TEST_CASE("socks: TLS and WebSocket pass through the proxy, and the peer is still verified") {
    for (const std::string bound_to : edge_endpoints) {
        for (const bool is_trusted : {true, false}) {
            CAPTURE(bound_to);
            CAPTURE(is_trusted);
            if (!is_trusted && !bound_to.starts_with("tls") && !bound_to.starts_with("wss")) {
                continue; // tcp and ws ask for no certificate.
            }
            proxy between{{}};
            const context owner;
            const edge_trust trust;
            const edge_trust of_others;
            socket server{owner, ZLINK_STREAM};
            socket client{owner, ZLINK_STREAM};
            trust.let_listen(server);
            (is_trusted ? trust : of_others).let_dial(client);
            const std::string bound = server.bind(bound_to);
            const std::string via = bound.substr(0, bound.find("://") + 3);
            watcher seen{owner, client, ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL};
            client.set(ZLINK_RECONNECT_IVL, -1).set(ZLINK_SOCKS_PROXY, between.address);
            // The proxy resolves this name, and the certificate is for it.
            client.connect(via + "localhost" + bound.substr(bound.rfind(':')));
            if (!is_trusted) {
                CHECK(seen.next().value == EKEYREJECTED);
                continue;
            }
            const std::string id = recv_arrival(client);
            CHECK(client.send(message{id, "hello"}) == ok);
            const std::string at_server = recv_arrival(server);
            CHECK(server.recv() == message{at_server, "hello"});
            CHECK(between.request == std::string("\x05\x01\x00\x03", 4) + "localhost");
        }
    }
}

TEST_CASE("socks: tells the proxy name and password") {
    proxy between{{.asks_for_credentials = true}};
    const context owner;
    socket server{owner, ZLINK_PULL};
    socket client{owner, ZLINK_PUSH};
    client.set(ZLINK_SOCKS_PROXY, between.address).set(ZLINK_SOCKS_USERNAME, "me");
    client.set(ZLINK_SOCKS_PASSWORD, "secret").connect(server.bind(transport::tcp));
    REQUIRE(client.send("x") == ok);
    CHECK(server.recv_frame() == "x");
    CHECK(between.credentials == "\x01\x02me\x06secret");
}

TEST_CASE("socks: tries again later when the proxy did not connect") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        proxy between{{.reply = 5}};
        const context owner{io_threads};
        const std::string endpoint = vacant(transport::tcp);
        socket client{owner, ZLINK_PUSH};
        watcher watched{owner, client};
        client.set(ZLINK_SOCKS_PROXY, between.address).connect(endpoint);
        watched.expect(ZLINK_EVENT_CONNECT_DELAYED, endpoint);
        watched.expect(ZLINK_EVENT_CLOSED, endpoint);
        watched.expect(ZLINK_EVENT_CONNECT_RETRIED, endpoint);
    }
}

TEST_CASE("socks: gives up a proxy that says nothing when there is no more time") {
    for (const int limit : {ZLINK_CONNECT_TIMEOUT, ZLINK_HANDSHAKE_IVL}) {
        CAPTURE(limit);
        const silent_listener silent;
        const context owner;
        socket client{owner, ZLINK_PUSH};
        watcher watched{owner, client};
        client.set(ZLINK_SOCKS_PROXY, silent.endpoint().substr(6)).set(limit, 10);
        client.connect("tcp://127.0.0.1:1");
        watched.expect(ZLINK_EVENT_CONNECT_DELAYED, "tcp://127.0.0.1:1");
        watched.expect(ZLINK_EVENT_CLOSED, "tcp://127.0.0.1:1");
        watched.expect(ZLINK_EVENT_CONNECT_RETRIED, "tcp://127.0.0.1:1");
    }
}

TEST_CASE("socks: a proxy that cannot be is refused when it is needed") {
    const context owner;
    socket client{owner, ZLINK_PUSH};
    client.set(ZLINK_SOCKS_PROXY, "nowhere");
    CHECK(client.try_connect("tcp://127.0.0.1:1") == EINVAL);
    REQUIRE(zlink_setsockopt(client, ZLINK_SOCKS_PROXY, nullptr, 0) == 0);
    CHECK(client.try_connect("tcp://127.0.0.1:1") == ok);
}

} // namespace api_test
