// SPDX-License-Identifier: MPL-2.0
//
// Payloads of each size on every way that a message can take: sent, copied and sent twice, refused
// and sent again, sent to several peers, queued, replaced by a newer one, dropped, encrypted, and
// left behind by a socket that closes. The payloads belong to the test, which counts their
// releases: each is released once, and only after its content was received.
#include "draft_fixture.hpp"
#include "payloads.hpp"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <optional>

using namespace api_test;

namespace {

/// Payloads lent to the library. Each must be released exactly once.
class lender {
public:
    lender() = default;
    lender(const lender&) = delete;
    lender& operator=(const lender&) = delete;

    /// @return A message of `content`, to be closed.
    zlink_msg_t lend(const std::string& content) {
        lent& added = lent_.emplace_back(content);
        zlink_msg_t made;
        const auto release = [](void*, void* hint) { ++static_cast<lent*>(hint)->release_count; };
        REQUIRE(zlink_msg_init_data(&made, added.content.data(), content.size(), release, &added) ==
                0);
        return made;
    }

    /// The payloads that were not released exactly once.
    int unsettled_count() const {
        int count = 0;
        for (const lent& each : lent_) {
            count += each.release_count.load() != 1;
        }
        return count;
    }

private:
    struct lent {
        explicit lent(std::string text) : content(std::move(text)) {}
        std::string content;
        std::atomic<int> release_count{0};
    };
    std::deque<lent> lent_;
};

/// A message that is closed with its scope. The application's memory, or the library's.
class outgoing {
public:
    outgoing(lender& from, const std::string& content) : raw_(from.lend(content)) {}
    explicit outgoing(const std::string& content) {
        REQUIRE(zlink_msg_init_size(&raw_, content.size()) == 0);
        content.copy(static_cast<char*>(zlink_msg_data(&raw_)), content.size());
    }
    outgoing(const outgoing&) = delete;
    outgoing& operator=(const outgoing&) = delete;
    ~outgoing() { CHECK(zlink_msg_close(&raw_) == 0); }

    zlink_msg_t* get() noexcept { return &raw_; }
    std::string text() {
        return {static_cast<const char*>(zlink_msg_data(&raw_)), zlink_msg_size(&raw_)};
    }
    int send(socket& by, int flags = 0) { return error_of(zlink_msg_send(&raw_, by, flags)); }

private:
    zlink_msg_t raw_{};
};

/// Two sockets that are joined, the second of them bound.
struct ends {
    std::string name;
    int sender;
    int receiver;
    bool has_envelope = false; ///< The sender's messages begin with the routing id of the receiver.
};

const std::array pairs{
    ends{"PUSH, PULL", ZLINK_PUSH, ZLINK_PULL},
    ends{"PAIR, PAIR", ZLINK_PAIR, ZLINK_PAIR},
    ends{"DEALER, DEALER", ZLINK_DEALER, ZLINK_DEALER},
    ends{"XPUB, SUB", ZLINK_XPUB, ZLINK_SUB},
    ends{"XPUB, XSUB", ZLINK_XPUB, ZLINK_XSUB},
    ends{"ROUTER, DEALER", ZLINK_ROUTER, ZLINK_DEALER, true},
#ifdef ZLINK_BUILD_DRAFT_API
    ends{"SCATTER, GATHER", ZLINK_SCATTER, ZLINK_GATHER},
    ends{"CHANNEL, CHANNEL", ZLINK_CHANNEL, ZLINK_CHANNEL},
    ends{"CLIENT, SERVER", ZLINK_CLIENT, ZLINK_SERVER},
#endif
};

constexpr std::string_view id = "receiver";

/// The sockets of `of`, with high-water marks of `mark`.
struct joined {
    joined(const context& owner, transport via, const ends& of, int mark = 1000)
        : sender(owner, of.sender), receiver(owner, of.receiver) {
        sender.set(ZLINK_SNDHWM, mark).set(ZLINK_LINGER, 0);
        receiver.set(ZLINK_RCVHWM, mark);
        if (of.has_envelope) {
            sender.set(ZLINK_ROUTER_MANDATORY, 1);
            receiver.set(ZLINK_ROUTING_ID, id);
        }
        if (of.sender == ZLINK_XPUB) {
            sender.set(ZLINK_XPUB_NODROP, 1);
        }
        if (of.receiver == ZLINK_SUB) {
            receiver.set(ZLINK_SUBSCRIBE, "");
        }
        receiver.connect(sender.bind(via));
        if (of.receiver == ZLINK_XSUB) {
            REQUIRE(receiver.send("\1") == ok);
        }
        if (of.sender == ZLINK_XPUB) {
            REQUIRE(sender.recv() == message{"\1"});
        } else if (of.has_envelope) {
            wait_until(owner, [&] { return begin(of) == ok && sender.send("") == ok; });
            REQUIRE(receiver.recv() == message{""});
        } else {
            REQUIRE(sender.poll(ZLINK_POLLOUT) != 0);
        }
    }

