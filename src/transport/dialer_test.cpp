// SPDX-License-Identifier: MPL-2.0
#include "transport/dialer.hpp"

#include "base/limits.hpp"
#include "transport/name_lookup.hpp"

#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <netinet/in.h>
#include <optional>
#include <set>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

using zlink::decode_endpoint;
using zlink::endpoint_use;
using zlink::result;
using zlink::socket_options;
using zlink::transport::dialer_ptr;
using zlink::transport::make_dialer;
using zlink::transport::stream_ptr;

namespace {

namespace limits = zlink::limits;
using zlink::errc;
using zlink::transport::name_lookup;
using zlink::transport::socket_address;

/// A reserved port of the loopback interface; nothing listens there until listen().
class own_port {
public:
    own_port() : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
        const int on = 1;
        REQUIRE(::setsockopt(descriptor_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof address;
        REQUIRE(::bind(descriptor_, reinterpret_cast<sockaddr*>(&address), bytes) == 0);
        REQUIRE(::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &bytes) == 0);
        number_ = ntohs(address.sin_port);
        place_ = "127.0.0.1:" + std::to_string(number_);
    }
    ~own_port() { ::close(descriptor_); }
    own_port(const own_port&) = delete;
    own_port& operator=(const own_port&) = delete;

    void listen() { REQUIRE(::listen(descriptor_, 1) == 0); }
    const std::string& place() const { return place_; }
    std::string number() const { return std::to_string(number_); }

private:
    int descriptor_;
    int number_ = 0;
    std::string place_;
};

/// The same port at 127.0.0.2, where the system no longer answers: its listener accepts no
/// connection, and its backlog is full.
class silent_port {
public:
    explicit silent_port(const own_port& like) : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
        address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(like.number())));
        const auto* const raw = reinterpret_cast<const sockaddr*>(&address);
        REQUIRE(::bind(listener_, raw, sizeof address) == 0);
        REQUIRE(::listen(listener_, 0) == 0);
        REQUIRE(::connect(first_, raw, sizeof address) == 0);
        REQUIRE(::connect(second_, raw, sizeof address) == -1);
        REQUIRE(errno == EINPROGRESS);
    }
    ~silent_port() {
        for (const int each : {listener_, first_, second_}) {
            ::close(each);
        }
    }
    silent_port(const silent_port&) = delete;
    silent_port& operator=(const silent_port&) = delete;

private:
    int listener_;
    int first_ = ::socket(AF_INET, SOCK_STREAM, 0);
    int second_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
};

/// Replaces the system's resolver: names are resolved by their beginning. Those that begin with
/// "silent" are not answered before the end of the test.
class scripted_names {
public:
    scripted_names() {
        is_over_ = false;
        name_lookup::replace_source(&answer);
    }
    ~scripted_names() {
        {
            const std::lock_guard lock{mutex_};
            is_over_ = true;
            ended_.notify_all();
        }
        std::unique_lock lock{mutex_};
        ended_.wait(lock, [] { return silent_count_ == 0; });
        name_lookup::replace_source(nullptr);
    }
    scripted_names(const scripted_names&) = delete;
    scripted_names& operator=(const scripted_names&) = delete;

    /// The number of lookups that wait for an answer.
    static std::size_t silent_count() {
        const std::lock_guard lock{mutex_};
        return silent_count_;
    }
    static void await_silent(std::size_t count) {
        std::unique_lock lock{mutex_};
        ended_.wait(lock, [=] { return silent_count_ >= count; });
    }

private:
    static socket_address address(const char* host) {
        return *zlink::transport::local_address({host, {}, 0}, true);
    }

    static result<std::vector<socket_address>> answer(const std::string& host, bool) {
        if (host == "second-listens") {
            return std::vector{address("127.0.0.2"), address("127.0.0.1")};
        }
        if (host == "v6-then-v4") {
            return std::vector{address("::1"), address("127.0.0.1")};
        }
        if (host == "first-is-silent") {
            return std::vector{address("127.0.0.2"), address("127.0.0.1")};
        }
        if (host == "nobody-listens") {
            return std::vector{address("127.0.0.2"), address("127.0.0.3")};
        }
        if (host.starts_with("silent")) {
            std::unique_lock lock{mutex_};
            ++silent_count_;
            ended_.notify_all();
            ended_.wait(lock, [] { return is_over_; });
            --silent_count_;
            ended_.notify_all();
        }
        return errc::host_unreachable;
    }

