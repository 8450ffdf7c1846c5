// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"
#include "other_process.hpp"
#include "raw_peer.hpp"
#include "testing/web_upgrade.hpp"
#include "trial.hpp"
#include "watcher.hpp"
#include "zmtp_peer.hpp"

#include <atomic>
#include <cstdlib>
#include <optional>
#include <thread>

// Connections that come and go.

using namespace api_test;
using namespace robustness;

namespace {

/// The most memory that any number of departed peers may leave: buffers that grew once and are
/// reused.
constexpr std::ptrdiff_t growth_bytes_max = 2 * 1024 * 1024;

/// Memory and descriptors, counted after everything has been used once.
class footprint {
public:
    void check() const {
        const std::ptrdiff_t growth = memory_bytes() - memory_;
        if (!is_sanitized) {
            figures() << ", " << growth / 1024 << " KiB more memory";
            CHECK(growth <= growth_bytes_max);
        }
    }

    /// Whether no more descriptors are open than before.
    bool has_descriptors_back() const { return descriptor_count() <= descriptors_; }

private:
    std::ptrdiff_t memory_ = memory_bytes();
    int descriptors_ = descriptor_count();
};

/// Connects, sends the bytes of the `index`-th visitor, and disconnects.
void visit(const std::string& endpoint, int index) {
    zmtp_peer visitor{endpoint};
    switch (index % 4) {
    case 0:
        break;
    case 1:
        visitor.send(data({0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3}));
        break;
    case 2:
        visitor.shake_hands("DEALER");
        break;
    default:
        visitor.shake_hands("DEALER");
        visitor.send_frame(0, "visit");
        CHECK(visitor.recv_frame().body == "seen");
    }
    if (index % 8 < 4) {
        visitor.reset();
    }
}

/// Answers visitors until one sends `last`.
void answer_until(socket& router, std::string_view last) {
    while (true) {
        const message asked = router.recv();
        REQUIRE(asked.frames.size() == 2);
        if (asked.frames[1] == last) {
            return;
        }
        CHECK(router.send({asked.frames[0], "seen"}) == ok);
    }
}

} // namespace

