// SPDX-License-Identifier: MPL-2.0
//
// The properties of a message that describe the peer that sent it.
#include "zap_handler.hpp"
#include "zmtp_peer.hpp"

#include "fixture.hpp"

using namespace api_test;
using namespace std::string_literals;

namespace {

/// Properties of a message that its peer cannot set.
constexpr std::array own_names{"User-Id",     "Peer-Address", "Tls-Version", "Tls-Cipher",
                               "Tls-Resumed", "Tls-Alpn",     "Tls-Subject", "tls-subject",
                               "Tls-Later",   "Path",         "Origin",      "Subprotocol",
                               "Extensions",  "Detail",       "Reason",      "DETAIL"};

std::string property(frame& of, const char* name) {
    const char* const found = zlink_msg_gets(of.get(), name);
    return found != nullptr ? found : "(none)";
}

std::string on_wire(const std::string& name, const std::string& value) {
    return data({static_cast<int>(name.size())}) + name +
           data({0, 0, 0, static_cast<int>(value.size())}) + value;
}

} // namespace

TEST_CASE("metadata: a message tells what its peer said of itself, and where it is") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket pull{owner, ZLINK_PULL};
        zmtp_peer peer{pull.bind(transport::tcp)};
        // Without I/O threads, the socket does the handshake in its receive call.
        std::jthread shaking{[&] {
            peer.shake_hands("PUSH", on_wire("Identity", "name") + on_wire("X-Colour", "blue"));
            peer.send_frame(0, "x");
        }};
        frame got;
        REQUIRE(zlink_msg_recv(got.get(), pull, 0) == 1);

        CHECK(property(got, "Socket-Type") == "PUSH");
        CHECK(property(got, "Peer-Address") == "127.0.0.1");
        CHECK(property(got, "X-Colour") == "blue");
        CHECK(property(got, "Routing-Id") == "name");
        CHECK(property(got, "X-Size") == "(none)");
    }
}

TEST_CASE("metadata: a peer cannot set the properties that the library sets") {
    const context owner;
    socket pull{owner, ZLINK_PULL};
    zmtp_peer peer{pull.bind(transport::tcp)};
    std::string claims;
    for (const char* const name : own_names) {
        claims += on_wire(name, "claimed");
    }
    peer.shake_hands("PUSH", claims + on_wire("X-Origin", "allowed"));
    REQUIRE(peer.send_frame(0, "x"));
    frame got;
    REQUIRE(zlink_msg_recv(got.get(), pull, 0) == 1);

    for (const char* const name : own_names) {
        CAPTURE(name);
        CHECK(property(got, name) == (name == "Peer-Address"s ? "127.0.0.1" : "(none)"));
    }
    CHECK(property(got, "X-Origin") == "allowed");
}

TEST_CASE("metadata: a ZAP handler sets the user, and no property that the library sets") {
    const context owner;
    std::string claims;
    for (const char* const name : own_names) {
        claims += on_wire(name, "claimed");
    }
    zap_handler handler{owner, [&](const message&) {
                            return std::vector<std::string>{"200", "", "joe",
                                                            claims + on_wire("X-Group", "players")};
                        }};
    socket pull{owner, ZLINK_PULL};
    pull.set(ZLINK_ZAP_DOMAIN, "any");
    socket push{owner, ZLINK_PUSH};
    push.connect(pull.bind(transport::tcp));
    REQUIRE(push.send("x") == ok);
    frame got;
    REQUIRE(zlink_msg_recv(got.get(), pull, 0) == 1);

    for (const char* const name : own_names) {
        CAPTURE(name);
        CHECK(property(got, name) == (name == "Peer-Address"s ? "127.0.0.1"
                                      : name == "User-Id"s    ? "joe"
                                                              : "(none)"));
    }
    CHECK(property(got, "X-Group") == "players");
}

TEST_CASE("metadata: a message tells where its peer was, also if that reset the connection") {
    // Without I/O threads, the socket accepts the connection after all of this has happened.
    const context owner{0};
    socket pull{owner, ZLINK_PULL};
    pull.set(ZLINK_TCP_ACCEPT_FILTER, "127.0.0.1");
    zmtp_peer peer{pull.bind(transport::tcp)};
    REQUIRE(peer.send(data({0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0}) + "NULL" +
                      std::string(48, '\0')));
    REQUIRE(peer.send_frame(4, data({5}) + "READY" + on_wire("Socket-Type", "PUSH")));
    REQUIRE(peer.send_frame(0, "x"));
    peer.reset();
    frame got;
    REQUIRE(zlink_msg_recv(got.get(), pull, 0) == 1);

    CHECK(property(got, "Peer-Address") == "127.0.0.1");
}
