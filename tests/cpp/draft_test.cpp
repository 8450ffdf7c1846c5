// SPDX-License-Identifier: MPL-2.0
//
// The C++ interface of libzmq's draft types, in a build with them.
#include <zlink/zlink.hpp>

#ifdef ZLINK_BUILD_DRAFT_API

#include <array>
#include <chrono>
#include <cstring>
#include <doctest/doctest.h>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace zlink;

template<class Socket>
concept can_send_bytes = requires(Socket& by) {
    by.send("x");
};
template<class Socket>
concept can_send = requires(Socket& by, message content) {
    by.send(std::move(content));
};
template<class Socket>
concept can_send_frames = requires(Socket& by) {
    by.send(multipart{"x"});
};
template<class Socket>
concept can_receive = requires(Socket& by) {
    by.recv();
};
template<class Socket>
concept can_receive_frames = requires(Socket& by) {
    by.recv_multipart();
};
template<class Socket>
concept can_join = requires(Socket& by) {
    by.join("x");
    by.leave("x");
};
template<class Socket>
concept can_disconnect_peers = requires(Socket& by) {
    by.disconnect_peer(1);
};
template<class Socket>
concept can_be_verbose = requires(Socket& by) {
    by.set(option::xpub_nodrop, true);
};

// What a type cannot do does not compile.
static_assert(can_send_bytes<client_socket> && can_receive<client_socket>);
static_assert(can_send<server_socket> && !can_send_bytes<server_socket>);
static_assert(can_send<peer_socket> && !can_send_bytes<peer_socket>);
static_assert(can_send_bytes<radio_socket> && !can_receive<radio_socket>);
static_assert(!can_send<dish_socket> && can_receive<dish_socket>);
static_assert(can_send_bytes<scatter_socket> && !can_receive<scatter_socket>);
static_assert(!can_send<gather_socket> && can_receive<gather_socket>);
static_assert(can_send_bytes<channel_socket> && can_receive<channel_socket>);
static_assert(!can_send_frames<client_socket> && !can_receive_frames<client_socket>);
static_assert(can_send_frames<dealer_socket> && can_receive_frames<dealer_socket>);
static_assert(can_send_frames<dgram_socket> && can_receive_frames<dgram_socket>);
static_assert(can_join<dish_socket> && !can_join<sub_socket>);
static_assert(can_disconnect_peers<server_socket> && can_disconnect_peers<peer_socket>);
static_assert(!can_disconnect_peers<client_socket>);
static_assert(can_be_verbose<radio_socket> && !can_be_verbose<dish_socket>);

template<class Bound, class Connected>
struct joined {
    joined() : bound(owner), connected(owner) {
        bound.set(option::linger, 0ms, throws);
        connected.set(option::linger, 0ms, throws);
        bound.bind("inproc://joined", throws);
        connected.connect("inproc://joined", throws);
    }

    context owner;
    Bound bound;
    Connected connected;
};

message for_group(const char* group, const char* content) {
    message made{content};
    made.set_group(group, throws);
    return made;
}

} // namespace

