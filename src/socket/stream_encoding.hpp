// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/message_queue.hpp"
#include "socket/peer.hpp"

#include <cstddef>
#include <cstdint>

namespace zlink::socket {

/// The most that a payload of `body_bytes` takes in the queue of a STREAM's peer.
std::uint64_t wire_bytes_max(const peer& to, std::size_t body_bytes) noexcept;

/// The largest payload that the framing of a peer can carry.
std::uint64_t body_bytes_max(const peer& to) noexcept;

/// Whether a payload that is marked as text is UTF-8: otherwise a peer over ws or wss would close
/// its connection.
bool is_valid_text(const outgoing& source) noexcept;

/// Appends a payload for a peer that has credit, framed as its transport does. Takes it over if it
/// may. The caller must end the message.
/// @param referenced_bytes_min  Shorter payloads are copied.
/// @throws std::bad_alloc  Nothing changed.
void push_payload(peer& to, takeable<outgoing> source, std::size_t referenced_bytes_min);
/// The same; the payload stays for other peers.
void push_payload(peer& to, outgoing& source, std::size_t referenced_bytes_min);

/// Copies a short payload to a queue that has room for it. The caller must end the message.
void push_short_payload(peer& to, const std::byte* body, std::size_t bytes) noexcept;

} // namespace zlink::socket
