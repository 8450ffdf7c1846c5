// SPDX-License-Identifier: MPL-2.0
//
// Connections that end while the library does not read from them: the messages that arrived before
// wait for the application, and nothing else does.
#include "edge_fixture.hpp"
#include "stream_fixture.hpp"
#include "watcher.hpp"

#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <linux/sockios.h>
#include <openssl/ssl.h>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

// Code is in the namespace, because the system's socket() is near, too.
namespace api_test {

using namespace std::string_literals;

namespace {

enum class ending : unsigned char { fin, reset };
constexpr ending every_ending[] = {ending::fin, ending::reset};

/// More than a read takes, and less than the system holds.
constexpr int message_count = 150;
constexpr std::size_t message_bytes = 1000;

std::string text_of(int number) {
    std::string made = std::to_string(number) + " ";
    return made.append(message_bytes - made.size(), 'x');
}

std::ptrdiff_t descriptor_count() {
    return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"}, {});
}

/// Passes bytes between a client and a listener, up to an end of the connection to the listener.
class relay {
public:
    explicit relay(const std::string& listener) : to_(tcp_of(listener)) {}
    ~relay() { stop(); }
    relay(const relay&) = delete;
    relay& operator=(const relay&) = delete;

    /// The endpoint of a client of `listener`.
    std::string endpoint_for(const std::string& listener) const {
        const std::size_t path = listener.find('/', listener.find("://") + 3);
        return listener.substr(0, listener.find("://")) + doors_.endpoint().substr(3) +
               (path == std::string::npos ? "" : listener.substr(path));
    }

    /// Accepts the client that has connected.
    void start(const context& owner) {
        client_.emplace(owner, doors_.accept(owner));
        server_.emplace(owner, to_);
        thread_ = std::jthread{[this](const std::stop_token& is_over) { run(is_over); }};
    }

    /// The bytes from the client that the system has taken over.
    std::size_t passed_bytes() const { return passed_bytes_; }

    /// Waits until everything has reached the other side, and ends the connection.
    void end(ending how) {
        stop();
        int waiting = 1;
        while (waiting != 0) {
            REQUIRE(::ioctl(server_->descriptor(), SIOCOUTQ, &waiting) == 0);
        }
        if (how == ending::reset) {
            server_->reset();
        } else {
            server_->close();
        }
        client_.reset();
    }

private:
    void stop() {
        thread_.request_stop();
        if (thread_.joinable()) {
            thread_.join();
        }
    }

    void run(const std::stop_token& is_over) {
        while (!is_over.stop_requested()) {
            pollfd both[] = {{client_->descriptor(), POLLIN, 0},
                             {server_->descriptor(), POLLIN, 0}};
            ::poll(both, 2, 1);
            passed_bytes_ += pass(client_->descriptor(), server_->descriptor());
            pass(server_->descriptor(), client_->descriptor());
        }
    }

    static std::size_t pass(int from, int to) {
        char data[16'384];
        const ssize_t got = ::recv(from, data, sizeof data, 0);
        for (ssize_t sent = 0; sent < got;) {
            const ssize_t put =
                ::send(to, data + sent, static_cast<std::size_t>(got - sent), MSG_NOSIGNAL);
            sent += put > 0 ? put : 0;
            if (put < 0 && errno != EAGAIN) {
                return 0;
            }
        }
        return got > 0 ? static_cast<std::size_t>(got) : 0;
    }

    raw_listener doors_;
    const std::string to_;
    std::optional<raw_peer> client_;
    std::optional<raw_peer> server_;
    std::atomic<std::size_t> passed_bytes_{0};
    std::jthread thread_;
};

/// A listening socket that receives nothing until its only connection has ended.
class listener {
public:
    listener(int io_threads, int type) : owner(io_threads), tested(owner, type) {
        tested.set(ZLINK_RCVHWM, 2).set(ZLINK_RCVBUF, 1'000'000);
        seen_.emplace(owner, tested, ZLINK_EVENT_DISCONNECTED);
    }

    /// The number of descriptors is noted before the connection, too.
    void bind(const std::string& at) {
        endpoint = tested.bind(at);
        idle_count_ = descriptor_count();
    }

