// SPDX-License-Identifier: MPL-2.0
#include "codec/inbound.hpp"

#include "testing/queue_contents.hpp"

#include <doctest/doctest.h>

#include <span>
#include <string>
#include <string_view>

using zlink::errc;
using zlink::result;
using zlink::codec::command_sink;
using zlink::codec::inbound;
using zlink::pipe::message_queue;
using zlink::testing::on_wire;
using zlink::testing::take_all;
namespace zmtp = zlink::wire::zmtp;

namespace {

constexpr std::uint64_t unfinished_bytes_max = 50000;

/// Receives frames of any size, up to a limit on the bytes of a message that does not end.
class receiver final : command_sink {
public:
    result<void> feed(std::string_view data) { return in.feed(std::as_bytes(std::span{data})); }

    message_queue queue{{}};
    inbound in{queue, zmtp::body_bytes_limit, *this, unfinished_bytes_max};

private:
    verdict on_command(std::span<const std::byte>) noexcept override { return verdict::drop; }
};

/// The bytes of frames of `body_bytes`, all but the last with MORE, that come in before the session
/// ends.
std::size_t bytes_accepted(std::size_t body_bytes) {
    receiver from_peer;
    const std::string frame = on_wire(std::string(body_bytes, 'x'), zmtp::flag_more);
    std::size_t accepted = 0;
    while (from_peer.feed(frame)) {
        accepted += frame.size();
        REQUIRE(accepted <= unfinished_bytes_max);
    }
    return accepted;
}

} // namespace

TEST_CASE("inbound: a message without an end may take so many bytes, in frames of any size") {
    for (const std::size_t body_bytes : {0, 1, 255, 256, 8191, 8192, 20000}) {
        CAPTURE(body_bytes);
        const std::size_t frame_bytes = body_bytes + zmtp::header_bytes(body_bytes);

        const std::size_t accepted = bytes_accepted(body_bytes);

        CHECK(accepted == unfinished_bytes_max / frame_bytes * frame_bytes);
    }
}

TEST_CASE("inbound: a message with an end may be larger, and the next one counts anew") {
    receiver from_peer;
    const std::string part(20000, 'p');
    const std::string end(100000, 'e');

    for (int count = 0; count < 3; ++count) {
        CHECK(from_peer.feed(on_wire(part, zmtp::flag_more)));
        CHECK(from_peer.feed(on_wire(part, zmtp::flag_more)));
        CHECK(from_peer.feed(on_wire(end)));
        CHECK(take_all(from_peer.queue) == std::vector<std::string>{"+" + part, "+" + part, end});
    }
}

TEST_CASE("inbound: after a lost connection nothing of the message counts") {
    receiver from_peer;
    const std::string part = on_wire(std::string(20000, 'p'), zmtp::flag_more);

    for (int count = 0; count < 3; ++count) {
        CHECK(from_peer.feed(part));
        CHECK(from_peer.feed(part));
        from_peer.in.reset();
    }
}
