// SPDX-License-Identifier: MPL-2.0
//
// A STREAM's defences of an application against peers that are slow, stall, or were accepted by
// mistake.
#include "edge_fixture.hpp"
#include "raw_peer.hpp"
#include "stream_fixture.hpp"
#include "watcher.hpp"
#include "web_peer.hpp"

#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <vector>

// Code is in the namespace, because the system's socket() is near, too.
namespace api_test {

using namespace std::string_literals;

namespace {

/// A STREAM, and a peer that reads nothing until the test makes it.
struct stalled_pair {
    explicit stalled_pair(const context& owner, const char* endpoint = "tcp://127.0.0.1:*")
        : server(owner, ZLINK_STREAM) {
        server.set(ZLINK_SNDHWM, 4).set(ZLINK_SNDBUF, 65536);
        const std::string where = server.bind(std::string(endpoint));
        client.emplace(owner, where.starts_with("ipc://") ? where : tcp_of(where));
        if (where.starts_with("ws://")) {
            client->send(edge_upgrade);
            recv_header(*client);
        }
        id = recv_arrival(server);
    }

    /// Sends until there is no room for more.
    /// @return The number of messages that the peer has not taken.
    int fill() {
        int count = 0;
        while (zlink_stream_send(server, id.data(), payload.data(), payload.size(),
                                 ZLINK_DONTWAIT) > 0) {
            ++count;
        }
        return count;
    }

