// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"
#include "raw_peer.hpp"
#include "stalling_relay.hpp"
#include "trial.hpp"
#include "watcher.hpp"
#include "zap_handler.hpp"

#include <algorithm>
#include <deque>
#include <vector>

// Peers that stop in the middle of a handshake. Real sockets shake hands through relays; each relay
// carries a few bytes more than the previous one, and then no more.

using namespace api_test;
using namespace robustness;

namespace {

using side = stalling_relay::side;

constexpr milliseconds deadline{300};

/// The options of a server and its clients for one mechanism.
class mechanism {
public:
    explicit mechanism(int which) : which_(which) {
        REQUIRE(zlink_curve_keypair(server_public_, server_secret_) == 0);
        REQUIRE(zlink_curve_keypair(client_public_, client_secret_) == 0);
    }

    void make_server(socket& of) const {
        if (which_ == ZLINK_PLAIN) {
            of.set(ZLINK_PLAIN_SERVER, 1);
        } else if (which_ == ZLINK_CURVE) {
            of.set(ZLINK_CURVE_SERVER, 1).set(ZLINK_CURVE_SECRETKEY, server_secret_);
        }
    }
    void make_client(socket& of) const {
        if (which_ == ZLINK_PLAIN) {
            of.set(ZLINK_PLAIN_USERNAME, "joe").set(ZLINK_PLAIN_PASSWORD, "secret");
        } else if (which_ == ZLINK_CURVE) {
            of.set(ZLINK_CURVE_SERVERKEY, server_public_)
                .set(ZLINK_CURVE_PUBLICKEY, client_public_)
                .set(ZLINK_CURVE_SECRETKEY, client_secret_);
        }
    }

private:
    int which_;
    char server_public_[41];
    char server_secret_[41];
    char client_public_[41];
    char client_secret_[41];
};

/// Sends a request, and makes `router` reply.
void exchange(socket& dealer, socket& router) {
    REQUIRE(dealer.send("question") == ok);
    const message asked = router.recv();
    REQUIRE(router.send({asked.frames.front(), "answer"}) == ok);
    CHECK(dealer.recv() == message{"answer"});
}

/// The number of bytes that `by` sends in a whole handshake.
std::size_t handshake_bytes(const context& owner, socket& router, const mechanism& used, side by) {
    std::deque<stalling_relay> relay;
    relay.emplace_back(router.last_endpoint());
    socket dealer{owner, ZLINK_DEALER};
    used.make_client(dealer);
    watcher of_router{owner, router, ZLINK_EVENT_HANDSHAKE_SUCCEEDED};
    watcher of_dealer{owner, dealer, ZLINK_EVENT_HANDSHAKE_SUCCEEDED};
    dealer.connect(relay.front().endpoint());
    stalling_relay::carry(relay, [&] { return of_router.has_news() && of_dealer.has_news(); });
    REQUIRE(zlink_socket_monitor(router, nullptr, 0) == 0);
    return relay.front().passed_bytes(by);
}

} // namespace

TEST_SUITE("stalled_handshakes") {

    TEST_CASE(
        "a peer that stalls at any byte of a handshake is disconnected in time, by either side") {
        const struct {
            int which;
            const char* name;
            int step_bytes;
        } mechanisms[] = {
            {ZLINK_NULL, "NULL", 1}, {ZLINK_PLAIN, "PLAIN", 2}, {ZLINK_CURVE, "CURVE", 7}};
        for (const auto& [which, name, step_bytes] : mechanisms) {
            // The side that stalls, and the side that has to end the connection.
            for (const auto& [stalls, leaves] :
                 {std::pair{side::client, side::server}, {side::server, side::client}}) {
                CAPTURE(name);
                CAPTURE(static_cast<int>(stalls));
                const mechanism used{which};
                const context owner;
                REQUIRE(zlink_ctx_set(owner, ZLINK_MAX_SOCKETS, 10'000) == 0);
                const zap_handler lets_in{owner, always("200")};
                socket router{owner, ZLINK_ROUTER};
                used.make_server(router);
                router.set(ZLINK_HANDSHAKE_IVL, leaves == side::server ? deadline : 0ms);
                const std::string endpoint = router.bind(transport::tcp);
                socket honest{owner, ZLINK_DEALER};
                used.make_client(honest);
                honest.connect(endpoint);
                exchange(honest, router);

                const std::size_t all_bytes = handshake_bytes(owner, router, used, stalls);
                const std::size_t step = step_bytes * chosen(1, 2, 5);
                std::deque<stalling_relay> relays;
                std::vector<socket> dealers;
                for (std::size_t bytes = 0; bytes < all_bytes; bytes += step) {
                    relays.emplace_back(endpoint).stall(stalls, bytes);
                    dealers.emplace_back(owner, ZLINK_DEALER);
                    used.make_client(dealers.back());
                    dealers.back()
                        .set(ZLINK_HANDSHAKE_IVL, leaves == side::client ? deadline : 0ms)
                        .set(ZLINK_RECONNECT_IVL, -1)
                        .connect(relays.back().endpoint());
                }
                stalling_relay::carry(relays, [&] {
                    return std::ranges::all_of(relays, [](const stalling_relay& each) {
                        return each.ended_by() != side::nobody;
                    });
                });
                for (const stalling_relay& each : relays) {
                    CHECK(each.ended_by() == leaves);
                    CHECK(each.lifetime() >= deadline);
                }
                exchange(honest, router);
                figures() << (stalls == side::client ? name : " and") << ' ' << relays.size()
                          << (stalls == side::client ? "" : "; ");
            }
        }
    }

    TEST_CASE("any number of handshakes under way delays no other peer") {
        const int silent_count = chosen(5000, 1000, 200);
        const context owner;
        socket router{owner, ZLINK_ROUTER};
        router.set(ZLINK_HANDSHAKE_IVL, 0).set(ZLINK_BACKLOG, silent_count);
        const std::string endpoint = router.bind(transport::tcp);
        socket first{owner, ZLINK_DEALER};
        first.connect(endpoint);
        exchange(first, router);
        std::deque<raw_peer> silent;
        for (int count = 0; count < silent_count; ++count) {
            silent.emplace_back(owner, endpoint);
        }
        const milliseconds taken = time_of([&] {
            socket late{owner, ZLINK_DEALER};
            late.connect(endpoint);
            exchange(late, router);
        });
        exchange(first, router);
        figures() << silent_count << " under way, another served in " << taken.count() << " ms";
        CHECK(taken < patience);
        CHECK(silent.front().is_connected());
    }
}