    /// Everything else has gone, and this has to notice it.
    void await_end() {
        wait_until(owner, [&] { return descriptor_count() <= idle_count_; });
        seen_->await(ZLINK_EVENT_DISCONNECTED);
    }

    context owner;
    socket tested;
    std::string endpoint;

private:
    std::optional<watcher> seen_;
    std::ptrdiff_t idle_count_ = 0;
};

/// Sends all messages of a client through a relay, which then ends.
/// @param prefix  Frames that come before.
void send_and_end(listener& to, int type, ending how, const message& prefix,
                  const std::function<void(socket&)>& prepare) {
    const context owner{1};
    relay between{to.endpoint};
    socket client{owner, type};
    client.set(ZLINK_SNDHWM, 0).set(ZLINK_RECONNECT_IVL, -1);
    prepare(client);
    client.connect(between.endpoint_for(to.endpoint));
    between.start(to.owner);
    message first = prefix;
    if (type == ZLINK_STREAM) {
        wait_until(to.owner, [&] { return client.poll(ZLINK_POLLIN, 1ms) != 0; });
        first = {recv_arrival(client)};
    }
    for (int number = 0; number < message_count; ++number) {
        message sent = first;
        sent.frames.push_back(text_of(number));
        REQUIRE(client.send(sent) == ok);
    }
    wait_until(to.owner, [&] {
        return unsent_to_peer(client) == 0 &&
               between.passed_bytes() > message_count * (message_bytes + 2);
    });
    to.owner.let_io_happen();
    between.end(how);
}

void nothing(socket&) {}

const std::string asked = "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// More requests than are kept behind one that is being answered.
std::string many_requests() {
    std::string made;
    while (made.size() < 200'000) {
        made += asked;
    }
    return made;
}

/// TLS over a connection, for a server that has I/O threads.
class tls_client {
public:
    explicit tls_client(const raw_peer& over)
        : rules_(::SSL_CTX_new(::TLS_client_method())), state_(::SSL_new(rules_)) {
        REQUIRE(::fcntl(over.descriptor(), F_SETFL, 0) == 0);
        ::SSL_set_fd(state_, over.descriptor());
        REQUIRE(::SSL_connect(state_) == 1);
    }
    ~tls_client() {
        ::SSL_free(state_);
        ::SSL_CTX_free(rules_);
    }
    tls_client(const tls_client&) = delete;
    tls_client& operator=(const tls_client&) = delete;