TEST_SUITE("connections") {

    TEST_CASE("peers that connect and disconnect leave nothing behind") {
        const int cycle_count = chosen(100'000, 4000, 1000);
        const int first_count = 400;
        const other_process visitors{[&](const line& to_test) {
            const std::string endpoint = to_test.hear();
            for (std::string word = to_test.hear(); !word.empty(); word = to_test.hear()) {
                for (int index = std::atoi(word.c_str()); index > 0; --index) {
                    visit(endpoint, index);
                }
                zmtp_peer last{endpoint};
                last.shake_hands("DEALER");
                last.send_frame(0, "last");
                to_test.say("done");
            }
        }};
        const context owner;
        socket router{owner, ZLINK_ROUTER};
        visitors.say(router.bind(transport::tcp));
        visitors.say(std::to_string(first_count));
        answer_until(router, "last");
        const footprint before;

        visitors.say(std::to_string(cycle_count));
        const milliseconds taken = time_of([&] { answer_until(router, "last"); });

        figures() << cycle_count << " cycles, " << cycle_count * 1000LL / (taken.count() + 1)
                  << " a second";
        wait_until(owner, [&] { return before.has_descriptors_back(); });
        before.check();
        CHECK(visitors.hear() == "done");
    }

    TEST_CASE("peers of a STREAM that connect and disconnect leave nothing behind") {
        const int cycle_count = chosen(20'000, 4000, 1000);
        const int first_count = 400;
        for (const bool is_web : {false, true}) {
            const other_process visitors{[&](const line& to_test) {
                const context none;
                const std::string endpoint = to_test.hear();
                for (std::string word = to_test.hear(); !word.empty(); word = to_test.hear()) {
                    for (int index = std::atoi(word.c_str()); index > 0; --index) {
                        raw_peer visitor{none, endpoint};
                        if (is_web) {
                            visitor.send(zlink::testing::upgrade_request());
                        }
                        if (index % 2 == 0) {
                            visitor.send(is_web ? std::string("\x82\x81\0\0\0\0x", 7)
                                                : std::string("\0\0\0\1x", 5));
                            visitor.recv(1); // A reply, or the response to the upgrade.
                        }
                        if (index % 4 < 2) {
                            visitor.reset();
                        }
                    }
                    to_test.say("done");
                }
            }};
            const context owner;
            socket stream{owner, ZLINK_STREAM};
            const std::string bound =
                stream.bind(is_web ? "ws://127.0.0.1:*/" : "tcp://127.0.0.1:*");
            visitors.say("tcp" + bound.substr(bound.find(':'), bound.rfind(':') - bound.find(':')) +
                         bound.substr(bound.rfind(':'),
                                      bound.find('/', bound.rfind(':')) - bound.rfind(':')));
            const auto serve = [&](int count) {
                visitors.say(std::to_string(count));
                std::atomic<bool> is_done{false};
                std::thread waiting([&] {
                    CHECK(visitors.hear() == "done");
                    is_done = true;
                });
                while (!is_done || stream.poll(ZLINK_POLLIN, 0ms) != 0) {
                    if (stream.poll(ZLINK_POLLIN, 10ms) == 0) {
                        continue;
                    }
                    const message told = stream.recv();
                    if (told.frames.size() == 2) {
                        stream.send(told.frames[0], ZLINK_SNDMORE);
                        stream.send(told.frames[1]);
                    }
                }
                waiting.join();
            };
            serve(first_count);
            const footprint before;
            serve(cycle_count);
            figures() << (is_web ? ", " : "") << cycle_count << " cycles";
            wait_until(owner, [&] {
                stream.events();
                return before.has_descriptors_back();
            });
            before.check();
        }
    }

    TEST_CASE("sockets that are opened, connected and closed leave nothing behind") {
        const int cycle_count = chosen(100'000, 2000, 400);
        const context owner;
        socket pull{owner, ZLINK_PULL};
        const std::string endpoint = pull.bind(transport::tcp);
        const auto visit_once = [&](int index) {
            socket push{owner, ZLINK_PUSH};
            push.set(ZLINK_LINGER, -1);
            push.connect(endpoint);
            REQUIRE(push.send(std::to_string(index)) == ok);
            push.close();
            CHECK(pull.recv() == message{std::to_string(index)});
        };
        for (int index = 0; index < 200; ++index) {
            visit_once(index);
        }
        std::optional<footprint> before;
        wait_until(owner, [&] { return descriptor_count() < 40; });
        before.emplace();
        for (int index = 0; index < cycle_count; ++index) {
            visit_once(index);
        }
        figures() << cycle_count << " cycles";
        wait_until(owner, [&] { return before->has_descriptors_back(); });
        before->check();
    }

    TEST_CASE("a server that ends every connection costs peers that do not receive no memory") {
        const int cycle_count = chosen(10'000, 2000, 400);
        const int first_count = 200;
        const other_process server{[&](const line& to_test) {
            const context none;
            raw_listener listener;
            to_test.say(listener.endpoint());
            const std::string about_itself =
                data({6}) + "X-Junk" + data({0, 0, 16, 0}) + std::string(4096, 'x');
            for (std::string word = to_test.hear(); !word.empty(); word = to_test.hear()) {
                for (int index = std::atoi(word.c_str()); index > 0; --index) {
                    zmtp_peer visitor{listener.accept(none)};
                    visitor.shake_hands("ROUTER", about_itself);
                }
                to_test.say("done");
            }
        }};
        const std::string endpoint = server.hear();
        const context owner;
        socket dealer{owner, ZLINK_DEALER};
        dealer.set(ZLINK_RECONNECT_IVL, 1).connect(endpoint);
        server.say(std::to_string(first_count));
        CHECK(server.hear() == "done");
        const footprint before;

        server.say(std::to_string(cycle_count));
        CHECK(server.hear() == "done");

        figures() << cycle_count << " connections";
        before.check();
    }

    TEST_CASE("peers that lose their server and come back at once are all served") {
        const int peer_count = chosen(1000, 1000, 200);
        const milliseconds bound = 20s;
        const std::string endpoint = vacant(transport::tcp);
        const context clients;
        REQUIRE(zlink_ctx_set(clients, ZLINK_MAX_SOCKETS, peer_count + 10) == 0);
        std::vector<socket> peers;
        for (int index = 0; index < peer_count; ++index) {
            peers.emplace_back(clients, ZLINK_DEALER);
            peers.back().connect(endpoint);
        }
        const auto serve_everybody = [&](watcher& of_router, socket& router, int round) {
            // Messages that a peer sends before it has reconnected may be lost with the old server.
            for (int count = 0; count < peer_count; ++count) {
                of_router.await(ZLINK_EVENT_HANDSHAKE_SUCCEEDED);
            }
            for (socket& each : peers) {
                REQUIRE(each.send(std::to_string(round)) == ok);
            }
            for (int count = 0; count < peer_count; ++count) {
                const message asked = router.recv();
                REQUIRE(asked.frames.size() == 2);
                CHECK(asked.frames[1] == std::to_string(round));
                REQUIRE(router.send({asked.frames[0], "answer"}) == ok);
            }
            for (socket& each : peers) {
                CHECK(each.recv() == message{"answer"});
            }
        };
        for (int round = 0; round < chosen(5, 2, 2); ++round) {
            const context servers;
            socket router{servers, ZLINK_ROUTER};
            router.set(ZLINK_ROUTER_MANDATORY, 1);
            watcher of_router{servers, router, ZLINK_EVENT_HANDSHAKE_SUCCEEDED};
            CHECK(router.bind(endpoint) == endpoint);
            const milliseconds taken = time_of([&] { serve_everybody(of_router, router, round); });
            figures() << (round == 0 ? "" : ", ") << taken.count() << " ms";
            CHECK(taken < bound);
        }
    }
}