    socket server;
    std::optional<raw_peer> client;
    std::string id;
    const std::string payload = long_text(200'000);
};

zlink_peer_t peer_of(socket& of, const std::string& id) {
    zlink_peer_t found{};
    REQUIRE(zlink_stream_peer(of, id.data(), &found) == 0);
    return found;
}

int set_error(socket& on, int option, const void* value, std::size_t size) {
    return error_of(zlink_setsockopt(on, option, value, size));
}

constexpr std::array transports{"tcp://127.0.0.1:*", "ws://127.0.0.1:*/"};

} // namespace

TEST_SUITE("stream limits") {

    TEST_CASE("stream limits: a peer that takes nothing is closed within ZLINK_LINGER") {
        for (const char* const endpoint : transports) {
            for (const int io_threads : every_io_threads) {
                CAPTURE(endpoint);
                CAPTURE(io_threads);
                const context owner{io_threads};
                stalled_pair both{owner, endpoint};
                CHECK(both.fill() >= 4);
                both.server.set(ZLINK_LINGER, 50);
                const auto begin = clock::now();
                REQUIRE(zlink_stream_close(both.server, both.id.data(), 4008, "too slow") == 0);
                CHECK(recv_departure(both.server, both.id) == "4008 too slow");
                CHECK(clock::now() - begin >= 50ms);
            }
        }
    }

    TEST_CASE("stream limits: a peer that takes what waits gets it before it is closed") {
        for (const char* const endpoint : transports) {
            CAPTURE(endpoint);
            const context owner;
            stalled_pair both{owner, endpoint};
            const int count = both.fill();
            REQUIRE(zlink_stream_close(both.server, both.id.data(), 4000, "bye") == 0);
            both.client->recv(static_cast<std::size_t>(count) * both.payload.size());
        }
    }

    TEST_CASE("stream limits: a peer is cut off at once, whatever waits for it") {
        for (const char* const endpoint : transports) {
            for (const int io_threads : every_io_threads) {
                for (const bool is_closing : {false, true}) {
                    CAPTURE(endpoint);
                    CAPTURE(io_threads);
                    CAPTURE(is_closing);
                    const context owner{io_threads};
                    stalled_pair both{owner, endpoint};
                    both.client->send(endpoint[0] == 't' ? framed("last")
                                                         : "\x82\x84"
                                                           "\0\0\0\0last"s);
                    REQUIRE(both.server.poll(ZLINK_POLLIN) == ZLINK_POLLIN);
                    both.fill();
                    if (is_closing) {
                        REQUIRE(zlink_stream_close(both.server, both.id.data(), 4008, "slow") == 0);
                    }
                    REQUIRE(zlink_stream_abort(both.server, both.id.data(), 4009, "kicked") == 0);
                    CHECK(zlink_stream_send(both.server, both.id.data(), "x", 1, 0) == -1);
                    CHECK(errno == EHOSTUNREACH);
                    CHECK(error_of(zlink_stream_abort(both.server, both.id.data(), 4009, "")) ==
                          EHOSTUNREACH);
                    CHECK(both.server.recv() == message{both.id, "last"});
                    CHECK(recv_departure(both.server, both.id) ==
                          (is_closing ? "4008 slow" : "4009 kicked"));
                    CHECK(zlink_socket_peers(both.server, nullptr, 0) == 0);
                }
            }
        }
    }

    TEST_CASE("stream limits: a peer that has taken everything is told why it is cut off") {
        const context owner;
        stalled_pair both{owner, "ws://127.0.0.1:*/"};
        REQUIRE(zlink_stream_abort(both.server, both.id.data(), 4010, "out") == 0);
        CHECK(both.client->recv(7) == "\x88\x05\x0f\xaaout");
        CHECK(both.client->is_disconnected());
        CHECK(recv_departure(both.server, both.id) == "4010 out");
    }

    TEST_CASE("stream limits: an invalid peer, code or reason cuts off no peer") {
        const context owner;
        stalled_pair both{owner};
        socket other{owner, ZLINK_PAIR};
        const char* const id = both.id.data();
        CHECK(error_of(zlink_stream_abort(both.server, nullptr, 1000, "")) == EINVAL);
        CHECK(error_of(zlink_stream_abort(both.server, id, 1006, "")) == EINVAL);
        CHECK(error_of(zlink_stream_abort(both.server, id, 1000, "\xff")) == EINVAL);
        CHECK(error_of(zlink_stream_abort(both.server, "none", 1000, "")) == EHOSTUNREACH);
        CHECK(error_of(zlink_stream_abort(other, id, 1000, "")) == ENOTSUP);
        CHECK(both.server.send(message{both.id, "x"}) == ok);
    }

    TEST_CASE("stream limits: a dialled peer that is cut off is not dialled again") {
        const context owner;
        socket server{owner, ZLINK_STREAM};
        socket client{owner, ZLINK_STREAM};
        client.set(ZLINK_RECONNECT_IVL, 1);
        watcher watched{owner, client};
        client.connect(server.bind(transport::tcp));
        const std::string id = recv_arrival(client);
        const std::string at_server = recv_arrival(server);
        REQUIRE(zlink_stream_abort(client, id.data(), 4000, "enough") == 0);
        CHECK(recv_departure(client, id) == "4000 enough");
        recv_departure(server, at_server);
        watched.await(ZLINK_EVENT_DISCONNECTED);
        CHECK(watched.is_silent_until_visited(owner, client));
        CHECK(server.recv_error() == EAGAIN);
    }

    TEST_CASE("stream limits: a peer that is full is disconnected, if the application wants that") {
        for (const char* const endpoint : transports) {
            for (const int way : {0, 1, 2, 3}) {
                CAPTURE(endpoint);
                CAPTURE(way);
                const context owner;
                stalled_pair both{owner, endpoint};
                both.fill();
                both.server.set(ZLINK_STREAM_FULL_CLOSE, 4008).set(ZLINK_SNDTIMEO, 1);
                CHECK(both.server.get(ZLINK_STREAM_FULL_CLOSE) == 4008);
                if (way == 0) {
                    CHECK(both.server.send(message{both.id, "x"}) == EHOSTUNREACH);
                } else if (way == 1) {
                    CHECK(error_of(zlink_stream_send(both.server, both.id.data(), "x", 1,
                                                     ZLINK_DONTWAIT)) == EHOSTUNREACH);
                } else if (way == 2) {
                    zlink_stream_message_t batch{};
                    std::copy_n(both.id.begin(), 4, batch.routing_id);
                    CHECK(error_of(zlink_stream_send_batch(both.server, &batch, 1, 0)) ==
                          EHOSTUNREACH);
                } else {
                    frame sent{"x"};
                    CHECK(zlink_stream_send_many(both.server, both.id.data(), 1, sent.get(), 0) ==
                          0);
                }
                CHECK(recv_departure(both.server, both.id) == "4008 queue full");
            }
        }
    }

    TEST_CASE("stream limits: a routing id that was refused takes its payload with it") {
        const context owner;
        stalled_pair both{owner};
        both.fill();
        both.server.set(ZLINK_STREAM_FULL_CLOSE, 1013);
        CHECK(zlink_send(both.server, both.id.data(), 4, ZLINK_SNDMORE | ZLINK_DONTWAIT) == -1);
        CHECK(errno == EHOSTUNREACH);
        CHECK(zlink_send(both.server, "dropped", 7, 0) == 7);
        CHECK(recv_departure(both.server, both.id) == "1013 queue full");
    }

    TEST_CASE("stream limits: a full peer is closed with a code that may be sent") {
        const context owner;
        socket stream{owner, ZLINK_STREAM};
        socket pair{owner, ZLINK_PAIR};
        for (const int code : {1, 999, 1004, 1005, 1006, 1015, 2999, 5000, -1}) {
            CAPTURE(code);
            CHECK(set_error(stream, ZLINK_STREAM_FULL_CLOSE, &code, sizeof code) == EINVAL);
        }
        const int right = 1008;
        CHECK(set_error(pair, ZLINK_STREAM_FULL_CLOSE, &right, sizeof right) == EINVAL);
        CHECK(set_error(stream, ZLINK_STREAM_FULL_CLOSE, &right, 1) == EINVAL);
        CHECK(set_error(stream, ZLINK_STREAM_FULL_CLOSE, &right, sizeof right) == ok);
        const int none = 0;
        CHECK(set_error(stream, ZLINK_STREAM_FULL_CLOSE, &none, sizeof none) == ok);
    }

    TEST_CASE("stream limits: a send to many reports the peers that were skipped, and why") {
        const context owner;
        stalled_pair both{owner};
        both.fill();
        raw_peer other{owner, tcp_of(both.server.last_endpoint())};
        const std::string other_id = recv_arrival(both.server);
        std::array<int, 3> outcomes{-1, -1, -1};
        frame sent{"x"};
        const std::string ids = other_id + both.id + id_of(77);
        CHECK(zlink_stream_send_each(both.server, ids.data(), 3, sent.get(), 0, outcomes.data()) ==
              1);
        CHECK(outcomes == std::array{0, EAGAIN, EHOSTUNREACH});
        CHECK(other.recv(5) == framed("x"));
        frame again{"y"};
        CHECK(zlink_stream_send_each(both.server, ids.data(), 3, again.get(), 0, nullptr) == 1);
    }

    TEST_CASE("stream limits: what waits for a peer can be asked by its routing id") {
        const context owner;
        stalled_pair both{owner};
        CHECK(peer_of(both.server, both.id).messages == 0);
        both.fill();
        const zlink_peer_t found = peer_of(both.server, both.id);
        CHECK(found.messages >= 4);
        CHECK(found.bytes >= 4 * both.payload.size());
        CHECK(found.endpoint == "tcp://127.0.0.1"s + std::string(found.endpoint).substr(15));
        CHECK(std::string(reinterpret_cast<const char*>(found.routing_id), 4) == both.id);
        REQUIRE(zlink_stream_close(both.server, both.id.data(), 1000, "") == 0);
        CHECK(peer_of(both.server, both.id).messages >= 4);
        REQUIRE(zlink_stream_abort(both.server, both.id.data(), 1000, "") == 0);
        recv_departure(both.server, both.id);
        zlink_peer_t none{};
        CHECK(error_of(zlink_stream_peer(both.server, both.id.data(), &none)) == EHOSTUNREACH);
        CHECK(error_of(zlink_stream_peer(both.server, both.id.data(), nullptr)) == EINVAL);
        CHECK(error_of(zlink_stream_peer(both.server, nullptr, &none)) == EINVAL);
        socket pair{owner, ZLINK_PAIR};
        CHECK(error_of(zlink_stream_peer(pair, both.id.data(), &none)) == ENOTSUP);
    }

    TEST_CASE("stream limits: text that is no UTF-8 is not sent, whatever the call and transport") {
        for (const char* const endpoint : transports) {
            CAPTURE(endpoint);
            const context owner;
            stalled_pair both{owner, endpoint};
            const char* const id = both.id.data();
            for (const std::string& wrong :
                 {"\xff\xfe"s, "ends within \xc3"s, "\xed\xa0\x80"s, std::string(9000, '\xbf')}) {
                const char* const data = wrong.data();
                CHECK(error_of(zlink_stream_send(both.server, id, data, wrong.size(),
                                                 ZLINK_SNDTEXT)) == EINVAL);
                frame marked{wrong};
                zlink_msg_set(marked.get(), ZLINK_TEXT, 1);
                CHECK(error_of(zlink_stream_msg_send(marked.get(), both.server, id, 0)) == EINVAL);
                CHECK(error_of(zlink_stream_send_many(both.server, id, 1, marked.get(), 0)) ==
                      EINVAL);
                CHECK(marked.text() == wrong);
                zlink_stream_message_t batch{{}, ZLINK_SNDTEXT, data, wrong.size()};
                std::copy_n(id, 4, batch.routing_id);
                CHECK(error_of(zlink_stream_send_batch(both.server, &batch, 1, 0)) == EINVAL);
                REQUIRE(zlink_send(both.server, id, 4, ZLINK_SNDMORE) == 4);
                CHECK(error_of(zlink_send(both.server, data, wrong.size(), ZLINK_SNDTEXT)) ==
                      EINVAL);
                CHECK(zlink_send(both.server, "x", 1, 0) == 1); // The refused message's payload.
                both.client->recv(endpoint[0] == 't' ? 5 : 3);
                CHECK(zlink_stream_send(both.server, id, data, 1, 0) == 1); // Not marked as text.
                both.client->recv(endpoint[0] == 't' ? 5 : 3);
            }
            const std::string right = "caf\xc3\xa9 \xf0\x9f\x98\x80";
            CHECK(zlink_stream_send(both.server, id, right.data(), right.size(), ZLINK_SNDTEXT) ==
                  static_cast<int>(right.size()));
        }
    }

    TEST_CASE(
        "stream limits: a peer that ends its direction reads what was sent to it, then it has "
        "gone") {
        for (const char* const endpoint : {"tcp://127.0.0.1:*", "ws://127.0.0.1:*/", "ipc://*"}) {
            for (const int io_threads : every_io_threads) {
                CAPTURE(endpoint);
                CAPTURE(io_threads);
                const context owner{io_threads};
                stalled_pair both{owner, endpoint};
                const int count = both.fill();
                REQUIRE(::shutdown(both.client->descriptor(), SHUT_WR) == 0);
                const bool is_web = endpoint[0] == 'w';
                const std::size_t header_bytes = is_web ? 10 : 4;
                both.client->recv(static_cast<std::size_t>(count) *
                                  (both.payload.size() + header_bytes));
                CHECK(both.client->is_disconnected());
                CHECK(recv_departure(both.server, both.id) ==
                      (is_web ? "1006 closed by the peer" : "1000 closed by the peer"));
            }
        }
    }

    TEST_CASE("stream limits: a peer that ends its direction and takes nothing is not waited for") {
        const context owner;
        stalled_pair both{owner};
        both.fill();
        REQUIRE(::shutdown(both.client->descriptor(), SHUT_WR) == 0);
        both.server.set(ZLINK_RCVTIMEO, 2 * patience);
        const auto begin = clock::now();
        CHECK(recv_departure(both.server, both.id) == "1006 Connection timed out");
        CHECK(clock::now() - begin >= 5s); // One pause of this length, and at most another one.
    }

    TEST_CASE("stream limits: a peer that ends its direction with nothing to read has gone") {
        const context owner;
        stalled_pair both{owner};
        REQUIRE(::shutdown(both.client->descriptor(), SHUT_WR) == 0);
        CHECK(recv_departure(both.server, both.id) == "1000 closed by the peer");
    }

    TEST_CASE("stream limits: what has arrived is there behind unbind, and not behind disconnect") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            const context owner{io_threads};
            socket server{owner, ZLINK_STREAM};
            socket client{owner, ZLINK_STREAM};
            client.set(ZLINK_RECONNECT_IVL, -1);
            const std::string endpoint = server.bind(transport::tcp);
            client.connect(endpoint);
            const std::string at_server = recv_arrival(server);
            const std::string at_client = recv_arrival(client);
            for (const char* const text : {"one", "two"}) {
                REQUIRE(client.send(message{at_client, text}) == ok);
                REQUIRE(server.send(message{at_server, text}) == ok);
            }
            wait_until(owner, [&] { return client.poll(ZLINK_POLLIN, 0ms) != 0; });
            wait_until(owner, [&] { return peer_of(client, at_client).messages == 0; });
            CHECK(server.recv() == message{at_server, "one"});
            wait_until(owner, [&] { return server.poll(ZLINK_POLLIN, 0ms) != 0; });
            REQUIRE(server.unbind(endpoint) == ok);
            CHECK(server.recv() == message{at_server, "two"});
            CHECK(recv_departure(server, at_server) == "1001 unbound");
            CHECK(client.recv() == message{at_client, "one"});
            // Its connection may have ended already, and with it the connect call.
            const bool is_dropped = client.disconnect(endpoint) == ok;
            if (!is_dropped) {
                CHECK(client.recv() == message{at_client, "two"});
            }
            recv_departure(client, at_client);
        }
    }

