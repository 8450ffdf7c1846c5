// SPDX-License-Identifier: MPL-2.0
//
// Limits of listeners, proxies before them, and ports that several sockets share.
#include "edge_fixture.hpp"
#include "raw_peer.hpp"
#include "stream_fixture.hpp"
#include "watcher.hpp"

#include <cerrno>
#include <memory>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <vector>

// Code is in the namespace, because the system's socket() is near, too.
namespace api_test {

using namespace std::string_literals;

namespace {

constexpr int accept_events = ZLINK_EVENT_ACCEPTED | ZLINK_EVENT_ACCEPT_FAILED;
constexpr int end_events =
    ZLINK_EVENT_DISCONNECTED | ZLINK_EVENT_ACCEPT_FAILED | ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL;

/// A STREAM that can listen over each transport.
struct listening {
    explicit listening(const context& owner) : stream(owner, ZLINK_STREAM) {
        trust.let_listen(stream);
    }

    edge_trust trust;
    socket stream;
};

/// The headers of both versions with which a proxy announces 192.0.2.1:56324.
const std::string version_one = "PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n";
const std::string signature_two = "\r\n\r\n\0\r\nQUIT\n"s;
const std::string version_two =
    signature_two + "\x21\x11\0\x0c\xc0\0\x02\x01\xc6\x33\x64\x07\xdc\x04\x01\xbb"s;

std::string version_one_from(const std::string& host) {
    return "PROXY TCP" + std::string(host.find(':') == std::string::npos ? "4 " : "6 ") + host +
           " " + host + " 1000 443\r\n";
}

int port_of(const std::string& endpoint) {
    return std::stoi(endpoint.substr(endpoint.rfind(':') + 1));
}

/// A proxy for one connection to a listener, to which it first sends a header.
class announcing_proxy {
public:
    announcing_proxy(const std::string& target, std::string said)
        : thread_([this, below = tcp_of(target), said = std::move(said)] { serve(below, said); }) {}
    announcing_proxy(const announcing_proxy&) = delete;
    announcing_proxy& operator=(const announcing_proxy&) = delete;
    ~announcing_proxy() { thread_.join(); }

    /// The endpoint that reaches `like` through it.
    std::string endpoint(const std::string& like) const {
        return like.substr(0, like.find(':')) + listener_.endpoint().substr(3) +
               (like.ends_with("/") ? "/" : "");
    }

private:
    void serve(const std::string& target, const std::string& said) {
        const context none;
        raw_peer client{none, listener_.accept(none)};
        raw_peer server{none, target};
        server.send(said);
        relay(client.descriptor(), server.descriptor());
    }

