// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <array>
#include <cstddef>

namespace zlink::socket {

/// A message from or to a peer of a STREAM, where several are received or sent at once, or an event
/// that was received. In memory the same as zlink_stream_message_t.
struct [[gnu::may_alias]] stream_message {
    static constexpr int text = 256;  ///< Over WebSocket. Else the payload is binary.
    static constexpr int came = 512;  ///< The event that the peer has come; what is known of it.
    static constexpr int went = 1024; ///< The event that it has gone; why.

    std::array<std::byte, 4> routing_id;
    int flags; ///< The above.
    const std::byte* data;
    std::size_t bytes;
};

} // namespace zlink::socket