    /// Sends the envelope, if there is one.
    int begin(const ends& of) {
        return of.has_envelope ? sender.send(id, ZLINK_SNDMORE | ZLINK_DONTWAIT) : ok;
    }

    socket sender;
    socket receiver;
};

constexpr std::array transports{transport::inproc, transport::ipc, transport::tcp, transport::ws};

} // namespace

TEST_CASE("payload: arrives by every pattern and transport, from memory of either side") {
    for (const transport via : transports) {
        lender lent;
        {
            const context owner{setting{via, 1}};
            for (const ends& of : pairs) {
                CAPTURE((setting{via, 1}));
                CAPTURE(of.name);
                joined two{owner, via, of};
                for (const std::string& each : every_payload()) {
                    outgoing theirs{lent, each};
                    outgoing ours{each};
                    for (outgoing* const sent : {&theirs, &ours}) {
                        REQUIRE(two.begin(of) == ok);
                        REQUIRE(sent->send(two.sender) == ok);
                        CHECK(sent->text().empty());
                        CHECK(two.receiver.recv() == message{each});
                    }
                }
            }
        }
        CHECK(lent.unsettled_count() == 0);
    }
}

TEST_CASE("payload: a copy of a message that was sent can be sent, too") {
    lender lent;
    {
        const context owner;
        for (const ends& of : pairs) {
            CAPTURE(of.name);
            joined two{owner, transport::inproc, of};
            for (const std::string& each : every_payload()) {
                outgoing first{lent, each};
                outgoing second{""};
                outgoing third{""};
                REQUIRE(zlink_msg_copy(second.get(), first.get()) == 0);
                REQUIRE(zlink_msg_copy(third.get(), second.get()) == 0);
                for (outgoing* const sent : {&first, &second}) {
                    REQUIRE(two.begin(of) == ok);
                    REQUIRE(sent->send(two.sender) == ok);
                    CHECK(sent->text().empty());
                    CHECK(third.text() == each);
                }
                CHECK(two.receiver.recv() == message{each});
                CHECK(two.receiver.recv() == message{each});
                CHECK(third.text() == each);
            }
        }
    }
    CHECK(lent.unsettled_count() == 0);
}

TEST_CASE("payload: stays with the message that a full socket refuses, and is sent later") {
    constexpr int mark = 2;
    for (const bool is_shared : {false, true}) {
        lender lent;
        {
            const context owner;
            for (const ends& of : pairs) {
                CAPTURE(is_shared);
                CAPTURE(of.name);
                joined two{owner, transport::inproc, of, mark};
                if (is_shared) {
                    two.sender.set(ZLINK_THREAD_SAFE, 1);
                }
                for (const std::string& each : some_payloads(is_shared)) {
                    CAPTURE(each.size());
                    outgoing sent{lent, each};
                    int count = 0;
                    int refusal = ok;
                    for (; refusal == ok; ++count) {
                        outgoing next{""};
                        REQUIRE(zlink_msg_copy(next.get(), sent.get()) == 0);
                        refusal = two.begin(of);
                        if (refusal == ok) {
                            refusal = next.send(two.sender, ZLINK_DONTWAIT);
                        }
                        if (refusal != ok) {
                            CHECK(next.text() == each);
                        }
                    }
                    CHECK(refusal == EAGAIN);
                    CHECK(count == 2 * mark + 1);
                    if (!of.has_envelope) {
                        CHECK(sent.send(two.sender, ZLINK_DONTWAIT) == EAGAIN);
                        CHECK(sent.text() == each);
                    }
                    for (int received = 1; received < count; ++received) {
                        CHECK(two.receiver.recv() == message{each});
                    }
                    REQUIRE(two.begin(of) == ok);
                    CHECK(sent.send(two.sender) == ok);
                    CHECK(sent.text().empty());
                    CHECK(two.receiver.recv() == message{each});
                }
            }
        }
        CHECK(lent.unsettled_count() == 0);
    }
}

