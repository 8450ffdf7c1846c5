// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"
#include "watcher.hpp"
#include "zmtp_peer.hpp"

// Peers that send more than they may.

using namespace api_test;

namespace {

constexpr std::size_t mebibyte = std::size_t{1024} * 1024;

/// A frame of one mebibyte.
std::string large_frame(bool more) {
    return data({more ? 3 : 2, 0, 0, 0, 0, 0, 0x10, 0, 0}) + std::string(mebibyte, 'x');
}

} // namespace

TEST_CASE("maxmsgsize: a peer that never ends a message is disconnected, and others are served") {
    const context owner;
    socket pull{owner, ZLINK_PULL};
    pull.set(ZLINK_RCVHWM, 0);
    const std::int64_t frame_bytes_max = mebibyte;
    REQUIRE(zlink_setsockopt(pull, ZLINK_MAXMSGSIZE, &frame_bytes_max, sizeof frame_bytes_max) ==
            0);
    const std::string endpoint = pull.bind(transport::tcp);
    socket honest{owner, ZLINK_PUSH};
    honest.connect(endpoint);
    zmtp_peer hostile{endpoint};
    hostile.shake_hands("PUSH");

    const std::string frame = large_frame(true);
    int count = 0;
    while (hostile.send(frame)) {
        // Plus the bytes that the kernel holds.
        REQUIRE(++count < 64 + 64);
    }

    CHECK(count >= 63);
    REQUIRE(honest.send("served") == ok);
    CHECK(pull.recv() == message{"served"});
}

TEST_CASE("maxmsgsize: without it a message of any size arrives") {
    const context owner;
    socket pull{owner, ZLINK_PULL};
    zmtp_peer patient{pull.bind(transport::tcp)};
    patient.shake_hands("PUSH");

    const std::string frame = large_frame(true);
    for (int count = 0; count < 65; ++count) {
        REQUIRE(patient.send(frame));
    }
    REQUIRE(patient.send(large_frame(false)));

    CHECK(pull.recv().frames.size() == 66);
}

TEST_CASE("maxmsgsize: a peer that sends a larger frame is disconnected") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket pull{owner, ZLINK_PULL};
        const std::int64_t frame_bytes_max = 10;
        REQUIRE(zlink_setsockopt(pull, ZLINK_MAXMSGSIZE, &frame_bytes_max,
                                 sizeof frame_bytes_max) == 0);
        const std::string endpoint = pull.bind(transport::tcp);
        socket push{owner, ZLINK_PUSH};
        push.connect(endpoint);
        REQUIRE(push.send("0123456789") == ok);
        CHECK(pull.recv() == message{"0123456789"});

        watcher of_push{owner, push, ZLINK_EVENT_DISCONNECTED};
        REQUIRE(push.send("0123456789a") == ok);

        of_push.await(ZLINK_EVENT_DISCONNECTED);
        CHECK(pull.recv_error() == EAGAIN);
    }
}
