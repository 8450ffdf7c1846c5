// SPDX-License-Identifier: MPL-2.0
//
// Proxies between sockets of each pair of types that can forward, over each transport, with each
// kind of capture, steered and not, and payloads of each size. The proxies of one pair and
// transport share a context, and end with it.
#include "fixture.hpp"
#include "payloads.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

using namespace api_test;

namespace {

/// A client, the two sides of a proxy, and a server. A proxy with one side returns what it
/// receives.
struct route {
    std::string_view name;
    int client;
    int frontend;
    int backend; ///< -1: the frontend is both sides.
    int server;  ///< -1: likewise.
    bool replies;
    bool is_multipart = true;
};

constexpr std::array routes{
    route{"REQ - ROUTER, DEALER - REP", ZLINK_REQ, ZLINK_ROUTER, ZLINK_DEALER, ZLINK_REP, true},
    route{"REQ - REP, REQ - REP", ZLINK_REQ, ZLINK_REP, ZLINK_REQ, ZLINK_REP, true},
    route{"XPUB - XSUB, XPUB - SUB", ZLINK_XPUB, ZLINK_XSUB, ZLINK_XPUB, ZLINK_SUB, false},
    route{"XPUB - SUB, PUB - SUB", ZLINK_XPUB, ZLINK_SUB, ZLINK_PUB, ZLINK_SUB, false},
    route{"PUSH - PULL, PUSH - PULL", ZLINK_PUSH, ZLINK_PULL, ZLINK_PUSH, ZLINK_PULL, false},
    route{"PUSH - PULL, PUB - SUB", ZLINK_PUSH, ZLINK_PULL, ZLINK_PUB, ZLINK_SUB, false},
    route{"DEALER - DEALER, DEALER - DEALER", ZLINK_DEALER, ZLINK_DEALER, ZLINK_DEALER,
          ZLINK_DEALER, true},
    route{"PAIR - PAIR, PAIR - PAIR", ZLINK_PAIR, ZLINK_PAIR, ZLINK_PAIR, ZLINK_PAIR, true},
    // A REP answers only after it has received a whole message.
    route{"REQ - REP", ZLINK_REQ, ZLINK_REP, -1, -1, true, false},
    route{"DEALER - DEALER", ZLINK_DEALER, ZLINK_DEALER, -1, -1, true},
    route{"PAIR - PAIR", ZLINK_PAIR, ZLINK_PAIR, -1, -1, true},
};

/// The type of a capture socket and of the socket that receives from it; -1: none.
struct capture_kind {
    std::string_view name;
    int type;
    int receiver;
};

constexpr std::array capture_kinds{
    capture_kind{"none", -1, -1}, capture_kind{"PUSH", ZLINK_PUSH, ZLINK_PULL},
    capture_kind{"PUB", ZLINK_PUB, ZLINK_SUB}, capture_kind{"PAIR", ZLINK_PAIR, ZLINK_PAIR}};

enum class steering : std::uint8_t { none, control };

std::optional<socket> make_socket(const context& owner, int type) {
    std::optional<socket> made;
    if (type >= 0) {
        made.emplace(owner, type);
        made->set(ZLINK_SNDTIMEO, -1).set(ZLINK_RCVTIMEO, -1);
    }
    return made;
}

/// A running proxy with its client, server, and the receiver of its capture.
class proxied_route {
public:
    proxied_route(context& owner, transport via, const route& of, const capture_kind& captured_as,
                  steering control_kind)
        : owner_(owner), of_(of), front_(make_socket(owner, of.frontend)),
          back_(make_socket(owner, of.backend)), capture_(make_socket(owner, captured_as.type)),
          control_(make_socket(owner, control_kind == steering::control ? ZLINK_PAIR : -1)),
          client_(owner, of.client) {
        if (of.frontend == ZLINK_SUB) {
            front_->set(ZLINK_SUBSCRIBE, "");
        }
        client_.connect(front_->bind(via));
        if (back_) {
            join(owner, server_, of.server, *back_, of.backend, via);
        }
        if (capture_) {
            join(owner, captured_, captured_as.receiver, *capture_, captured_as.type, via);
        }
        if (control_) {
            orders_.emplace(owner, ZLINK_PAIR);
            orders_->connect(control_->bind(via));
        }
        thread_ = std::thread{[this] { outcome_ = run(); }};
        if (of.client == ZLINK_XPUB) {
            CHECK(client_.recv() == message{"\1"});
            if (captured_ && of.frontend == ZLINK_XSUB) {
                CHECK(captured_->recv() == message{"\1"});
            }
        }
    }
    proxied_route(const proxied_route&) = delete;
    proxied_route& operator=(const proxied_route&) = delete;
    /// The proxy must have ended, unless the test has failed.
    ~proxied_route() {
        if (thread_.joinable()) {
            owner_.shut_down();
            thread_.join();
        }
    }

