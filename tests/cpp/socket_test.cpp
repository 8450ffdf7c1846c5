// SPDX-License-Identifier: MPL-2.0
//
// The C++ interface: contexts, messages, sockets and their options.
#include <zlink/zlink.hpp>

#include <algorithm>
#include <chrono>
#include <doctest/doctest.h>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace zlink;

/// Sockets of one pattern at each end.
template<class Bound, class Connected>
struct joined {
    joined() : bound(owner), connected(owner) {
        bound.set(option::linger, 0ms, throws);
        connected.set(option::linger, 0ms, throws);
        bound.bind("tcp://127.0.0.1:*", throws);
        connected.connect(bound.last_endpoint(throws), throws);
    }

    context owner;
    Bound bound;
    Connected connected;
};

template<class Socket>
concept can_send = requires(Socket& by) {
    by.send("x");
};
template<class Socket>
concept can_receive = requires(Socket& by) {
    by.recv();
};
template<class Socket>
concept can_subscribe = requires(Socket& by) {
    by.subscribe("x");
};
template<class Socket, class Option, class Value>
concept can_set = requires(Socket& by, Option which, Value value) {
    by.set(which, value);
};
template<class Socket, class Option>
concept can_get = requires(Socket& by, Option which) {
    by.get(which);
};

// What a pattern cannot do does not compile.
static_assert(can_send<push_socket> && !can_receive<push_socket>);
static_assert(!can_send<pull_socket> && can_receive<pull_socket>);
static_assert(!can_receive<pub_socket> && !can_send<sub_socket>);
static_assert(can_subscribe<sub_socket> && !can_subscribe<pull_socket>);
static_assert(!can_send<stream_socket>); // Only to a peer.
static_assert(can_set<push_socket, decltype(option::linger), std::chrono::milliseconds>);
static_assert(can_set<push_socket, decltype(option::linger), std::chrono::seconds>);
static_assert(!can_set<push_socket, decltype(option::linger), int>);
static_assert(!can_set<push_socket, decltype(option::last_endpoint), std::string>);
static_assert(!can_get<router_socket, decltype(option::router_mandatory)>);
static_assert(can_set<router_socket, decltype(option::router_mandatory), bool>);
static_assert(!can_set<pull_socket, decltype(option::router_mandatory), bool>);
static_assert(!can_set<pull_socket, decltype(option::ws_deflate), bool>);
static_assert(!can_set<stream_socket, decltype(option::conflate), bool>);
static_assert(!std::is_copy_constructible_v<message> && !std::is_copy_constructible_v<push_socket>);
static_assert(std::is_nothrow_move_constructible_v<message>);

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span{text});
}

} // namespace