    static inline std::mutex mutex_;
    static inline std::condition_variable ended_;
    static inline bool is_over_ = false;
    static inline std::size_t silent_count_ = 0;
};

/// Dials `endpoint` once and closes the connection. @returns  0, or the error.
int dial(const std::string& endpoint) {
    boost::asio::io_context reactor;
    const dialer_ptr dialer = make_dialer(reactor, *decode_endpoint(endpoint, endpoint_use::dial),
                                          std::make_shared<const socket_options>(), nullptr);
    std::optional<int> error;
    dialer->start([&](const result<stream_ptr>& made) {
        error = made ? 0 : static_cast<int>(made.error());
        if (made) {
            (*made)->close();
        }
    });
    CHECK_FALSE(error);
    reactor.run();
    REQUIRE(error);
    return *error;
}

} // namespace

TEST_CASE("dialer: reaches who listens, and is refused by who does not") {
    own_port port;
    CHECK(dial("tcp://" + port.place()) == ECONNREFUSED);
    port.listen();
    CHECK(dial("tcp://" + port.place()) == 0);
}

TEST_CASE("dialer: a connection to itself is nobody's") {
    const own_port port;
    CHECK(dial("tcp://" + port.place() + ";" + port.place()) == ECONNREFUSED);
}

TEST_CASE("dialer: tries all addresses of a name") {
    const scripted_names names;
    own_port port;
    port.listen();
    CHECK(dial("tcp://second-listens:" + port.number()) == 0);
    CHECK(dial("tcp://v6-then-v4:" + port.number()) == 0);
    CHECK(dial("tcp://nobody-listens:" + port.number()) == ECONNREFUSED);
    CHECK(dial("tcp://unknown:" + port.number()) == EHOSTUNREACH);
}

TEST_CASE("dialer: does not wait for an address that is silent before it tries the next") {
    const scripted_names names;
    own_port port;
    port.listen();
    const silent_port silent{port};
    CHECK(dial("tcp://first-is-silent:" + port.number()) == 0);
}

TEST_CASE("dialer: names that are not answered hold up neither others nor the end of a reactor") {
    const scripted_names names;
    own_port port;
    port.listen();
    {
        boost::asio::io_context reactor;
        const auto options = std::make_shared<const socket_options>();
        std::vector<dialer_ptr> waiting;
        const auto ask = [&](const std::string& host) {
            waiting.push_back(
                make_dialer(reactor, *decode_endpoint("tcp://" + host + ":1", endpoint_use::dial),
                            options, nullptr));
            waiting.back()->start([](const result<stream_ptr>&) { FAIL("it was answered"); });
        };
        // All threads but one wait, however often one name is requested.
        for (std::size_t count = 0; count + 1 < limits::lookup_threads_max; ++count) {
            ask("silent" + std::to_string(count));
            ask("silent" + std::to_string(count));
        }
        reactor.poll();
        scripted_names::await_silent(limits::lookup_threads_max - 1);
        CHECK(dial("tcp://second-listens:" + port.number()) == 0);
        CHECK(scripted_names::silent_count() == limits::lookup_threads_max - 1);
        for (const dialer_ptr& each : waiting) {
            each->stop();
        }
        reactor.run(); // Nothing is left to do.
    }
    CHECK(scripted_names::silent_count() == limits::lookup_threads_max - 1);
}

TEST_CASE("dialer: what nobody waits for any more is not asked") {
    const scripted_names names;
    boost::asio::io_context reactor;
    const auto options = std::make_shared<const socket_options>();
    std::vector<dialer_ptr> waiting;
    for (std::size_t count = 0; count < limits::lookup_threads_max + 100; ++count) {
        waiting.push_back(make_dialer(
            reactor,
            *decode_endpoint("tcp://silent-" + std::to_string(count) + ":1", endpoint_use::dial),
            options, nullptr));
        waiting.back()->start([](const result<stream_ptr>&) { FAIL("it was answered"); });
    }
    reactor.restart();
    reactor.poll();
    scripted_names::await_silent(limits::lookup_threads_max);
    for (const dialer_ptr& each : waiting) {
        each->stop();
    }
    reactor.run();
    CHECK(scripted_names::silent_count() == limits::lookup_threads_max);
}
