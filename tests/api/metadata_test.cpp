// SPDX-License-Identifier: MPL-2.0
//
// What a message tells of the peer that sent it.
#include "zmtp_peer.hpp"

#include "fixture.hpp"

using namespace api_test;

namespace {

std::string property(frame& of, const char* name) {
    const char* const found = zlink_msg_gets(of.get(), name);
    return found != nullptr ? found : "(none)";
}

std::string on_wire(const std::string& name, const std::string& value) {
    return octets({static_cast<int>(name.size())}) + name +
           octets({0, 0, 0, static_cast<int>(value.size())}) + value;
}

} // namespace

TEST_CASE("metadata: a message tells what its peer said of itself, and where it is") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket pull{owner, ZLINK_PULL};
        zmtp_peer peer{pull.bind(transport::tcp)};
        // Driven by its caller, the socket shakes hands when it is asked to receive.
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

TEST_CASE("metadata: a peer can say neither its address nor who it is") {
    const context owner;
    socket pull{owner, ZLINK_PULL};
    zmtp_peer peer{pull.bind(transport::tcp)};
    peer.shake_hands("PUSH", on_wire("User-Id", "root") + on_wire("Peer-Address", "192.0.2.1"));
    REQUIRE(peer.send_frame(0, "x"));
    frame got;
    REQUIRE(zlink_msg_recv(got.get(), pull, 0) == 1);

    CHECK(property(got, "User-Id") == "(none)");
    CHECK(property(got, "Peer-Address") == "127.0.0.1");
}