    /// Sends a message through the proxy, and back if there are replies.
    void pass(const message& sent) {
        REQUIRE(client_.send(sent) == ok);
        if (server_) {
            const message received = server_->recv();
            CHECK(received == sent);
            expect_captured(sent);
            if (of_.replies) {
                REQUIRE(server_->send(received) == ok);
            }
        }
        if (of_.replies) {
            CHECK(client_.recv() == sent);
            expect_captured(sent);
        }
    }

    /// @return The frames that entered the proxy, if it is steered.
    std::uint64_t forwarded_count() {
        std::uint64_t count = 0;
        REQUIRE(orders_->send("STATISTICS") == ok);
        const message answer = orders_->recv();
        REQUIRE(answer.frames.size() == 8);
        for (const std::size_t index : {0U, 4U}) {
            std::uint64_t told = 0;
            std::memcpy(&told, answer.frames[index].data(), sizeof told);
            count += told;
        }
        return count;
    }
    bool is_steered() const noexcept { return orders_.has_value(); }

    /// After the end of its context, or an order to terminate.
    /// @return The error with which the proxy ended.
    int await_end() {
        thread_.join();
        return outcome_;
    }
    void terminate() { REQUIRE(orders_->send("TERMINATE") == ok); }

private:
    /// Connects a new socket to one of the proxy's, which can send to it then.
    static void join(const context& owner, std::optional<socket>& joining, int type, socket& to,
                     int to_type, transport via) {
        joining.emplace(owner, type);
        if (type == ZLINK_SUB) {
            joining->set(ZLINK_SUBSCRIBE, "");
        }
        joining->connect(to.bind(via));
        if (to_type == ZLINK_PUB) {
            await_subscription(to, *joining, "ready");
        }
    }

    /// A capture may be preceded by the envelope.
    void expect_captured(const message& sent) {
        if (!captured_) {
            return;
        }
        message found = captured_->recv();
        REQUIRE(found.frames.size() >= sent.frames.size());
        found.frames.erase(found.frames.begin(),
                           found.frames.end() - static_cast<std::ptrdiff_t>(sent.frames.size()));
        CHECK(found == sent);
    }

    int run() {
        socket& back = back_ ? *back_ : *front_;
        void* const capture = capture_ ? static_cast<void*>(*capture_) : nullptr;
        const int returned = control_   ? zlink_proxy_steerable(*front_, back, capture, *control_)
                             : capture_ ? zlink_proxy(*front_, back, capture)
                                        : zlink_device(ZLINK_QUEUE, *front_, back);
        const int error = error_of(returned);
        front_.reset();
        back_.reset();
        capture_.reset();
        control_.reset();
        return error;
    }

    context& owner_;
    const route& of_;
    std::optional<socket> front_;
    std::optional<socket> back_;
    std::optional<socket> capture_;
    std::optional<socket> control_;
    socket client_;
    std::optional<socket> server_;
    std::optional<socket> captured_;
    std::optional<socket> orders_;
    std::thread thread_;
    int outcome_ = -1;
};

constexpr std::array transports{transport::inproc, transport::ipc, transport::tcp, transport::ws};

} // namespace

