// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/byte_order.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace zlink::socket {

/// A message from or to a peer of a STREAM, for calls that receive or send several, or a received
/// event. Has the memory layout of zlink_stream_message_t.
struct [[gnu::may_alias]] stream_message {
    static constexpr int text = 256;     ///< Text over WebSocket. Otherwise the payload is binary.
    static constexpr int came = 512;     ///< Connect event; the payload is details of the peer.
    static constexpr int went = 1024;    ///< Disconnect event; the payload is the reason.
    static constexpr int request = 2048; ///< The payload is an HTTP request.

    std::array<std::byte, 4> routing_id;
    int flags; ///< The above.
    const std::byte* data;
    std::size_t bytes;
};

/// A routing id as it is sent and received: big-endian.
inline std::array<std::byte, 4> routing_id_bytes(std::uint32_t id) noexcept {
    std::array<std::byte, 4> data;
    store_big_endian(data.data(), id);
    return data;
}

/// The routing id as one number: a byte array is compared byte by byte.
inline std::uint32_t peer_of(const stream_message& message) noexcept {
    return std::bit_cast<std::uint32_t>(message.routing_id);
}

/// Whether a message has no flags, and the same peer as `other`.
inline bool is_plain_to(const stream_message& message, const stream_message& other) noexcept {
    return (static_cast<std::uint32_t>(message.flags) | (peer_of(message) ^ peer_of(other))) == 0;
}

} // namespace zlink::socket