TEST_CASE("payload: stays with the message that a socket may not send, or has no peer for") {
    lender lent;
    {
        const context owner;
        for (const auto& [type, error] :
             {std::pair{ZLINK_PUSH, EAGAIN}, std::pair{ZLINK_PAIR, EAGAIN},
              std::pair{ZLINK_DEALER, EAGAIN}, std::pair{ZLINK_REQ, EAGAIN},
              std::pair{ZLINK_REP, EFSM}, std::pair{ZLINK_SUB, ENOTSUP},
              std::pair{ZLINK_PULL, ENOTSUP}, std::pair{ZLINK_STREAM, EINVAL}}) {
            CAPTURE(type);
            socket alone{owner, type};
            for (const std::string& each : every_payload()) {
                outgoing sent{lent, each};
                CHECK(sent.send(alone, ZLINK_DONTWAIT) == error);
                CHECK(sent.text() == each);
            }
        }
        socket closed{owner, ZLINK_PUSH};
        outgoing sent{lent, payload_of(8192)};
        void* const handle = closed;
        closed.close();
        CHECK(error_of(zlink_msg_send(sent.get(), handle, 0)) == ENOTSOCK);
        CHECK(sent.text() == payload_of(8192));
    }
    CHECK(lent.unsettled_count() == 0);
}

TEST_CASE("payload: a request and its reply carry it, again and again") {
    lender lent;
    {
        const context owner;
        for (const transport via : transports) {
            socket asking{owner, ZLINK_REQ};
            socket answering{owner, ZLINK_REP};
            asking.set(ZLINK_REQ_CORRELATE, 1).connect(answering.bind(via));
            for (const std::string& each : every_payload()) {
                outgoing first{lent, each};
                outgoing second{lent, each};
                REQUIRE(first.send(asking, ZLINK_SNDMORE) == ok);
                REQUIRE(second.send(asking) == ok);
                CHECK(answering.recv() == message{each, each});
                outgoing reply{lent, each};
                REQUIRE(reply.send(answering) == ok);
                CHECK(reply.text().empty());
                CHECK(asking.recv() == message{each});
            }
        }
    }
    CHECK(lent.unsettled_count() == 0);
}

TEST_CASE("payload: goes to several subscribers at once, or to the last one that asked") {
    for (const bool is_last_value : {false, true}) {
        lender lent;
        {
            const context owner;
            for (const transport via : transports) {
                CAPTURE(is_last_value);
                CAPTURE((setting{via, 1}));
                socket publisher{owner, ZLINK_XPUB};
                publisher.set(ZLINK_XPUB_VERBOSE, 1);
                if (is_last_value) {
                    publisher.set(ZLINK_XPUB_MANUAL_LAST_VALUE, 1);
                }
                const std::string at = publisher.bind(via);
                std::deque<socket> subscribers;
                for (int count = 0; count < 3; ++count) {
                    subscribers.emplace_back(owner, ZLINK_SUB).set(ZLINK_SUBSCRIBE, "").connect(at);
                    REQUIRE(publisher.recv() == message{"\1"});
                    if (is_last_value) {
                        publisher.set(ZLINK_SUBSCRIBE, "");
                    }
                    for (const std::string& each : some_payloads(static_cast<unsigned>(count))) {
                        outgoing sent{lent, each};
                        outgoing copied{""};
                        REQUIRE(zlink_msg_copy(copied.get(), sent.get()) == 0);
                        REQUIRE(sent.send(publisher, ZLINK_SNDMORE) == ok);
                        REQUIRE(copied.send(publisher) == ok);
                        if (is_last_value) {
                            CHECK(subscribers.back().recv() == message{each, each});
                            // The next one goes to all.
                            outgoing next{lent, each};
                            REQUIRE(next.send(publisher) == ok);
                            for (socket& to : subscribers) {
                                CHECK(to.recv() == message{each});
                            }
                            break;
                        }
                        for (socket& to : subscribers) {
                            CHECK(to.recv() == message{each, each});
                        }
                    }
                }
            }
        }
        CHECK(lent.unsettled_count() == 0);
    }
}

