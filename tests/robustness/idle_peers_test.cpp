// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"
#include "other_process.hpp"
#include "testing/certificates.hpp"
#include "trial.hpp"
#include "web_peer.hpp"
#include "zmtp_peer.hpp"

#include <cstddef>
#include <list>
#include <malloc.h>
#include <string>

// Peers that have connected and send nothing.

using namespace api_test;
using namespace robustness;

namespace {

/// User memory that an idle tcp peer may take at a ROUTER.
constexpr std::ptrdiff_t idle_peer_bytes_max = 2048;

/// The same at a STREAM, after a message each way; and the memory that OpenSSL keeps for a
/// connection.
constexpr std::ptrdiff_t idle_stream_peer_bytes_max = 2048;
constexpr std::ptrdiff_t idle_tls_bytes_max = 18'432;

/// The allocated bytes. Between them lies free memory of queues, which the allocator can reuse but
/// cannot return to the system.
std::ptrdiff_t allocated_bytes() {
    return static_cast<std::ptrdiff_t>(::mallinfo2().uordblks);
}

/// The peers of a STREAM, which are connections of another STREAM: each gets a question, and
/// answers.
void play_stream_peers(const line& to_test, int peer_count) {
    const context owner;
    socket own{owner, ZLINK_STREAM};
    own.set(ZLINK_STREAM_EVENTS, 0).set(ZLINK_TLS_VERIFY, 0);
    const std::string endpoint = to_test.hear();
    const auto connect = [&](int count) {
        for (int number = 0; number < count; ++number) {
            own.connect(endpoint);
            const message asked = own.recv();
            REQUIRE(own.send({asked.frames[0], "fine"}) == ok);
        }
        to_test.say("connected");
    };
    connect(100); // The first peers allocate shared memory, which is not counted.
    to_test.hear();
    connect(peer_count);
    to_test.hear();
}

/// Sends a question to each new peer, and waits for the answers.
void greet(socket& by_whom, int count) {
    for (int answered = 0; answered < count;) {
        const message told = by_whom.recv();
        if (told.frames.size() == 3) {
            REQUIRE(told.frames[1] == "\1");
            REQUIRE(by_whom.send({told.frames[0], "how are you?"}) == ok);
        } else {
            CHECK(told.frames[1] == "fine");
            ++answered;
        }
    }
}

void check_idle_stream_peers(const std::string& endpoint, std::ptrdiff_t bytes_max) {
    const int peer_count = chosen(10'000, 1000, 100);
    const other_process peers{[&](const line& to_test) { play_stream_peers(to_test, peer_count); }};
    const zlink::testing::temporary_folder folder;
    zlink::testing::authority issuer{folder, "issuer"};
    const zlink::testing::identity shown = issuer.issue();
    const context owner;
    socket server{owner, ZLINK_STREAM};
    server.set(ZLINK_BACKLOG, 1000).set(ZLINK_TLS_CERTIFICATE, shown.certificate);
    server.set(ZLINK_TLS_KEY, shown.key);
    peers.say(server.bind(endpoint));
    greet(server, 100);
    CHECK(peers.hear() == "connected");
    const std::ptrdiff_t before = memory_bytes();
    const std::ptrdiff_t allocated_before = allocated_bytes();

    peers.say("connect");
    greet(server, peer_count);
    CHECK(peers.hear() == "connected");

    figures() << peer_count << " peers";
    if (is_sanitized) {
        return;
    }
    // The queues release their memory when they have not been used for some time.
    const auto bytes = [&] { return (allocated_bytes() - allocated_before) / peer_count; };
    wait_until(owner, [&] {
        CHECK(server.poll(ZLINK_POLLIN, moment) == 0);
        return bytes() <= bytes_max;
    });
    figures() << ", " << bytes() << " bytes each, of " << (memory_bytes() - before) / peer_count
              << " that the process has taken";
}

/// Clients that fetch a file, and then keep the connection.
void play_http_clients(const line& to_test, int client_count) {
    const context owner;
    std::list<raw_peer> clients;
    const std::string endpoint = tcp_of(to_test.hear());
    const auto connect = [&](int count) {
        for (; count > 0; --count) {
            raw_peer& added = clients.emplace_back(owner, endpoint);
            added.send("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n");
            REQUIRE(recv_header(added).starts_with("HTTP/1.1 200 "));
            REQUIRE(added.recv(5) == "hello");
        }
        to_test.say("connected");
    };
    connect(100); // The first ones allocate shared memory, which is not counted.
    to_test.hear();
    connect(client_count);
    to_test.hear();
}

} // namespace

TEST_SUITE("idle_peers") {

    TEST_CASE("a ROUTER with many idle tcp peers spends little on each, and serves any of them") {
        const int peer_count = chosen(10'000, 1000, 200);
        const other_process peers{[&](const line& to_test) {
            const std::string endpoint = to_test.hear();
            std::list<zmtp_peer> connected;
            const auto connect = [&](int count) {
                for (; count > 0; --count) {
                    connected.emplace_back(endpoint).shake_hands("DEALER");
                }
                to_test.say("connected");
            };
            connect(1);
            to_test.hear();
            connect(peer_count);
            int index = 0;
            to_test.hear();
            for (const zmtp_peer& each : connected) {
                if (index++ % 97 == 0) {
                    each.send_frame(0, "are you there?");
                    CHECK(each.recv_frame().body == "yes");
                }
            }
            to_test.say("served " + std::to_string((index + 96) / 97));
            to_test.hear();
        }};
        const context owner;
        socket router{owner, ZLINK_ROUTER};
        router.set(ZLINK_BACKLOG, 1000);
        router.set(ZLINK_ROUTER_MANDATORY, 1);
        peers.say(router.bind(transport::tcp));
        CHECK(peers.hear() == "connected");
        CHECK(router.poll(ZLINK_POLLIN, moment) == 0);
        const std::ptrdiff_t before = memory_bytes();

        peers.say("connect");
        CHECK(peers.hear() == "connected");
        // Takes the peers from its mailbox. Asking for their number would allocate memory itself.
        CHECK(router.poll(ZLINK_POLLIN, moment) == 0);

        const std::ptrdiff_t bytes = (memory_bytes() - before) / peer_count;
        figures() << peer_count << " peers";
        if (!is_sanitized) {
            figures() << ", " << bytes << " bytes each";
            CHECK(bytes <= idle_peer_bytes_max);
        }
        peers.say("ask");
        const int served_count = (peer_count + 97) / 97;
        for (int count = 0; count < served_count; ++count) {
            const message asked = router.recv();
            REQUIRE(asked.frames.size() == 2);
            CHECK(asked.frames[1] == "are you there?");
            REQUIRE(router.send({asked.frames[0], "yes"}) == ok);
        }
        CHECK(peers.hear() == "served " + std::to_string(served_count));
    }

    TEST_CASE("a STREAM with many idle tcp peers that have talked to it spends little on each") {
        check_idle_stream_peers("tcp://127.0.0.1:*", idle_stream_peer_bytes_max);
    }

    TEST_CASE("a STREAM with many idle ws peers that have talked to it spends little on each") {
        check_idle_stream_peers("ws://127.0.0.1:*/", idle_stream_peer_bytes_max);
    }

    TEST_CASE(
        "a STREAM with many idle tls peers that have talked to it spends only the memory of TLS") {
        check_idle_stream_peers("tls://127.0.0.1:*",
                                idle_stream_peer_bytes_max + idle_tls_bytes_max);
    }

    TEST_CASE(
        "a STREAM with many idle wss peers that have talked to it spends only the memory of TLS") {
        check_idle_stream_peers("wss://127.0.0.1:*/",
                                idle_stream_peer_bytes_max + idle_tls_bytes_max);
    }

    TEST_CASE(
        "a STREAM with many idle http clients that have fetched a file spends little on each") {
        const int client_count = chosen(10'000, 1000, 100);
        const other_process clients{
            [&](const line& to_test) { play_http_clients(to_test, client_count); }};
        const zlink::testing::temporary_folder folder;
        folder.write("a", "hello");
        const context owner;
        socket server{owner, ZLINK_STREAM};
        server.set(ZLINK_BACKLOG, 1000);
        REQUIRE(zlink_http_serve(server, "/", folder.path().c_str(), nullptr) == 0);
        clients.say(server.bind("http://127.0.0.1:*"));
        CHECK(clients.hear() == "connected");
        const std::ptrdiff_t before = allocated_bytes();
        const std::ptrdiff_t memory_before = memory_bytes();
        clients.say("connect");
        CHECK(clients.hear() == "connected");
        const std::ptrdiff_t bytes = (allocated_bytes() - before) / client_count;
        figures() << client_count << " clients";
        if (!is_sanitized) {
            figures() << ", " << bytes << " bytes each, of "
                      << (memory_bytes() - memory_before) / client_count
                      << " that the process has taken";
            CHECK(bytes <= idle_stream_peer_bytes_max);
        }
        clients.say("done");
    }
}
