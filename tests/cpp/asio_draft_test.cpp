// SPDX-License-Identifier: MPL-2.0
//
// libzmq's draft types with Boost.Asio, in a build with them.
#include <zlink/asio.hpp>

#ifdef ZLINK_BUILD_DRAFT_API

#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <doctest/doctest.h>
#include <string>

namespace {

namespace net = boost::asio;
namespace za = zlink::asio;
using namespace std::chrono_literals;
using zlink::message;
using zlink::throws;

template<class Socket>
concept can_receive_frames = requires(Socket& by) {
    by.async_receive_multipart(net::deferred);
};
template<class Socket>
concept can_send_frames = requires(Socket& by) {
    by.async_send(zlink::multipart{}, net::deferred);
};
static_assert(can_receive_frames<za::dealer_socket> && !can_receive_frames<za::client_socket>);
static_assert(can_send_frames<za::dealer_socket> && !can_send_frames<za::client_socket>);

/// A SERVER with two clients, one of which is full.
struct full_client {
    full_client() : server(loop, owner), full(loop, owner), other(loop, owner) {
        for (auto* each : {&full, &other}) {
            (*each)->set(zlink::option::linger, 0ms, throws);
            (*each)->set(zlink::option::rcvhwm, 1, throws);
        }
        server->set(zlink::option::linger, 0ms, throws);
        server->set(zlink::option::sndhwm, 1, throws);
        server->bind("inproc://server", throws);
        full->connect("inproc://server", throws);
        full->send("I am full", throws);
        full_number = server->recv(throws).routing_id();
        other->connect("inproc://server", throws);
        other->send("I am not", throws);
        other_number = server->recv(throws).routing_id();
        while (server->send(for_peer(full_number, "x"), zlink::flags::dont_wait)) {
            ++sent;
        }
    }

    static message for_peer(std::uint32_t number, const char* content) {
        message made{content};
        made.set_routing_id(number, throws);
        return made;
    }

    zlink::context owner;
    net::io_context loop;
    za::server_socket server;
    za::client_socket full;
    za::client_socket other;
    std::uint32_t full_number = 0;
    std::uint32_t other_number = 0;
    int sent = 0;
};

} // namespace

TEST_SUITE("asio draft") {

    TEST_CASE("a server waits until the client to which it sends has room") {
        full_client it;
        REQUIRE(it.sent > 0);
        std::string order;
        it.server.async_send(full_client::for_peer(it.full_number, "at last"),
                             [&](const za::error_code& failed, std::size_t bytes) {
                                 CHECK(!failed);
                                 CHECK(bytes == 7);
                                 order += "sent ";
                             });
        // Meanwhile the server serves its other client.
        it.server->send(full_client::for_peer(it.other_number, "for you"), throws);
        it.other.async_receive([&](const za::error_code& failed, const message& got) {
            CHECK(!failed);
            CHECK(got == "for you");
            order += "other ";
            for (int count = 0; count < it.sent; ++count) {
                CHECK(it.full->recv(throws) == "x");
            }
            it.full.async_receive([&](const za::error_code& then_failed, const message& last) {
                CHECK(!then_failed);
                CHECK(last == "at last");
                order += "received ";
            });
        });
        it.loop.run_for(20s);
        CHECK((order == "other sent received " || order == "other received sent "));
    }

    TEST_CASE("a dish receives what it has joined") {
        zlink::context owner;
        net::io_context loop;
        za::radio_socket radio{loop, owner};
        za::dish_socket dish{loop, owner};
        dish->join("g", throws);
        radio->bind("inproc://radio", throws);
        dish->connect("inproc://radio", throws);
        std::string got;
        dish.async_receive([&](const za::error_code& failed, const message& heard) {
            CHECK(!failed);
            got = std::string(heard.group()) + ": " + std::string(heard.text());
        });
        radio->send("no group", throws);
        message said{"said"};
        said.set_group("g", throws);
        radio.async_send(std::move(said), [](const za::error_code& failed, std::size_t bytes) {
            CHECK(!failed);
            CHECK(bytes == 4);
        });
        loop.run_for(20s);
        CHECK(got == "g: said");
    }
}

#endif