TEST_CASE("payload: is released when its message is dropped or replaced, or its socket closes") {
    for (const transport via : transports) {
        CAPTURE((setting{via, 1}));
        lender lent;
        {
            const context owner;
            socket router{owner, ZLINK_ROUTER};
            socket publisher{owner, ZLINK_PUB};
            socket subscriber{owner, ZLINK_SUB};
            socket newest{owner, ZLINK_PUSH};
            socket pull{owner, ZLINK_PULL};
            socket unread{owner, ZLINK_PULL};
            socket full{owner, ZLINK_PUSH};
            router.bind(via);
            publisher.set(ZLINK_SNDHWM, 1);
            subscriber.set(ZLINK_RCVHWM, 1).set(ZLINK_SUBSCRIBE, "").connect(publisher.bind(via));
            await_subscription(publisher, subscriber, "");
            newest.set(ZLINK_CONFLATE, 1);
            pull.set(ZLINK_CONFLATE, 1).connect(newest.bind(via));
            unread.connect(full.bind(via));
            for (socket* const each : {&newest, &full}) {
                each->set(ZLINK_LINGER, 0);
            }
            const std::vector<std::string> payloads = every_payload();
            for (const std::string& each : payloads) {
                outgoing unknown{lent, each};
                REQUIRE(router.send("nobody", ZLINK_SNDMORE) == ok);
                CHECK(unknown.send(router) == ok);
                for (int count = 0; count < 5; ++count) {
                    outgoing published{lent, each};
                    outgoing replaced{lent, each};
                    outgoing queued{lent, each};
                    CHECK(published.send(publisher) == ok);
                    CHECK(replaced.send(newest) == ok);
                    CHECK(queued.send(full) == ok);
                }
            }
            // Whatever was kept, the newest comes in the end.
            while (pull.recv() != message{payloads.back()}) {
            }
            // An unfinished message.
            outgoing begun{lent, payloads.back()};
            CHECK(begun.send(full, ZLINK_SNDMORE) == ok);
        }
        CHECK(lent.unsettled_count() == 0);
    }
}

TEST_CASE("payload: a message that waits for a peer reaches the next one when that has gone") {
    lender lent;
    {
        const context owner;
        for (const transport via : {transport::tcp, transport::ipc, transport::ws}) {
            CAPTURE((setting{via, 1}));
            socket push{owner, ZLINK_PUSH};
            std::optional<socket> pull{std::in_place, owner, ZLINK_PULL};
            push.set(ZLINK_LINGER, 0).set(ZLINK_RECONNECT_IVL, 1);
            const std::string at = vacant(via);
            push.connect(at);
            // More than the connection and the receiver's queue hold, so one is partly written.
            pull->set(ZLINK_RCVHWM, 1).set(ZLINK_RCVBUF, 4096);
            REQUIRE(pull->try_bind(at) == ok);
            std::vector<std::string> payloads;
            for (unsigned count = 0; count < 20; ++count) {
                payloads.push_back(payload_of(1 << 20, count));
                outgoing sent{lent, payloads.back()};
                REQUIRE(sent.send(push) == ok);
            }
            CHECK(pull->recv() == message{payloads.front()});
            pull->close();

            pull.emplace(owner, ZLINK_PULL);
            wait_until(owner, [&] { return pull->try_bind(at) == ok; });
            // Some are lost with the connection. The others come whole, and in order.
            auto last = payloads.begin();
            while (last + 1 != payloads.end()) {
                last = std::find(last + 1, payloads.end(), pull->recv_frame());
                REQUIRE(last != payloads.end());
            }
        }
    }
    CHECK(lent.unsettled_count() == 0);
}