TEST_SUITE("socket") {

    TEST_CASE("messages of every kind arrive as they were sent") {
        joined<pull_socket, push_socket> it;
        CHECK(it.connected.send("text").value() == 4);
        CHECK(it.connected.send(std::string("string")).value() == 6);
        CHECK(it.connected.send(std::vector<std::uint16_t>{1, 2}).value() == 4);
        CHECK(it.connected.send(bytes_of("span")).value() == 4);
        CHECK(it.connected.send(const_bytes{}).value() == 0);
        message owned{"owned"};
        CHECK(it.connected.send(std::move(owned), throws) == 5);
        CHECK(it.bound.recv().value() == "text");
        CHECK(it.bound.recv(throws) == "string");
        const message numbers = it.bound.recv(throws);
        REQUIRE(numbers.size() == 4);
        std::uint16_t second = 0;
        std::memcpy(&second, numbers.data() + 2, sizeof second);
        CHECK(second == 2);
        message into;
        CHECK(it.bound.recv(into).value() == 4);
        CHECK(into == "span");
        CHECK(it.bound.recv(into).value() == 0);
        CHECK(into.empty());
        std::array<std::byte, 3> room{};
        CHECK(it.bound.recv(room).value() == 5); // Longer than the room.
        CHECK(static_cast<char>(room[2]) == 'n');
        // A text ends at its zero byte, however long its array is.
        char formatted[64] = "formatted";
        CHECK(it.connected.send(formatted).value() == 9);
        CHECK(message{formatted} == "formatted");
        const char full[3] = {'a', 'b', 'c'};
        CHECK(it.connected.send(full).value() == 3);
        char* const pointer = formatted;
        CHECK(it.connected.send(pointer).value() == 9);
        static_assert(!std::is_convertible_v<std::vector<std::string_view>, const_bytes>);
        static_assert(!std::is_convertible_v<std::vector<const char*>, const_bytes>);
    }

    TEST_CASE("messages of several frames") {
        joined<pull_socket, push_socket> it;
        CHECK(it.connected.send(multipart{"one", "two", ""}).has_value());
        multipart made;
        made.push_back(message{"three"});
        it.connected.send(std::move(made), throws);
        const multipart first = it.bound.recv_multipart(throws);
        REQUIRE(first.size() == 3);
        CHECK(first[0] == "one");
        CHECK(first[1] == "two");
        CHECK(first[2].empty());
        CHECK(it.bound.recv_multipart().value().size() == 1);
        CHECK(it.connected.send(multipart{}).error() == std::errc::invalid_argument);
        CHECK(it.connected.send("a", flags::more).has_value());
        CHECK(it.connected.send("b").has_value());
        CHECK(it.bound.recv(throws).more());
        CHECK_FALSE(it.bound.recv(throws).more());
    }

    TEST_CASE("a message owns its bytes, and shares them") {
        static int released = 0;
        static char content[] = "content";
        {
            message referring{content, 7, [](void*, void*) { ++released; }};
            message other = referring.share();
            CHECK(other.text() == "content");
            message moved = std::move(referring);
            CHECK(referring.empty()); // NOLINT(bugprone-use-after-move): it is defined.
            CHECK(moved == "content");
            moved = std::move(other);
            CHECK(released == 0);
        }
        CHECK(released == 1);
        message marked{"x"};
        CHECK_FALSE(marked.is_text());
        marked.mark_text();
        CHECK(marked.is_text());
        CHECK(marked.property("Path") == nullptr);
        CHECK(message(std::size_t{10}).size() == 10);
    }

    TEST_CASE("errors are codes, and exceptions where that is asked for") {
        context owner;
        pull_socket one{owner};
        const std::error_code nothing = one.recv(flags::dont_wait).error();
        CHECK(is_again(nothing));
        CHECK(nothing == std::errc::resource_unavailable_try_again);
        CHECK_THROWS_AS(one.recv(flags::dont_wait, throws), std::system_error);
        CHECK_THROWS_AS(one.recv(flags::dont_wait).value(), std::system_error);
        one.bind("tcp://127.0.0.1:*", throws);
        pull_socket other{owner};
        const std::string taken = one.last_endpoint(throws);
        CHECK(other.bind(taken).error() == std::errc::address_in_use);
        try {
            other.bind(taken, throws);
            FAIL("it is taken");
        } catch (const std::system_error& failed) {
            CHECK(failed.code() == std::errc::address_in_use);
            CHECK(std::string(failed.what()).find(taken) != std::string::npos);
        }
        CHECK(other.bind("nonsense").error() == std::errc::invalid_argument);
        req_socket asks{owner};
        CHECK(asks.recv().error() == errc::wrong_state);
        CHECK(asks.recv().error().message() == zlink_strerror(EFSM));
        CHECK(owner.shut_down().has_value());
        CHECK(one.recv().error() == errc::terminated);
        CHECK_THROWS_AS(push_socket{owner}, std::system_error);
        CHECK(push_socket::open(owner).error() == errc::terminated);
    }

    TEST_CASE("options have types") {
        context owner;
        dealer_socket it{owner};
        CHECK(it.set(option::sndhwm, 5).has_value());
        CHECK(it.get(option::sndhwm).value() == 5);
        it.set(option::linger, 2s, throws);
        CHECK(it.get(option::linger, throws) == 2000ms);
        it.set(option::linger, no_limit, throws);
        CHECK(it.get(option::linger, throws) == no_limit);
        it.set(option::tcp_keepalive_idle, 30s, throws);
        CHECK(it.get(option::tcp_keepalive_idle, throws) == 30s);
        it.set(option::ipv6, true, throws);
        CHECK(it.get(option::ipv6, throws));
        it.set(option::maxmsgsize, std::int64_t{1} << 40, throws);
        CHECK(it.get(option::maxmsgsize, throws) == std::int64_t{1} << 40);
        it.set(option::affinity, std::uint64_t{3}, throws);
        CHECK(it.get(option::affinity, throws) == 3);
        it.set(option::routing_id, "my id", throws);
        CHECK(it.get(option::routing_id, throws) == "my id");
        const std::string path(3000, 'x');
        it.set(option::tls_ca, path, throws);
        CHECK(it.get(option::tls_ca, throws) == path);
        CHECK(it.get(option::dropped).value() == 0);
        CHECK(it.set(option::sndhwm, -5).error() == std::errc::invalid_argument);
        CHECK_THROWS_AS(it.set(option::sndhwm, -5, throws), std::system_error);
        CHECK(owner.set(context_option::max_sockets, 100).has_value());
        CHECK(owner.get(context_option::max_sockets).value() == 100);
        owner.set(context_option::busy_poll, 20us, throws);
        CHECK(owner.get(context_option::busy_poll).value() == 20us);
        CHECK(owner.set(context_option::io_threads, -1).error() == std::errc::invalid_argument);
        CHECK(owner.get(context_option::thread_scheduling_policy).value() == -1); // No error.
        // Longer than the option has room for.
        using hours = std::chrono::hours;
        CHECK(it.set(option::rcvtimeo, hours{50 * 24}).error() == std::errc::invalid_argument);
        CHECK(it.set(option::rcvtimeo, 4294967295ms).error() == std::errc::invalid_argument);
        CHECK(it.drain(4294967295ms).error() == std::errc::invalid_argument);
        CHECK(owner.set(context_option::busy_poll, 4294967296us).error() ==
              std::errc::invalid_argument);
        CHECK(it.set(option::rcvtimeo, hours{20 * 24}).has_value());
        // The text of an exception is not that of an earlier call.
        CHECK(it.set(option::sndhwm, -5).error() == std::errc::invalid_argument);
        try {
            it.set(option::rcvtimeo, hours{50 * 24}, throws);
            FAIL("was set");
        } catch (const std::system_error& refused) {
            CHECK(std::string(refused.what()).find("SNDHWM") == std::string::npos);
        }
    }

    TEST_CASE("a text with a zero byte is refused, not cut") {
        context owner;
        pull_socket it{owner};
        const std::string cut("tcp://127.0.0.1:*\0x", 19);
        CHECK(it.bind(cut).error() == std::errc::invalid_argument);
        CHECK(it.connect(cut).error() == std::errc::invalid_argument);
        CHECK(it.unbind(cut).error() == std::errc::invalid_argument);
        CHECK(it.disconnect(cut).error() == std::errc::invalid_argument);
        CHECK(it.last_endpoint(throws).empty());
        stream_socket server{owner};
        const std::string path("/a\0b", 4);
        CHECK(server.serve(path, "/tmp").error() == std::errc::invalid_argument);
        CHECK(server.serve("/", std::string("/tmp\0x", 6)).error() == std::errc::invalid_argument);
        CHECK(server.serve("/", "/tmp", {.index = std::string("a\0b", 3)}).error() ==
              std::errc::invalid_argument);
        CHECK(server.route(path, http_route::requests).error() == std::errc::invalid_argument);
        CHECK(server.close_peer({}, close_code::normal, path).error() ==
              std::errc::invalid_argument);
        CHECK(server.abort_peer({}, close_code::normal, path).error() ==
              std::errc::invalid_argument);
        CHECK(server.upgrade({}, path).error() == std::errc::invalid_argument);
    }

    TEST_CASE("a socket is moved, closed once, and then refuses everything") {
        context owner;
        pull_socket closed;
        CHECK_FALSE(closed.is_open());
        CHECK(closed.recv().error() == std::errc::not_a_socket);
        pull_socket first{owner};
        first.bind("inproc://place", throws);
        pull_socket second = std::move(first);
        CHECK(second.is_open());
        CHECK(first.bind("inproc://other").error() == // NOLINT(bugprone-use-after-move)
              std::errc::not_a_socket);
        first = pull_socket{owner};
        CHECK(first.is_open());
        second = std::move(first); // Closes the one that was there.
        CHECK(second.bind("inproc://place").has_value());
        second.close();
        second.close();
        CHECK(second.ready().error() == std::errc::not_a_socket);
        CHECK_THROWS_AS(second.set(option::linger, 0ms, throws), std::system_error);
    }

    TEST_CASE("threads share a socket, until one of them closes it") {
        joined<router_socket, dealer_socket> it;
        CHECK_FALSE(it.connected.get(option::thread_safe, throws));
        it.bound.set(option::thread_safe, true, throws);
        std::vector<std::jthread> workers;
        workers.reserve(3);
        for (int count = 0; count < 3; ++count) {
            workers.emplace_back([&it] {
                while (auto request = it.bound.recv_multipart()) {
                    CHECK(request->size() == 3);
                    CHECK(it.bound.send(std::move(*request)).has_value());
                }
            });
        }
        for (int count = 0; count < 300; ++count) {
            it.connected.send(multipart{"two", "frames"}, throws);
        }
        for (int count = 0; count < 300; ++count) {
            CHECK(it.connected.recv_multipart(throws).size() == 2);
        }
        it.bound.close();
        workers.clear();
        CHECK(it.bound.recv().error() == std::errc::not_a_socket);
    }

    TEST_CASE("subscriptions, readiness, peers and polling") {
        joined<xpub_socket, sub_socket> it;
        it.connected.subscribe("a", throws);
        CHECK(it.bound.recv(throws) == "\1a");
        CHECK(it.bound.send("abc").has_value());
        CHECK(it.bound.send("bcd").has_value());
        CHECK(it.bound.send("a").has_value());
        CHECK(it.connected.recv(throws) == "abc");
        CHECK(it.connected.recv(throws) == "a");
        it.connected.unsubscribe("a", throws);
        CHECK(it.bound.recv(throws) == std::string_view("\0a", 2));
        CHECK_FALSE(it.connected.ready().value().can_receive);
        CHECK(it.bound.ready().value().can_send);
        const std::vector<peer> peers = it.connected.peers(throws);
        REQUIRE(peers.size() == 1);
        CHECK(peers[0].endpoint == it.bound.last_endpoint(throws));
        std::array items{poll_item(it.connected, ZLINK_POLLIN), poll_item(it.bound, ZLINK_POLLOUT)};
        CHECK(poll(items).value() == 1);
        CHECK_FALSE(items[0].can_receive());
        CHECK(items[1].can_send());
        CHECK(poll(std::span(items).first(1), 0ms, throws) == 0);
        const auto blockers = it.owner.blockers();
        CHECK(blockers.value().size() == 2);
        CHECK(it.connected.drain(5s).has_value());
    }

    TEST_CASE("metrics of a context") {
        joined<pull_socket, push_socket> it;
        it.connected.set(option::socket_name, "source", throws);
        it.connected.send("12345", throws);
        it.bound.recv(throws);
        double bytes = 0;
        const auto known = it.owner.metrics().value();
        for (const metric& each : known) {
            CHECK_FALSE(each.name.starts_with("zlink_peer_"));
            const std::pair<std::string, std::string> name{"name", "source"};
            if (each.name == "zlink_socket_sent_bytes_total" &&
                std::find(each.labels.begin(), each.labels.end(), name) != each.labels.end()) {
                CHECK(each.kind == metric::sort::counter);
                CHECK(each.family == each.name);
                bytes += each.value;
            }
        }
        CHECK(bytes == 7);
        CHECK(it.owner.metrics(true).value().size() > known.size());
        CHECK(it.owner.metrics_text().value().starts_with("# HELP zlink_info "));
        CHECK(it.owner.get(context_option::metrics_endpoint).value().empty());
        CHECK(it.owner.set(context_option::metrics_endpoint, "nowhere").error() ==
              std::errc::invalid_argument);
        CHECK_THROWS_WITH_AS(it.owner.set(context_option::metrics_endpoint, "nowhere", throws),
                             doctest::Contains("http://HOST:PORT"), std::system_error);
        it.owner.set(context_option::metrics_endpoint, "http://127.0.0.1:*", throws);
        CHECK(it.owner.get(context_option::metrics_endpoint)
                  .value()
                  .starts_with("http://127.0.0.1:"));
        it.owner.set(context_option::metrics_endpoint, "", throws);
        CHECK(it.owner.shut_down().has_value());
        CHECK(it.owner.metrics().error() == errc::terminated);
    }

    TEST_CASE("a monitor tells of connections") {
        context owner;
        rep_socket server{owner};
        monitor watched{owner, server};
        server.bind("tcp://127.0.0.1:*", throws);
        CHECK(watched.recv(throws).what == connection_event::listening);
        {
            req_socket client{owner};
            client.connect(server.last_endpoint(throws), throws);
            client.send("x", throws);
            server.recv(throws);
        }
        bool has_handshake = false;
        for (monitor_event told = watched.recv(throws); told.what != connection_event::disconnected;
             told = watched.recv(throws)) {
            has_handshake |= told.what == connection_event::handshake_succeeded;
            CHECK_FALSE(told.endpoint.empty());
        }
        CHECK(has_handshake);
        server.close();
        while (watched.recv(throws).what != connection_event::monitor_stopped) {
        }
    }

    TEST_CASE("a proxy forwards until the context is shut down") {
        context owner;
        router_socket front{owner};
        dealer_socket back{owner};
        front.bind("inproc://front", throws);
        back.bind("inproc://back", throws);
        std::thread forwarding{[&] { CHECK(proxy(front, back).error() == errc::terminated); }};
        {
            req_socket client{owner};
            rep_socket server{owner};
            client.connect("inproc://front", throws);
            server.connect("inproc://back", throws);
            client.send("question", throws);
            CHECK(server.recv(throws) == "question");
            server.send("answer", throws);
            CHECK(client.recv(throws) == "answer");
        }
        CHECK(owner.shut_down().has_value());
        forwarding.join();
        front.close();
        back.close();
        CHECK(owner.terminate().has_value());
        CHECK(owner.native_handle() == nullptr);
    }

} // TEST_SUITE
