// SPDX-License-Identifier: MPL-2.0
#include "session/raw_protocol.hpp"

#include "base/limits.hpp"
#include "codec/raw_decoder.hpp"
#include "codec/raw_encoder.hpp"
#include "session/connection.hpp"
#include "session/notices.hpp"
#include "session/session.hpp"
#include "wire/zmtp/frame.hpp"

#include <array>
#include <cstdint>
#include <new>

namespace zlink::session {

reading raw_protocol::make_reading() {
    return {.decoder = std::make_unique<codec::raw_decoder>(),
            .commands = this,
            .body_bytes_max = wire::zmtp::body_bytes_limit,
            .unfinished_bytes_max = UINT64_MAX};
}

std::unique_ptr<codec::encoder> raw_protocol::make_encoder() {
    return std::make_unique<codec::raw_encoder>();
}

void raw_protocol::announce_peer() {
    over_.announce(std::unique_ptr<pipe::peer_info>(new pipe::peer_info));
}

/// Notifies the socket of the new peer by an empty message.
std::span<const std::byte> raw_protocol::first_frame() const noexcept {
    static constexpr std::array<std::byte, 2> empty_message{};
    return over_.options().stream_notify ? empty_message : std::span<const std::byte>{};
}

/// Notifies the socket of the peer's end, again by an empty message. For a peer that reconnects
/// repeatedly, only as long as the queue has room for it, or for more bytes: without room the end
/// itself lets the rest of a connection in.
void raw_protocol::announce_departure(errc) noexcept {
    if (!over_.options().stream_notify || !over_.owner().is_open()) {
        return;
    }
    over_.input().drop_unfinished();
    pipe::message_queue& queue = over_.end().out;
    if (over_.is_dialing() && !queue.has_credit() &&
        queue.untaken().bytes >= limits::pipe_bytes_max) {
        return;
    }
    try {
        queue.push_copy(nullptr, 0, 0);
        over_.end().finish_message();
        count_departure(over_);
    } catch (const std::bad_alloc&) {
        // The socket learns of it when it sends.
    }
}

} // namespace zlink::session