    TEST_CASE("stream limits: a STREAM refuses options that it would ignore") {
        const context owner;
        socket stream{owner, ZLINK_STREAM};
        const std::string key(32, 'k');
        const int one = 1;
        for (const int option : {ZLINK_CONFLATE, ZLINK_IMMEDIATE, ZLINK_INVERT_MATCHING, ZLINK_RATE,
                                 ZLINK_RECOVERY_IVL, ZLINK_MULTICAST_HOPS, ZLINK_MULTICAST_MAXTPDU,
                                 ZLINK_CURVE_SERVER, ZLINK_PLAIN_SERVER, ZLINK_ZAP_ENFORCE_DOMAIN,
                                 ZLINK_PROBE_ROUTER, ZLINK_ROUTER_MANDATORY, ZLINK_XPUB_NODROP,
                                 ZLINK_REQ_RELAXED, ZLINK_STREAM_NOTIFY, ZLINK_HEARTBEAT_TTL}) {
            CAPTURE(option);
            CHECK(set_error(stream, option, &one, sizeof one) == EINVAL);
        }
        CHECK(std::string(zlink_error_text()).find("ZLINK_STREAM") != std::string::npos);
        for (const int option :
             {ZLINK_CURVE_PUBLICKEY, ZLINK_CURVE_SECRETKEY, ZLINK_CURVE_SERVERKEY,
              ZLINK_PLAIN_USERNAME, ZLINK_PLAIN_PASSWORD, ZLINK_ZAP_DOMAIN, ZLINK_ROUTING_ID,
              ZLINK_CONNECT_ROUTING_ID, ZLINK_SUBSCRIBE, ZLINK_UNSUBSCRIBE}) {
            CAPTURE(option);
            CHECK(set_error(stream, option, key.data(), key.size()) == EINVAL);
        }
        CHECK(stream.get(ZLINK_MECHANISM) == ZLINK_NULL);
        socket raw{owner, ZLINK_RAW_STREAM};
        CHECK(set_error(raw, ZLINK_CONFLATE, &one, sizeof one) == ok);
        CHECK(set_error(raw, ZLINK_CURVE_SERVER, &one, sizeof one) == ok);
    }