TEST_CASE("proxy: every pair of types passes payloads of every size, and captures them") {
    for (const transport via : transports) {
        for (const route& of : routes) {
            const setting over{via, 1};
            CAPTURE(over);
            CAPTURE(of.name);
            context owner{over};
            std::vector<std::unique_ptr<proxied_route>> proxies;
            for (const capture_kind& captured_as : capture_kinds) {
                for (const steering control_kind : {steering::none, steering::control}) {
                    CAPTURE(captured_as.name);
                    const bool is_steered = control_kind == steering::control;
                    CAPTURE(is_steered);
                    proxied_route& tested = *proxies.emplace_back(
                        std::make_unique<proxied_route>(owner, via, of, captured_as, control_kind));

                    std::uint64_t frame_count = 0;
                    const bool is_plain = !is_steered && captured_as.type != ZLINK_PAIR &&
                                          captured_as.type != ZLINK_PUB;
                    for (const std::string& each : is_plain ? every_payload() : some_payloads()) {
                        tested.pass({each});
                        ++frame_count;
                        if (of.is_multipart) {
                            tested.pass({each, "", each});
                            frame_count += 3;
                        }
                    }

                    if (is_steered) {
                        CHECK(tested.forwarded_count() >= frame_count);
                    }
                }
            }
            for (const auto& each : proxies) {
                if (each->is_steered()) {
                    each->terminate();
                    CHECK(each->await_end() == ok);
                }
            }
            owner.shut_down();
            for (const auto& each : proxies) {
                if (!each->is_steered()) {
                    CHECK(each->await_end() == ETERM);
                }
            }
        }
    }
}

