// SPDX-License-Identifier: MPL-2.0
//
// The memory that connections leave behind when they come and go.
#include "edge_fixture.hpp"
#include "fixture.hpp"
#include "raw_peer.hpp"
#include "stream_fixture.hpp"

#include <malloc.h>

using namespace api_test;

namespace {

/// Bytes that the process has from the allocator; always 0 under the address sanitizer.
std::size_t allocated() {
    const struct mallinfo2 now = ::mallinfo2();
    return now.uordblks + now.hblkhd;
}

/// Opens `count` connections to `router` at once, sends messages both ways over each, and ends
/// them.
void exchange(socket& router, const std::string& endpoint, int count) {
    const context theirs;
    std::vector<socket> dealers;
    const std::string body(100000, 'x');
    for (int number = 0; number < count; ++number) {
        dealers.emplace_back(theirs, ZLINK_DEALER).connect(endpoint);
        for (int sent = 0; sent < 3; ++sent) {
            REQUIRE(dealers.back().send(body) == ok);
            REQUIRE(dealers.back().send("short") == ok);
        }
    }
    for (int number = 0; number < 6 * count; ++number) {
        const message received = router.recv();
        REQUIRE(router.send(received) == ok);
    }
    for (socket& each : dealers) {
        for (int received = 0; received < 6; ++received) {
            each.recv();
        }
    }
}

} // namespace

TEST_CASE("churn: the memory of a thousand connections with traffic is given back") {
    const context owner;
    socket router{owner, ZLINK_ROUTER};
    const std::string endpoint = router.bind(transport::tcp);
    const std::size_t before = allocated();
    constexpr int at_once = 50;
    for (int count = 0; count < 1000; count += at_once) {
        exchange(router, endpoint, at_once);
    }
    // Handles, the reactor and the allocator itself keep a little for the connections that existed
    // at once.
    constexpr std::size_t slack_bytes = 512 * 1024;
    wait_until(owner, [&] {
        router.events(); // Releases the peers that are gone.
        return allocated() < before + slack_bytes;
    });
}

TEST_CASE("churn: the memory of peers of a STREAM is given back") {
    for (const bool is_web : {false, true}) {
        CAPTURE(is_web);
        const context owner;
        socket stream{owner, ZLINK_STREAM};
        const std::string bound = stream.bind(is_web ? "ws://127.0.0.1:*/" : "tcp://127.0.0.1:*");
        const auto visit = [&] {
            raw_peer peer{owner, tcp_of(bound)};
            if (is_web) {
                peer.send(edge_upgrade);
            }
            const std::string id = recv_arrival(stream);
            peer.send(is_web ? std::string("\x82\x81\0\0\0\0x", 7) : framed("x"));
            REQUIRE(stream.recv() == message{id, "x"});
            peer.close();
            recv_departure(stream, id);
        };
        for (int count = 0; count < 100; ++count) {
            visit();
        }
        const std::size_t before = allocated();
        for (int count = 0; count < 1000; ++count) {
            visit();
        }
        constexpr std::size_t slack_bytes = 128 * 1024; // 1000 peers would hold more than 1 MiB.
        wait_until(owner, [&] {
            stream.events();
            return allocated() < before + slack_bytes;
        });
    }
}
