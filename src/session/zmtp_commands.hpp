// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/socket_options.hpp"
#include "codec/inbound.hpp"
#include "session/reader.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace zlink::session {

class connection;

// Shared by ZMTP over bytes and ZMTP over WebSocket.

/// Handles a command received between messages (37/ZMTP).
/// @param answers_pings  If false, the peer checks the connection by other means.
codec::command_sink::verdict on_zmtp_command(connection& over, std::span<const std::byte> body,
                                             bool answers_pings) noexcept;

/// Limits on the messages of a pattern's peer.
reading zmtp_reading(const socket_options& options, codec::command_sink& commands) noexcept;

/// The largest frame body accepted, in bytes.
std::uint64_t body_bytes_max_of(const socket_options& options) noexcept;

/// The first frame that a socket receives from a peer: for a publisher a subscription to
/// everything, if the peer sends none; with ZMQ_NOTIFY_CONNECT an empty message.
std::span<const std::byte> first_frame_of(const socket_options& options,
                                          bool filters_by_itself) noexcept;

/// Queues the last messages for the socket, which ZMQ_ROUTER_NOTIFY, ZMQ_DISCONNECT_MSG and
/// ZMQ_HICCUP_MSG ask for: protocol::announce_departure().
void tell_end(connection& over) noexcept;

} // namespace zlink::session