TEST_CASE("payload: arrives unchanged where it is encrypted") {
    std::array<char, 41> public_key{};
    std::array<char, 41> secret_key{};
    REQUIRE(zlink_curve_keypair(public_key.data(), secret_key.data()) == 0);
    lender lent;
    {
        const context owner;
        for (const transport via : {transport::tcp, transport::ipc, transport::ws}) {
            for (const bool is_publisher : {false, true}) {
                CAPTURE((setting{via, 1}));
                CAPTURE(is_publisher);
                socket sender{owner, is_publisher ? ZLINK_XPUB : ZLINK_PUSH};
                std::deque<socket> receivers;
                for (int count = 0; count < (is_publisher ? 2 : 1); ++count) {
                    receivers.emplace_back(owner, is_publisher ? ZLINK_SUB : ZLINK_PULL);
                }
                sender.set(ZLINK_CURVE_SECRETKEY, secret_key.data()).set(ZLINK_CURVE_SERVER, 1);
                if (is_publisher) {
                    sender.set(ZLINK_XPUB_VERBOSE, 1);
                }
                const std::string at = sender.bind(via);
                for (socket& each : receivers) {
                    each.set(ZLINK_CURVE_PUBLICKEY, public_key.data())
                        .set(ZLINK_CURVE_SECRETKEY, secret_key.data())
                        .set(ZLINK_CURVE_SERVERKEY, public_key.data());
                    if (is_publisher) {
                        each.set(ZLINK_SUBSCRIBE, "");
                    }
                    each.connect(at);
                    if (is_publisher) {
                        REQUIRE(sender.recv().frames.size() == 1);
                    }
                }
                for (const std::string& each : every_payload()) {
                    outgoing first{lent, each};
                    outgoing second{each};
                    REQUIRE(first.send(sender, ZLINK_SNDMORE) == ok);
                    REQUIRE(second.send(sender) == ok);
                    for (socket& to : receivers) {
                        CHECK(to.recv() == message{each, each});
                    }
                }
            }
        }
    }
    CHECK(lent.unsettled_count() == 0);
}

#ifdef ZLINK_BUILD_DRAFT_API

TEST_CASE("payload: goes to every dish of its group, and back from a server") {
    lender lent;
    {
        const context owner;
        for (const transport via : transports) {
            CAPTURE((setting{via, 1}));
            socket radio{owner, ZLINK_RADIO};
            radio.set(ZLINK_XPUB_NODROP, 1);
            const std::string at = radio.bind(via);
            std::deque<socket> dishes;
            for (int count = 0; count < 2; ++count) {
                socket& added = dishes.emplace_back(owner, ZLINK_DISH);
                REQUIRE(zlink_join(added, "group") == 0);
                added.connect(at);
            }
            for (socket& each : dishes) {
                do {
                    REQUIRE(publish(radio, "group", "?") == ok);
                } while (each.poll(ZLINK_POLLIN, 1ms) == 0);
            }
            REQUIRE(publish(radio, "group", "!") == ok);
            for (socket& each : dishes) {
                while (recv_grouped(each) != "group: !") {
                }
            }
            socket server{owner, ZLINK_SERVER};
            socket client{owner, ZLINK_CLIENT};
            client.connect(server.bind(via));
            for (const std::string& each : every_payload()) {
                outgoing sent{lent, each};
                REQUIRE(zlink_msg_set_group(sent.get(), "group") == 0);
                REQUIRE(sent.send(radio) == ok);
                for (socket& to : dishes) {
                    CHECK(recv_grouped(to) == "group: " + each);
                }
                outgoing asked{lent, each};
                REQUIRE(asked.send(client) == ok);
                outgoing received{""};
                REQUIRE(zlink_msg_recv(received.get(), server, 0) >= 0);
                CHECK(received.text() == each);
                REQUIRE(received.send(server) == ok);
                CHECK(client.recv() == message{each});
            }
        }
    }
    CHECK(lent.unsettled_count() == 0);
}

#endif