    static void relay(int client, int server) {
        pollfd both[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
        while (::poll(both, 2, static_cast<int>(patience.count())) > 0) {
            for (int side = 0; side < 2; ++side) {
                char data[1000];
                const ssize_t got =
                    both[side].revents != 0 ? ::recv(both[side].fd, data, sizeof data, 0) : -1;
                if (got == 0 || (got < 0 && both[side].revents != 0)) {
                    return;
                }
                if (got > 0) {
                    ::send(both[1 - side].fd, data, static_cast<std::size_t>(got), MSG_NOSIGNAL);
                }
            }
        }
    }

    raw_listener listener_;
    std::thread thread_;
};

} // namespace

TEST_SUITE("edge") {

    TEST_CASE("edge: no more connections are open than the limit, whatever the transport") {
        for (const std::string endpoint : edge_endpoints) {
            for (const int io_threads : every_io_threads) {
                CAPTURE(endpoint);
                CAPTURE(io_threads);
                const context owner{io_threads};
                listening at{owner};
                at.stream.set(ZLINK_MAX_CONNECTIONS, 2);
                const std::string bound = at.stream.bind(endpoint);
                const std::string below = tcp_of(bound);
                watcher seen{owner, at.stream, accept_events | end_events};
                raw_peer first{owner, below};
                seen.expect(ZLINK_EVENT_ACCEPTED, bound);
                std::optional<raw_peer> second{std::in_place, owner, below};
                seen.expect(ZLINK_EVENT_ACCEPTED, bound);
                for (int count = 0; count < 3; ++count) {
                    raw_peer above{owner, below};
                    CHECK(seen.expect(ZLINK_EVENT_ACCEPT_FAILED, bound) == EUSERS);
                    CHECK(above.is_disconnected());
                }
                CHECK(first.is_connected());
                // Each disconnection makes room for one, also in the middle of a handshake.
                for (int count = 0; count < 3; ++count) {
                    second.reset();
                    while (seen.next().what != ZLINK_EVENT_DISCONNECTED) {
                    }
                    // Not at once: the event comes before the descriptor is closed.
                    do {
                        second.emplace(owner, below);
                    } while (seen.next().what == ZLINK_EVENT_ACCEPT_FAILED);
                    raw_peer above{owner, below};
                    CHECK(seen.expect(ZLINK_EVENT_ACCEPT_FAILED, bound) == EUSERS);
                }
            }
        }
    }

    TEST_CASE("edge: connections over ipc are counted in all, not by address") {
        const context owner{1};
        socket pull{owner, ZLINK_PULL};
        pull.set(ZLINK_MAX_CONNECTIONS, 2).set(ZLINK_MAX_CONNECTIONS_PER_ADDRESS, 1);
        const std::string bound = pull.bind(transport::ipc);
        watcher seen{owner, pull, accept_events};
        raw_peer first{owner, bound};
        raw_peer second{owner, bound};
        seen.expect(ZLINK_EVENT_ACCEPTED, bound);
        seen.expect(ZLINK_EVENT_ACCEPTED, bound);
        raw_peer above{owner, bound};
        CHECK(seen.expect(ZLINK_EVENT_ACCEPT_FAILED, bound) == EUSERS);
    }

    TEST_CASE("edge: each address has as many connections as one may have") {
        const context owner{1};
        socket pull{owner, ZLINK_PULL};
        pull.set(ZLINK_MAX_CONNECTIONS_PER_ADDRESS, 1).set(ZLINK_IPV6, 1);
        const std::string bound = pull.bind("tcp://[::]:*");
        const std::string port = std::to_string(port_of(bound));
        watcher seen{owner, pull, accept_events | end_events};
        std::vector<socket> pushing;
        const auto dial = [&](const std::string& from, const std::string& to) {
            pushing.emplace_back(owner, ZLINK_PUSH);
            pushing.back().set(ZLINK_RECONNECT_IVL, -1).set(ZLINK_IPV6, 1);
            pushing.back().connect("tcp://" + from + ":0;" + to + ":" + port);
        };
        const auto comes_in = [&] { CHECK(seen.next().what == ZLINK_EVENT_ACCEPTED); };
        const auto is_refused = [&] {
            const event told = seen.next();
            CHECK(told.what == ZLINK_EVENT_ACCEPT_FAILED);
            CHECK(told.value == EDQUOT);
        };
        dial("127.0.0.1", "127.0.0.1");
        comes_in();
        dial("127.0.0.2", "127.0.0.1");
        comes_in();
        dial("127.0.0.2", "127.0.0.1");
        is_refused();
        dial("[::1]", "[::1]");
        comes_in();
        dial("[::1]", "[::1]");
        is_refused();
        pushing[1].close();
        seen.await(ZLINK_EVENT_DISCONNECTED);
        do { // The event comes a little before.
            dial("127.0.0.2", "127.0.0.1");
        } while (seen.next().what == ZLINK_EVENT_ACCEPT_FAILED);
    }

    TEST_CASE("edge: a limit per address counts IPv4 alike, however it comes") {
        const context owner{1};
        socket stream{owner, ZLINK_STREAM};
        stream.set(ZLINK_MAX_CONNECTIONS_PER_ADDRESS, 1).set(ZLINK_PROXY_PROTOCOL, 1);
        const std::string bound = stream.bind("tcp://127.0.0.1:*");
        watcher seen{owner, stream, ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL};
        std::vector<std::unique_ptr<raw_peer>> peers;
        const auto dial = [&](const std::string& host) {
            peers.push_back(std::make_unique<raw_peer>(owner, bound));
            peers.back()->send(version_one_from(host));
        };
        const auto comes_in = [&](const std::string& host) {
            dial(host);
            recv_arrival(stream);
        };
        const auto is_refused = [&](const std::string& host) {
            dial(host);
            CHECK(seen.next().value == EDQUOT);
            CHECK(peers.back()->is_disconnected());
        };
        comes_in("192.0.2.1");
        is_refused("192.0.2.1");
        is_refused("::ffff:192.0.2.1");
        comes_in("192.0.2.2");
        // The first 64 bits of an IPv6 address count.
        comes_in("2001:db8:0:1::1");
        is_refused("2001:db8:0:1:ffff::2");
        comes_in("2001:db8:0:2::1");
        peers.front()->close();
        recv_news(stream);
        wait_until(owner, [&] { // The event comes a little before.
            dial("::ffff:192.0.2.1");
            zlink_pollitem_t items[] = {{stream, 0, ZLINK_POLLIN, 0},
                                        {seen.end(), 0, ZLINK_POLLIN, 0}};
            REQUIRE(zlink_poll(items, 2, patience.count()) > 0);
            if (items[0].revents == 0) {
                seen.next();
            }
            return items[0].revents != 0;
        });
    }

    TEST_CASE("edge: a proxy says who the peer is") {
        for (const std::string endpoint : {"tcp://127.0.0.1:*", "ws://127.0.0.1:*/"}) {
            for (const std::string& said : {version_one, version_two}) {
                CAPTURE(endpoint);
                const context owner{1};
                listening at{owner};
                at.stream.set(ZLINK_PROXY_PROTOCOL, 1);
                const std::string bound = at.stream.bind(endpoint);
                raw_peer client{owner, tcp_of(bound)};
                client.send(said.substr(0, 3));
                client.await_read();
                client.send(said.substr(3, 20));
                client.await_read();
                const bool is_web = bound.starts_with("ws");
                client.send(said.substr(23) + (is_web ? edge_upgrade : framed("hi")));
                const news told = recv_news(at.stream);
                CHECK(
                    told.text.starts_with(bound.substr(0, bound.find(':')) + "://192.0.2.1:56324"));
                if (is_web) {
                    CHECK(client.recv(12) == "HTTP/1.1 101");
                    continue;
                }
                frame id;
                frame body;
                REQUIRE(zlink_msg_recv(id.get(), at.stream, 0) == 4);
                REQUIRE(zlink_msg_recv(body.get(), at.stream, 0) == 2);
                CHECK(zlink_msg_gets(body.get(), "Peer-Address") == "192.0.2.1"s);
                zlink_peer_t peer{};
                REQUIRE(zlink_socket_peers(at.stream, &peer, 1) == 1);
                CHECK(peer.endpoint == "tcp://192.0.2.1:56324"s);
            }
        }
    }

    TEST_CASE("edge: a proxy says who the peer is before TLS begins") {
        for (const std::string endpoint : {"tls://127.0.0.1:*", "wss://127.0.0.1:*/"}) {
            for (const std::string& said : {version_one, version_two}) {
                CAPTURE(endpoint);
                const context owner{1};
                listening at{owner};
                at.stream.set(ZLINK_PROXY_PROTOCOL, 1);
                const std::string bound = at.stream.bind(endpoint);
                const announcing_proxy proxy{bound, said};
                socket client{owner, ZLINK_STREAM};
                at.trust.let_dial(client);
                client.set(ZLINK_RECONNECT_IVL, -1);
                client.connect(proxy.endpoint(endpoint));
                const std::string at_client = recv_arrival(client);
                const news told = recv_news(at.stream);
                CHECK(told.text.starts_with(bound.substr(0, 3)));
                CHECK(told.text.find("://192.0.2.1:56324") != std::string::npos);
                CHECK(client.send(message{at_client, "hello"}) == ok);
                CHECK(at.stream.recv() == message{told.id, "hello"});
            }
        }
    }

    TEST_CASE("edge: a proxy may speak for itself, for nobody, or for a path") {
        const struct {
            std::string said;
            const char* text;
        } all[] = {
            {"PROXY UNKNOWN\r\n", "tcp://127.0.0.1:"},
            {signature_two + "\x20\0\0\0"s, "tcp://127.0.0.1:"},
            {signature_two + "\x21\0\0\x03xyz"s, "tcp://127.0.0.1:"},
            {signature_two + "\x21\x31\0\xd8/run/peer"s + std::string(207, '\0'),
             "ipc:///run/peer"},
        };
        for (const auto& each : all) {
            const context owner{1};
            socket stream{owner, ZLINK_STREAM};
            stream.set(ZLINK_PROXY_PROTOCOL, 1);
            raw_peer client{owner, stream.bind("tcp://127.0.0.1:*")};
            client.send(each.said + framed("x"));
            const news told = recv_news(stream);
            CHECK(told.text.starts_with(each.text));
            CHECK(stream.recv() == message{told.id, "x"});
        }
    }

    TEST_CASE("edge: a peer announced by no proxy, or wrongly, is ended, and no other") {
        const struct {
            std::string said;
            int error;
        } all[] = {
            {framed("hello") + "and more", EPROTO},
            {"PROXY TCP4 1.1.1.1 1.1.1.1 99999 1\r\n", EPROTO},
            {"PROXY UNKNOWN " + std::string(100, 'x'), EMSGSIZE},
            {signature_two + "\x21\x11\xff\xff"s, EMSGSIZE},
            {signature_two + "\x11\x11\0\x0c"s, EPROTO},
        };
        const context owner{1};
        socket stream{owner, ZLINK_STREAM};
        stream.set(ZLINK_PROXY_PROTOCOL, 1);
        const std::string bound = stream.bind("tcp://127.0.0.1:*");
        raw_peer good{owner, bound};
        good.send(version_two);
        const std::string id = recv_arrival(stream);
        watcher seen{owner, stream, ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL};
        for (const auto& each : all) {
            CAPTURE(each.said);
            raw_peer bad{owner, bound};
            bad.send(each.said);
            CHECK(seen.expect(ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL, bound) == each.error);
            CHECK(bad.is_disconnected());
        }
        raw_peer silent{owner, bound};
        silent.send("PROXY");
        silent.close();
        CHECK(seen.next().value == EPIPE);
        good.send(framed("here"));
        CHECK(stream.recv() == message{id, "here"});
    }

    TEST_CASE("edge: a proxy that says too little in time is ended, on every transport") {
        for (const std::string endpoint : edge_endpoints) {
            CAPTURE(endpoint);
            const context owner{1};
            listening at{owner};
            at.stream.set(ZLINK_PROXY_PROTOCOL, 1).set(ZLINK_HANDSHAKE_IVL, 50);
            const std::string bound = at.stream.bind(endpoint);
            watcher seen{owner, at.stream, ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL};
            raw_peer slow{owner, tcp_of(bound)};
            slow.send("PROXY TCP4 ");
            CHECK(seen.next().value == EAGAIN);
            CHECK(slow.is_disconnected());
        }
    }

    TEST_CASE("edge: patterns learn from a proxy who the peer is") {
        const context owner{1};
        socket pair{owner, ZLINK_PAIR};
        pair.set(ZLINK_PROXY_PROTOCOL, 1);
        raw_peer client{owner, pair.bind("tcp://127.0.0.1:*")};
        std::string greeting = "\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL"s;
        greeting.resize(64);
        client.send(version_one + greeting + "\x04\x1a\x05READY\x0bSocket-Type\0\0\0\x04PAIR"s +
                    "\0\x02hi"s);
        frame body;
        REQUIRE(zlink_msg_recv(body.get(), pair, 0) == 2);
        CHECK(zlink_msg_gets(body.get(), "Peer-Address") == "192.0.2.1"s);
    }

    TEST_CASE("edge: sockets share a port if all of them want to") {
        const context owner{1};
        socket first{owner, ZLINK_STREAM};
        socket second{owner, ZLINK_STREAM};
        socket other{owner, ZLINK_STREAM};
        first.set(ZLINK_REUSE_PORT, 1);
        second.set(ZLINK_REUSE_PORT, 1);
        const std::string bound = first.bind("tcp://127.0.0.1:*");
        CHECK(second.try_bind(bound) == ok);
        CHECK(other.try_bind(bound) == EADDRINUSE);
        // The system distributes by the addresses of both ends: both sockets get some.
        std::vector<std::unique_ptr<raw_peer>> peers;
        bool reached_first = false;
        bool reached_second = false;
        constexpr int peers_max = 200; // One side gets none by chance: 2 in 2^200.
        while (!(reached_first && reached_second)) {
            REQUIRE(peers.size() < peers_max);
            peers.push_back(std::make_unique<raw_peer>(owner, bound));
            zlink_pollitem_t both[] = {{first, 0, ZLINK_POLLIN, 0}, {second, 0, ZLINK_POLLIN, 0}};
            REQUIRE(zlink_poll(both, 2, patience.count()) > 0);
            reached_first = reached_first || both[0].revents != 0;
            reached_second = reached_second || both[1].revents != 0;
            recv_arrival(both[0].revents != 0 ? first : second);
        }
    }

    TEST_CASE("edge: a port is one socket's by default") {
        const context owner{1};
        socket first{owner, ZLINK_STREAM};
        socket second{owner, ZLINK_STREAM};
        const std::string bound = first.bind("tcp://127.0.0.1:*");
        CHECK(second.try_bind(bound) == EADDRINUSE);
        second.set(ZLINK_REUSE_PORT, 1);
        CHECK(second.try_bind(bound) == EADDRINUSE);
    }

    TEST_CASE("edge: options have their ranges and defaults") {
        const context owner{1};
        socket any{owner, ZLINK_PULL};
        for (const int option : {ZLINK_MAX_CONNECTIONS, ZLINK_MAX_CONNECTIONS_PER_ADDRESS,
                                 ZLINK_PROXY_PROTOCOL, ZLINK_REUSE_PORT}) {
            CHECK(any.get(option) == 0);
            const int negative = -1;
            CHECK(error_of(zlink_setsockopt(any, option, &negative, sizeof negative)) == EINVAL);
            any.set(option, 1);
            CHECK(any.get(option) == 1);
        }
    }

} // TEST_SUITE

} // namespace api_test