    TEST_CASE("stream limits: a STREAM that refused a mechanism accepts no peer without one") {
        const context owner;
        socket stream{owner, ZLINK_STREAM};
        const int one = 1;
        REQUIRE(set_error(stream, ZLINK_CURVE_SERVER, &one, sizeof one) == EINVAL);
        CHECK(std::string(zlink_error_text()).find("CURVE") != std::string::npos);
        watcher events{owner, stream, ZLINK_EVENT_ACCEPT_FAILED};
        raw_peer stranger{owner, stream.bind(transport::tcp)};
        CHECK(events.next().value == EACCES);
        CHECK(stranger.is_disconnected());
        CHECK(stream.recv_error() == EAGAIN);
        CHECK(stream.try_connect("tcp://127.0.0.1:9") == EACCES);
    }

    TEST_CASE("stream limits: bounds messages, and finds out peers that are gone without a word") {
        const context owner;
        socket stream{owner, ZLINK_STREAM};
        std::int64_t bytes_max = 0;
        std::size_t size = sizeof bytes_max;
        REQUIRE(zlink_getsockopt(stream, ZLINK_MAXMSGSIZE, &bytes_max, &size) == 0);
        CHECK(bytes_max == 16 * 1024 * 1024);
        CHECK(stream.get(ZLINK_TCP_KEEPALIVE) == 1);
        CHECK(stream.get(ZLINK_TCP_KEEPALIVE_IDLE) == 60);
        raw_peer peer{owner, stream.bind(transport::tcp)};
        const std::string id = recv_arrival(stream);
        peer.send("\1\0\0\1"s);
        CHECK(recv_departure(stream, id) == "1009 message too large");
        socket raw{owner, ZLINK_RAW_STREAM};
        CHECK(raw.get(ZLINK_TCP_KEEPALIVE) == -1);
        REQUIRE(zlink_getsockopt(raw, ZLINK_MAXMSGSIZE, &bytes_max, &size) == 0);
        CHECK(bytes_max == -1);
    }

