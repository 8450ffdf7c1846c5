// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <array>
#include <cstddef>

namespace zlink::socket {

/// A message from or to a peer of a STREAM, for calls that receive or send several, or a received
/// event. Has the memory layout of zlink_stream_message_t.
struct [[gnu::may_alias]] stream_message {
    static constexpr int text = 256;  ///< Text over WebSocket. Otherwise the payload is binary.
    static constexpr int came = 512;  ///< Connect event; the payload is details of the peer.
    static constexpr int went = 1024; ///< Disconnect event; the payload is the reason.

    std::array<std::byte, 4> routing_id;
    int flags; ///< The above.
    const std::byte* data;
    std::size_t bytes;
};

} // namespace zlink::socket