    void send(const std::string& data) {
        REQUIRE(::SSL_write(state_, data.data(), static_cast<int>(data.size())) ==
                static_cast<int>(data.size()));
    }

private:
    SSL_CTX* rules_;
    SSL* state_;
};

} // namespace

TEST_SUITE("unread ends") {

    TEST_CASE("unread ends: of every transport of a pattern, with all its messages") {
        const edge_trust trust;
        std::string public_key(41, '\0');
        std::string secret_key(41, '\0');
        REQUIRE(zlink_curve_keypair(public_key.data(), secret_key.data()) == 0);
        public_key.pop_back();
        secret_key.pop_back();
        for (const std::string at : {"tcp://127.0.0.1:*", "tls://127.0.0.1:*", "ws://127.0.0.1:*/",
                                     "wss://127.0.0.1:*/", "curve"}) {
            const bool is_curve = at == "curve";
            for (const ending how : every_ending) {
                for (const int io_threads : every_io_threads) {
                    CAPTURE(at);
                    CAPTURE(io_threads);
                    CAPTURE(static_cast<int>(how));
                    listener pull{io_threads, ZLINK_PULL};
                    trust.let_listen(pull.tested);
                    if (is_curve) {
                        pull.tested.set(ZLINK_CURVE_SERVER, 1)
                            .set(ZLINK_CURVE_SECRETKEY, secret_key);
                    }
                    pull.bind(is_curve ? "tcp://127.0.0.1:*" : at);
                    send_and_end(pull, ZLINK_PUSH, how, {}, [&](socket& client) {
                        trust.let_dial(client);
                        if (is_curve) {
                            client.set(ZLINK_CURVE_SERVERKEY, public_key)
                                .set(ZLINK_CURVE_PUBLICKEY, public_key)
                                .set(ZLINK_CURVE_SECRETKEY, secret_key);
                        }
                    });
                    pull.await_end();
                    for (int number = 0; number < message_count; ++number) {
                        REQUIRE(pull.tested.recv() == message{text_of(number)});
                    }
                    CHECK(pull.tested.recv_error() == EAGAIN);
                }
            }
        }
    }

    TEST_CASE("unread ends: of every pattern that receives") {
        struct {
            int type;
            int client;
            message prefix;
        } const pairs[] = {{ZLINK_PAIR, ZLINK_PAIR, {}},
                           {ZLINK_ROUTER, ZLINK_DEALER, {}},
                           {ZLINK_DEALER, ZLINK_DEALER, {}},
                           {ZLINK_REP, ZLINK_DEALER, {""}},
                           {ZLINK_XPUB, ZLINK_XSUB, {}}};
        for (const auto& each : pairs) {
            for (const ending how : every_ending) {
                CAPTURE(each.type);
                CAPTURE(static_cast<int>(how));
                listener server{1, each.type};
                server.bind("tcp://127.0.0.1:*");
                send_and_end(server, each.client, how, each.prefix, nothing);
                server.await_end();
                for (int number = 0; number < message_count; ++number) {
                    REQUIRE(server.tested.recv().frames.back() == text_of(number));
                    if (each.type == ZLINK_REP) {
                        CHECK(server.tested.send("late") == ok);
                    }
                }
                CHECK(server.tested.recv_error() == EAGAIN);
            }
        }
    }

    TEST_CASE("unread ends: of every transport of a STREAM, with all its messages before the "
              "event") {
        const edge_trust trust;
        for (const std::string at : edge_endpoints) {
            for (const ending how : every_ending) {
                for (const int io_threads : every_io_threads) {
                    CAPTURE(at);
                    CAPTURE(io_threads);
                    CAPTURE(static_cast<int>(how));
                    listener server{io_threads, ZLINK_STREAM};
                    trust.let_listen(server.tested);
                    server.bind(at);
                    send_and_end(server, ZLINK_STREAM, how, {},
                                 [&](socket& client) { trust.let_dial(client); });
                    server.await_end();
                    const std::string id = recv_arrival(server.tested);
                    for (int number = 0; number < message_count; ++number) {
                        REQUIRE(server.tested.recv() == message{id, text_of(number)});
                    }
                    const std::string why = recv_departure(server.tested, id);
                    CHECK(why.starts_with(how == ending::fin && at.starts_with("tcp") ? "1000 "
                                                                                      : "1006 "));
                }
            }
        }
    }

    TEST_CASE("unread ends: of peers over ipc, and of those without ZMTP") {
        constexpr int raw_type = 11; // ZMQ_STREAM
        for (const setting& chosen : raw_settings()) {
            for (const bool is_raw : {false, true}) {
                for (const ending how : every_ending) {
                    if (how == ending::reset && chosen.via == transport::ipc) {
                        continue; // There is none, but for unread answers.
                    }
                    CAPTURE(chosen);
                    CAPTURE(is_raw);
                    CAPTURE(static_cast<int>(how));
                    listener server{chosen.io_threads, is_raw ? raw_type : ZLINK_PULL};
                    server.bind(wildcard(chosen.via));
                    raw_peer client{server.owner, server.endpoint};
                    const std::string hello = "\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL"s +
                                              std::string(48, '\0') +
                                              "\4\x1a\5READY\xbSocket-Type\0\0\0\4PUSH"s;
                    if (!is_raw) {
                        client.send(hello);
                        client.recv(hello.size());
                    }
                    std::string all;
                    for (int number = 0; number < message_count; ++number) {
                        all +=
                            is_raw ? text_of(number) : "\2\0\0\0\0\0\0\x03\xe8"s + text_of(number);
                    }
                    client.send(all);
                    server.owner.let_io_happen();
                    int waiting = 1;
                    while (waiting != 0 && chosen.via == transport::tcp) {
                        REQUIRE(::ioctl(client.descriptor(), SIOCOUTQ, &waiting) == 0);
                    }
                    if (how == ending::reset) {
                        client.reset();
                    } else {
                        client.close();
                    }
                    server.await_end();
                    if (!is_raw) {
                        for (int number = 0; number < message_count; ++number) {
                            REQUIRE(server.tested.recv() == message{text_of(number)});
                        }
                        CHECK(server.tested.recv_error() == EAGAIN);
                        continue;
                    }
                    CHECK(server.tested.recv().frames[1].empty());
                    std::string got;
                    while (got.size() < all.size()) {
                        got += server.tested.recv().frames[1];
                    }
                    CHECK(got == all);
                    CHECK(server.tested.recv().frames[1].empty());
                }
            }
        }
    }

    TEST_CASE("unread ends: of HTTP clients that have sent more behind a request, or read nothing "
              "of a response") {
        for (const int io_threads : every_io_threads) {
            for (const ending how : every_ending) {
                for (const bool is_answered : {false, true}) {
                    CAPTURE(io_threads);
                    CAPTURE(static_cast<int>(how));
                    CAPTURE(is_answered);
                    listener server{io_threads, ZLINK_STREAM};
                    REQUIRE(zlink_http_route(server.tested, "/*", ZLINK_HTTP_REQUESTS) == 0);
                    server.bind("http://127.0.0.1:*/");
                    raw_peer client{server.owner, tcp_of(server.endpoint)};
                    client.send(asked);
                    const std::string id = server.tested.recv().frames[0];
                    client.send(many_requests());
                    if (is_answered) {
                        // More than the system takes, so that the response is under way.
                        const std::string content = long_text(20'000'000);
                        REQUIRE(zlink_http_reply(server.tested, id.data(), 200, nullptr,
                                                 content.data(), content.size(), 0) == 0);
                    }
                    server.owner.let_io_happen();
                    if (how == ending::reset) {
                        client.reset();
                    } else {
                        client.close();
                    }
                    server.await_end();
                    if (!is_answered) {
                        CHECK(recv_departure(server.tested, id).starts_with("1006 "));
                    }
                    CHECK(server.tested.recv_error() == EAGAIN);
                }
            }
        }
    }

    TEST_CASE("unread ends: of HTTPS clients that have sent more behind a request") {
        const edge_trust trust;
        for (const ending how : every_ending) {
            CAPTURE(static_cast<int>(how));
            listener server{1, ZLINK_STREAM};
            trust.let_listen(server.tested);
            REQUIRE(zlink_http_route(server.tested, "/*", ZLINK_HTTP_REQUESTS) == 0);
            server.bind("https://127.0.0.1:*/");
            raw_peer client{server.owner, tcp_of(server.endpoint)};
            tls_client secure{client};
            secure.send(asked);
            const std::string id = server.tested.recv().frames[0];
            secure.send(many_requests());
            server.owner.let_io_happen();
            if (how == ending::reset) {
                client.reset();
            } else {
                client.close();
            }
            server.await_end();
            CHECK(recv_departure(server.tested, id).starts_with("1006 "));
        }
    }

    TEST_CASE("unread ends: a peer that has only ended its own direction still gets what was sent "
              "to it") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            listener server{io_threads, ZLINK_STREAM};
            server.bind("tcp://127.0.0.1:*");
            raw_peer client{server.owner, server.endpoint};
            std::string all;
            for (int number = 0; number < message_count; ++number) {
                all += framed(text_of(number));
            }
            client.send(all);
            const std::string id = recv_arrival(server.tested);
            const std::string answer = long_text(20'000'000);
            REQUIRE(server.tested.send(message{id, answer}) == ok);
            REQUIRE(::shutdown(client.descriptor(), SHUT_WR) == 0);
            server.owner.let_io_happen();
            CHECK(client.recv(answer.size() + 4).substr(4) == answer);
            CHECK(client.is_disconnected());
            for (int number = 0; number < message_count; ++number) {
                REQUIRE(server.tested.recv() == message{id, text_of(number)});
            }
            CHECK(recv_departure(server.tested, id) == "1000 closed by the peer");
        }
    }

} // TEST_SUITE

} // namespace api_test
