// SPDX-License-Identifier: MPL-2.0
#include "curve_attacker.hpp"
#include "fixture.hpp"
#include "raw_peer.hpp"
#include "trial.hpp"
#include "watcher.hpp"
#include "zap_handler.hpp"
#include "zmtp_peer.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <thread>

// Attacks on libzmq, one test for each class of its published vulnerabilities, carried out on
// zlink. The sanitizers detect memory errors that these tests would not notice.

using namespace api_test;
using namespace robustness;

namespace {

constexpr std::ptrdiff_t growth_bytes_max = 8 * 1024 * 1024;

/// Checks that memory has not grown by an attacker's bytes.
class memory_guard {
public:
    ~memory_guard() {
        const std::ptrdiff_t growth = memory_bytes() - before_;
        if (!is_sanitized) {
            figures() << growth / 1024 << " KiB more memory";
            CHECK(growth <= growth_bytes_max);
        }
    }

private:
    std::ptrdiff_t before_ = memory_bytes();
};

const std::string signature = data({0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f});

std::string number(std::uint64_t value) {
    std::string text(8, '\0');
    for (int index = 0; index < 8; ++index) {
        text[7 - index] = static_cast<char>(value >> 8 * index);
    }
    return text;
}

std::string property(std::string_view name, std::string_view value) {
    return data({static_cast<int>(name.size())}) + std::string(name) +
           number(value.size()).substr(4) + std::string(value);
}

/// An honest pair of sockets that goes on while others misbehave.
class honest_pair {
public:
    honest_pair(const context& owner, const std::string& endpoint, socket& pull)
        : push_(owner, ZLINK_PUSH), pull_(pull) {
        push_.connect(endpoint);
    }

    void check() {
        const std::string sent = "honest " + std::to_string(++count_);
        REQUIRE(push_.send(sent) == ok);
        // Bytes that an attacker sent before it broke the rules may be a message.
        while (pull_.recv() != message{sent}) {
        }
    }

private:
    socket push_;
    socket& pull_;
    int count_ = 0;
};

void secure(socket& server, const key_pair& keys) {
    const int on = 1;
    server.set(ZLINK_CURVE_SERVER, on).set(ZLINK_CURVE_SECRETKEY, keys.hidden_text());
}

void introduce(socket& client, const key_pair& server, const key_pair& own) {
    client.set(ZLINK_CURVE_SERVERKEY, server.open_text())
        .set(ZLINK_CURVE_PUBLICKEY, own.open_text())
        .set(ZLINK_CURVE_SECRETKEY, own.hidden_text());
}

} // namespace