TEST_CASE("proxy: takes no more than the high-water marks allow while a subscriber reads nothing") {
    constexpr int mark = 10;
    for (int round = 0; round < 10; ++round) { // The threads run in another order each time.
        for (const std::size_t bytes : {std::size_t{100}, std::size_t{50'000}}) {
            CAPTURE(round);
            CAPTURE(bytes);
            context owner;
            std::optional<socket> front{std::in_place, owner, ZLINK_XSUB};
            std::optional<socket> back{std::in_place, owner, ZLINK_XPUB};
            std::optional<socket> control{std::in_place, owner, ZLINK_REP};
            socket publisher{owner, ZLINK_XPUB};
            socket subscriber{owner, ZLINK_SUB};
            socket orders{owner, ZLINK_REQ};
            for (socket* const each : {&*front, &*back, &publisher, &subscriber}) {
                each->set(ZLINK_SNDHWM, mark).set(ZLINK_RCVHWM, mark);
            }
            for (socket* const each : {&*front, &*back, &*control}) {
                each->set(ZLINK_SNDTIMEO, -1).set(ZLINK_RCVTIMEO, -1);
            }
            back->set(ZLINK_XPUB_NODROP, 1);
            publisher.set(ZLINK_XPUB_NODROP, 1);
            subscriber.set(ZLINK_SUBSCRIBE, "");
            publisher.connect(front->bind(transport::inproc));
            subscriber.connect(back->bind(transport::inproc));
            orders.connect(control->bind(transport::inproc));
            int outcome = -1;
            std::thread running{[&] {
                outcome = error_of(zlink_proxy_steerable(*front, *back, nullptr, *control));
                front.reset();
                back.reset();
                control.reset();
            }};
            REQUIRE(publisher.recv() == message{"\1"});

            const std::string payload = payload_of(bytes);
            int accepted = fill(publisher, {payload}).count;
            CHECK(accepted >= 2 * mark);
            CHECK(accepted <= 4 * mark);
            // The proxy forwards what it may, and returns credit for it in batches.
            const auto forwarded = [&] {
                REQUIRE(orders.send("STATISTICS") == ok);
                const message answer = orders.recv();
                std::uint64_t count = 0;
                std::memcpy(&count, answer.frames.front().data(), sizeof count);
                return static_cast<int>(count);
            };
            wait_until(owner, [&] { return forwarded() == 2 * mark; });
            accepted += fill(publisher, {payload}).count;
            CHECK(accepted >= 3 * mark);
            CHECK(accepted <= 4 * mark);
            CHECK(forwarded() == 2 * mark);
            CHECK(publisher.send(payload, ZLINK_DONTWAIT) == EAGAIN);

            for (int count = 0; count < accepted; ++count) {
                CHECK(subscriber.recv() == message{payload});
            }
            CHECK(subscriber.recv_error() == EAGAIN);
            CHECK(forwarded() == accepted);
            REQUIRE(orders.send("TERMINATE") == ok);
            CHECK(orders.recv() == message{""});
            running.join();
            CHECK(outcome == ok);
        }
    }
}

TEST_CASE("proxy: a full subscriber does not keep other topics waiting, until its next message") {
    context owner;
    std::optional<socket> front{std::in_place, owner, ZLINK_XSUB};
    std::optional<socket> back{std::in_place, owner, ZLINK_XPUB};
    socket publisher{owner, ZLINK_XPUB};
    socket idle{owner, ZLINK_SUB};
    socket busy{owner, ZLINK_SUB};
    back->set(ZLINK_XPUB_NODROP, 1).set(ZLINK_SNDHWM, 1);
    for (socket* const each : {&*front, &*back}) {
        each->set(ZLINK_SNDTIMEO, -1).set(ZLINK_RCVTIMEO, -1);
    }
    publisher.connect(front->bind(transport::inproc));
    const std::string at = back->bind(transport::inproc);
    idle.set(ZLINK_RCVHWM, 1).set(ZLINK_SUBSCRIBE, "idle").connect(at);
    busy.set(ZLINK_RCVHWM, 1).set(ZLINK_SUBSCRIBE, "busy").connect(at);
    std::thread running{[&] {
        CHECK(error_of(zlink_proxy(*front, *back, nullptr)) == ETERM);
        front.reset();
        back.reset();
    }};
    publisher.recv();
    publisher.recv();

    for (int count = 0; count < 2; ++count) {
        REQUIRE(publisher.send("idle") == ok);
    }
    for (int count = 0; count < 100; ++count) {
        REQUIRE(publisher.send("busy") == ok);
        CHECK(busy.recv() == message{"busy"});
    }
    REQUIRE(publisher.send("idle") == ok);
    REQUIRE(publisher.send("busy") == ok);
    CHECK(busy.poll(ZLINK_POLLIN, moment) == 0);
    for (int count = 0; count < 3; ++count) {
        CHECK(idle.recv() == message{"idle"});
    }
    CHECK(busy.recv() == message{"busy"});

    // The subscriber that it waits for goes away.
    for (int count = 0; count < 3; ++count) {
        REQUIRE(publisher.send("idle") == ok);
    }
    REQUIRE(publisher.send("busy") == ok);
    CHECK(busy.poll(ZLINK_POLLIN, moment) == 0);
    idle.close();
    CHECK(busy.recv() == message{"busy"});

    owner.shut_down();
    running.join();
}

TEST_CASE("proxy: ends with the error of a side that does not take a message in time") {
    context owner;
    socket front{owner, ZLINK_PULL};
    socket back{owner, ZLINK_PUSH};
    socket capture{owner, ZLINK_PUSH};
    socket push{owner, ZLINK_PUSH};
    socket pull{owner, ZLINK_PULL};
    push.connect(front.bind(transport::inproc));
    pull.connect(back.bind(transport::inproc));
    capture.bind(transport::inproc);
    capture.set(ZLINK_SNDTIMEO, moment);
    REQUIRE(push.send("x") == ok);

    CHECK(error_of(zlink_proxy(front, back, capture)) == EAGAIN);
}