    TEST_CASE("stream limits: the system asks a silent peer after a minute") {
        const context owner;
        socket stream{owner, ZLINK_STREAM};
        raw_peer peer{owner, stream.bind(transport::tcp)};
        const std::string id = recv_arrival(stream);
        peer.send(framed("x"));
        stream.recv_frame();
        frame got;
        REQUIRE(zlink_msg_recv(got.get(), stream, 0) == 1);
        const int descriptor = zlink_msg_get(got.get(), ZLINK_SRCFD);
        int value = 0;
        socklen_t size = sizeof value;
        REQUIRE(::getsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &value, &size) == 0);
        CHECK(value == 1);
        REQUIRE(::getsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &value, &size) == 0);
        CHECK(value == 60);
    }

    TEST_CASE("stream limits: without I/O threads there is no descriptor to wait on") {
        const context driven{0};
        socket stream{driven, ZLINK_STREAM};
        int descriptor = -1;
        std::size_t size = sizeof descriptor;
        CHECK(error_of(zlink_getsockopt(stream, ZLINK_FD, &descriptor, &size)) == EMTHREAD);
        CHECK(std::string(zlink_error_text()).find("ZLINK_IO_THREADS") != std::string::npos);
        socket pair{driven, ZLINK_PAIR};
        CHECK(zlink_getsockopt(pair, ZLINK_FD, &descriptor, &size) == 0);
        const context threaded{1};
        socket other{threaded, ZLINK_STREAM};
        CHECK(zlink_getsockopt(other, ZLINK_FD, &descriptor, &size) == 0);
    }

} // TEST_SUITE

} // namespace api_test
