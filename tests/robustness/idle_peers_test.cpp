// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"
#include "other_process.hpp"
#include "trial.hpp"
#include "zmtp_peer.hpp"

#include <cstddef>
#include <list>

// Peers that have connected and say nothing.

using namespace api_test;
using namespace robustness;

namespace {

/// User memory that an idle tcp peer may take at a ROUTER.
constexpr std::ptrdiff_t idle_peer_bytes_max = 2048;

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
        CHECK(router.poll(ZLINK_POLLIN, moment) == 0); // Takes the peers from its mailbox.

        const std::ptrdiff_t bytes = (memory_bytes() - before) / peer_count;
        figures() << peer_count << " peers";
        if (!is_sanitized) {
            figures() << ", " << bytes << " octets each";
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
}