TEST_SUITE("draft") {

    TEST_CASE("a server answers its clients by their numbers") {
        context owner;
        server_socket server{owner};
        server.bind("tcp://127.0.0.1:*", throws);
        CHECK(server.get(option::thread_safe, throws));
        std::array<client_socket, 2> clients{client_socket{owner}, client_socket{owner}};
        for (client_socket& each : clients) {
            each.connect(server.last_endpoint(throws), throws);
            each.send(&each == &clients.front() ? "first" : "second", throws);
        }
        std::set<std::uint32_t> numbers;
        for (int count = 0; count < 2; ++count) {
            const message request = server.recv(throws);
            CHECK(request.routing_id() != 0);
            numbers.insert(request.routing_id());
            message answer{"re: " + std::string(request.text())};
            answer.set_routing_id(request.routing_id(), throws);
            CHECK(server.send(std::move(answer)).has_value());
        }
        CHECK(numbers.size() == 2);
        CHECK(clients[0].recv(throws) == "re: first");
        CHECK(clients[1].recv(throws) == "re: second");

        message lost{"x"};
        CHECK(lost.routing_id() == 0);
        CHECK(lost.set_routing_id(0).error() == std::errc::invalid_argument);
        CHECK(server.send(std::move(lost)).error() == std::errc::host_unreachable);
        CHECK(lost == "x"); // NOLINT(bugprone-use-after-move): it is unchanged.
        CHECK(server.disconnect_peer(*numbers.begin()).has_value());
        CHECK(server.disconnect_peer(*numbers.begin()).error() == std::errc::host_unreachable);
        CHECK_THROWS_AS(server.disconnect_peer(0, throws), std::system_error);
        CHECK(clients[0].send("one", flags::more).error() == std::errc::invalid_argument);
    }

    TEST_CASE("messages tell of connections that come and go") {
        context owner;
        server_socket server{owner};
        server.set(option::hello_msg, "welcome", throws);
        server.set(option::disconnect_msg, "gone", throws);
        server.bind("tcp://127.0.0.1:*", throws);
        client_socket client{owner};
        client.connect(server.last_endpoint(throws), throws);
        CHECK(client.recv(throws) == "welcome");
        client.close();
        CHECK(server.recv(throws) == "gone");
    }

    TEST_CASE("a dish receives the groups that it joined") {
        joined<dish_socket, radio_socket> it;
        it.bound.join("news", throws);
        CHECK(it.bound.join("news").error() == std::errc::invalid_argument);
        CHECK(it.bound.join(std::string("a\0b", 3)).error() == std::errc::invalid_argument);
        CHECK(it.bound.join(std::string(256, 'g')).error() == std::errc::invalid_argument);
        it.bound.join("sports", throws);
        CHECK(it.connected.send(for_group("weather", "not joined")).has_value());
        CHECK(it.connected.send(for_group("news", "joined")).has_value());
        CHECK(it.connected.send("no group").has_value());
        CHECK(it.connected.send(for_group("sports", "joined, too")).has_value());
        const message first = it.bound.recv(throws);
        CHECK(first == "joined");
        CHECK(first.group() == std::string_view("news"));
        CHECK(it.bound.recv(throws).group() == std::string_view("sports"));
        CHECK(is_again(it.bound.recv(flags::dont_wait).error()));

        it.bound.leave("news", throws);
        CHECK(it.bound.leave("news").error() == std::errc::invalid_argument);
        CHECK_THROWS_AS(it.bound.leave("news", throws), std::system_error);
        it.connected.send(for_group("news", "x"), throws);
        it.connected.send(for_group("sports", "y"), throws);
        CHECK(it.bound.recv(throws) == "y");
        message named;
        CHECK(named.set_group(std::string(256, 'g')).error() == std::errc::invalid_argument);
        CHECK(named.set_group(std::string("a\0b", 3)).error() == std::errc::invalid_argument);
        CHECK(named.group() == std::string_view());
    }

    TEST_CASE("scatter, gather and channel") {
        joined<gather_socket, scatter_socket> pipeline;
        pipeline.connected.send("scattered", throws);
        CHECK(pipeline.bound.recv(throws) == "scattered");
        joined<channel_socket, channel_socket> channel;
        channel.connected.send("ping", throws);
        CHECK(channel.bound.recv(throws) == "ping");
        channel.bound.send(message{"pong"}, throws);
        CHECK(channel.connected.recv(throws) == "pong");
    }

    TEST_CASE("datagrams have an address and a content") {
        context owner;
        dgram_socket server{owner};
        server.bind("udp://127.0.0.1:*", throws);
        dgram_socket client{owner};
        client.bind("udp://127.0.0.1:*", throws);
        const std::string address = server.last_endpoint(throws).substr(std::strlen("udp://"));
        client.send(multipart{address, "question"}, throws);
        multipart request = server.recv_multipart(throws);
        REQUIRE(request.size() == 2);
        CHECK(request[1] == "question");
        server.send(std::move(request), throws); // To the address that it came from.
        CHECK(client.recv_multipart(throws)[1] == "question");

        dish_socket dish{owner};
        dish.join("g", throws);
        dish.bind("udp://127.0.0.1:*", throws);
        radio_socket radio{owner};
        radio.connect(dish.last_endpoint(throws), throws);
        CHECK(radio.send(for_group("g", "over udp")).has_value());
        CHECK(dish.recv(throws) == "over udp");
    }

    TEST_CASE("peers know each other by numbers") {
        context owner;
        peer_socket one{owner};
        one.bind("tcp://127.0.0.1:*", throws);
        peer_socket other{owner};
        CHECK(other.connect_peer("nonsense").error() == std::errc::invalid_argument);
        CHECK(other.connect_peer(std::string("tcp://\0", 7)).error() ==
              std::errc::invalid_argument);
        CHECK_THROWS_AS(other.connect_peer("nonsense", throws), std::system_error);
        const std::uint32_t number = other.connect_peer(one.last_endpoint(throws), throws);
        message asked{"ping"};
        asked.set_routing_id(number, throws);
        other.send(std::move(asked), throws);
        message got = one.recv(throws);
        CHECK(got == "ping");
        one.send(std::move(got), throws); // As it was received, it goes back to its sender.
        got = other.recv(throws);
        CHECK(got == "ping");
        CHECK(got.routing_id() == number);
    }

    TEST_CASE("a router tells whether a peer has room") {
        joined<router_socket, dealer_socket> it;
        CHECK(it.bound.can_send_to("nobody").error() == std::errc::host_unreachable);
        it.connected.send("x", throws);
        const multipart got = it.bound.recv_multipart(throws);
        CHECK(it.bound.can_send_to(got[0], throws));
    }

    TEST_CASE("threads share a server, until one of them closes it") {
        context owner;
        server_socket server{owner};
        server.bind("inproc://shared", throws);
        std::vector<std::jthread> workers;
        workers.reserve(3);
        for (int count = 0; count < 3; ++count) {
            workers.emplace_back([&server] {
                while (auto request = server.recv()) {
                    CHECK(server.send(std::move(*request)).has_value());
                }
            });
        }
        client_socket client{owner};
        client.connect("inproc://shared", throws);
        for (int count = 0; count < 300; ++count) {
            client.send("x", throws);
            CHECK(client.recv(throws) == "x");
        }
        server.close();
        workers.clear();
        CHECK(server.recv().error() == std::errc::not_a_socket);
    }
}

#endif