TEST_SUITE("vulnerabilities") {

    // libzmq added the size of a frame to a pointer before it compared that with the end of the
    // buffer. A size near 2^64 passed, and the bytes behind it were written beyond the buffer.
    TEST_CASE("CVE-2019-6250: a frame's size that leads beyond the end of all memory") {
        const context owner;
        socket pull{owner, ZLINK_PULL};
        const std::string endpoint = pull.bind(transport::tcp);
        honest_pair honest{owner, endpoint, pull};
        honest.check();
        const memory_guard guard;
        const std::string exploit(20'000, 'A');
        const std::uint64_t top = std::uint64_t{1} << 63;
        for (const std::uint64_t size :
             {~std::uint64_t{0}, ~std::uint64_t{0} - 8, ~std::uint64_t{0} - 8192, top + 1, top}) {
            CAPTURE(size);
            for (const int flags : {2, 3, 6}) {
                zmtp_peer attacker{endpoint};
                attacker.shake_hands("PUSH");
                attacker.send(data({flags}) + number(size) + exploit);
                attacker.await_end();
            }
            zmtp_peer of_2_0{endpoint};
            of_2_0.send(signature + data({1, 8, 0, 0}));
            of_2_0.send(data({2}) + number(size) + exploit);
            of_2_0.await_end();
            zmtp_peer of_1_0{endpoint};
            of_1_0.send(data({1, 0, 0xff}) + number(size) + data({0}) + exploit);
            if (size > top) { // A 1.0 frame's size includes a flags byte.
                of_1_0.await_end();
            }
            honest.check();
        }
    }

    // libzmq decrypted metadata into an array of 256 bytes on the stack, before it had
    // authenticated the client.
    TEST_CASE("CVE-2019-13132: metadata of CURVE that are longer than expected") {
        const context owner;
        const key_pair server_keys;
        const key_pair client_keys;
        socket pull{owner, ZLINK_PULL};
        secure(pull, server_keys);
        const std::string endpoint = pull.bind(transport::tcp);
        socket push{owner, ZLINK_PUSH};
        introduce(push, server_keys, client_keys);
        push.connect(endpoint);
        const std::string type = property("Socket-Type", "PUSH");
        const struct {
            std::string metadata;
            bool is_taken_in;
        } examples[] = {
            {type, true},
            {type + property("X-long", std::string(300, 'A')), true},
            {type + property("X-long", std::string(5000, 'A')), true},
            {type + property("X-long", std::string(50'000, 'A')), true},
            {type + property("X-long", std::string(70'000, 'A')), false},
            {type + property("X-long", std::string(5'000'000, 'A')), false},
            {type + data({6}) + "X-long" + data({0x7f, 0xff, 0xff, 0xff}) + std::string(1000, 'A'),
             false},
            {std::string(20'000, '\xff'), false},
        };
        const memory_guard guard;
        for (const auto& [metadata, is_taken_in] : examples) {
            CAPTURE(metadata.size());
            curve_attacker attacker{endpoint, server_keys};
            attacker.begin();
            attacker.initiate(metadata);
            CHECK(attacker.is_taken_in() == is_taken_in);
            REQUIRE(push.send("honest") == ok);
            CHECK(pull.recv() == message{"honest"});
        }
    }

    // libzmq made a pipe for a connection before its handshake, so that a silent connection blocked
    // the application's messages from all others.
    TEST_CASE("CVE-2020-15166: connections that say nothing to a server with CURVE and ZAP") {
        const struct {
            int server;
            int client;
        } pairs[] = {{ZLINK_PULL, ZLINK_PUSH},     {ZLINK_ROUTER, ZLINK_DEALER},
                     {ZLINK_REP, ZLINK_REQ},       {ZLINK_PAIR, ZLINK_PAIR},
                     {ZLINK_DEALER, ZLINK_DEALER}, {ZLINK_XPUB, ZLINK_XSUB}};
        for (const auto& [server_type, client_type] : pairs) {
            CAPTURE(server_type);
            const context owner;
            zap_handler lets_in{owner, always("200")};
            const key_pair server_keys;
            const key_pair client_keys;
            socket server{owner, server_type};
            secure(server, server_keys);
            server.set(ZLINK_ZAP_DOMAIN, "global");
            const std::string endpoint = server.bind(transport::tcp);
            std::deque<raw_peer> silent;
            for (int count = 0; count < 50; ++count) {
                silent.emplace_back(owner, endpoint);
            }
            socket client{owner, client_type};
            introduce(client, server_keys, client_keys);
            client.connect(endpoint);
            REQUIRE(client.send("\1honest") == ok);
            CHECK(server.recv().frames.back() == "\1honest");
            if (server_type == ZLINK_XPUB) {
                REQUIRE(server.send("honest") == ok);
                CHECK(client.recv_frame() == "honest");
            }
        }
    }

    // libzmq removed subscriptions from a trie by a function that called itself for each byte.
    TEST_CASE("GHSA-qq65-x72m-9wr8: a topic deeper than the stack, subscribed to and cancelled") {
        const context owner;
        for (const int type : {ZLINK_PUB, ZLINK_XPUB}) {
            CAPTURE(type);
            socket publisher{owner, type};
            publisher.set(ZLINK_RCVHWM, 0);
            const std::string endpoint = publisher.bind(transport::tcp);
            socket honest{owner, ZLINK_SUB};
            honest.set(ZLINK_SUBSCRIBE, "honest");
            honest.connect(endpoint);
            await_subscription(publisher, honest, "honest");
            // Subscriptions, in the form of libzmq 2.x, 3.0 and 3.1 peers.
            for (const std::size_t topic_bytes : {60'000, 1'000'000, 8'000'000}) {
                CAPTURE(topic_bytes);
                const std::string topic(topic_bytes, 'A');
                for (const bool cancels : {true, false}) {
                    zmtp_peer attacker{endpoint};
                    attacker.shake_hands("SUB");
                    attacker.send(long_frame(0, "\1" + topic));
                    for (const std::size_t part : {2, 3, 10}) { // So that the topics branch.
                        attacker.send(
                            long_frame(0, "\1" + topic.substr(topic.size() / part) + "B"));
                    }
                    if (cancels) {
                        attacker.send(long_frame(0, std::string(1, '\0') + topic));
                    }
                    attacker.send_frame(4, data({4}) + "PING" + data({0, 0}));
                    CHECK(attacker.recv_frame().body.substr(0, 5) == "\4PONG");
                    REQUIRE(publisher.send(topic.substr(0, 50'000)) == ok);
                }
                await_subscription(publisher, honest, "honest");
            }
        }
    }

    // libzmq kept a message to a publisher that is no subscription, with its metadata, and never
    // freed it.
    TEST_CASE("GHSA-4p5v-h92w-6wxw: messages to a publisher that takes none") {
        const context owner;
        socket publisher{owner, ZLINK_PUB};
        const std::string endpoint = publisher.bind(transport::tcp);
        socket honest{owner, ZLINK_SUB};
        honest.set(ZLINK_SUBSCRIBE, "honest");
        honest.connect(endpoint);
        await_subscription(publisher, honest, "honest");
        std::string flood;
        for (int count = 0; count < 1000; ++count) {
            flood += data({0, 30}) + std::string(30, 'A');
        }
        flood += long_frame(0, std::string(100'000, 'A'));
        const memory_guard guard;
        for (int round = 0; round < chosen(100, 5, 2); ++round) {
            std::atomic<bool> is_over = false;
            std::thread attack{[&] {
                zmtp_peer attacker{endpoint};
                attacker.shake_hands("XSUB", property("X-data", std::string(150, 'A')));
                for (int count = 0; count < 50; ++count) {
                    CHECK(attacker.send(flood));
                }
                is_over = true;
            }};
            wait_until(owner, [&] { // A publisher processes messages from its peers when it is
                                    // called.
                CHECK(publisher.send("to nobody") == ok);
                return is_over.load();
            });
            attack.join();
            await_subscription(publisher, honest, "honest");
        }
    }

    // libzmq leaked the frames of an unfinished message in a pipe that had already ended.
    TEST_CASE("GHSA-wfr2-29gj-5w87: servers that leave in the middle of a message") {
        const context owner;
        raw_listener malicious;
        const memory_guard guard;
        const std::string opening = signature + data({3, 0}) + "NULL" + std::string(48, '\0');
        const int round_count = chosen(2000, 300, 100);
        for (const bool disconnects : {false, true}) {
            CAPTURE(disconnects);
            socket pull{owner, ZLINK_PULL};
            pull.set(ZLINK_RECONNECT_IVL, 1);
            pull.connect(malicious.endpoint());
            for (int round = 0; round < round_count; ++round) {
                raw_peer server{owner, malicious.accept(owner)};
                server.send(opening + long_frame(4, "\5READY" + property("Socket-Type", "PUSH")) +
                            long_frame(1, std::string(100'000, 'A')) + data({1, 200, 'A'}));
                server.recv(64 + 2);
                if (disconnects) {
                    CHECK(pull.disconnect(malicious.endpoint()) == ok);
                    pull.connect(malicious.endpoint());
                }
            }
            CHECK(pull.recv_error() == EAGAIN);
        }
    }

    // libzmq changed the size of a buffer that must not change, for peers of ZMTP 1.0.
    TEST_CASE("GHSA-fc3w-qxf5-7hp6: a peer of ZMTP 1.0 whose frames end where buffers do") {
        const context owner;
        socket pull{owner, ZLINK_PULL};
        pull.set(ZLINK_RCVHWM, 0);
        const std::string endpoint = pull.bind(transport::tcp);
        honest_pair honest{owner, endpoint, pull};
        honest.check();
        const auto frame_of_1_0 = [](std::size_t body_bytes) {
            return (body_bytes + 1 < 255 ? data({static_cast<int>(body_bytes) + 1})
                                         : data({0xff}) + number(body_bytes + 1)) +
                   data({0}) + std::string(body_bytes, 'A');
        };
        for (const std::size_t piece_bytes : {1, 100, 4096, 8191, 8192, 8193, 100'000}) {
            CAPTURE(piece_bytes);
            zmtp_peer of_1_0{endpoint};
            std::string said = data({1, 0});
            std::vector<std::size_t> sizes;
            for (const std::size_t body_bytes :
                 {0, 1, 252, 253, 254, 255, 8180, 8181, 8182, 8183, 8191, 8192, 8193, 20'000}) {
                sizes.push_back(body_bytes);
                said += frame_of_1_0(body_bytes);
            }
            for (std::size_t at = 0; at < std::min<std::size_t>(said.size(), 30 * piece_bytes);
                 at += piece_bytes) {
                REQUIRE(of_1_0.send(std::string_view{said}.substr(at, piece_bytes)));
            }
            REQUIRE(of_1_0.send(std::string_view{said}.substr(std::min<std::size_t>(
                said.size(), (30 * piece_bytes + piece_bytes - 1) / piece_bytes * piece_bytes))));
            for (const std::size_t body_bytes : sizes) {
                CHECK(pull.recv() == message{std::string(body_bytes, 'A')});
            }
        }
        for (const std::string& malformed :
             {data({0}), data({0xff, 0, 0, 0, 0, 0, 0, 0, 0}), data({0xff}) + number(~0ull)}) {
            zmtp_peer attacker{endpoint};
            attacker.send(data({1, 0}) + frame_of_1_0(8000) + malformed + std::string(20'000, 'A'));
            attacker.await_end();
            honest.check();
        }
    }
}
