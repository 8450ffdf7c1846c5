// SPDX-License-Identifier: MPL-2.0
#pragma once

namespace zlink::session {

class connection;

/// Counts the end of an accepted connection until the application has received its last message or
/// notice (ZMQ_ROUTER_NOTIFY, ZMQ_DISCONNECT_MSG, ZMQ_STREAM_NOTIFY): beyond
/// limits::unreported_disconnects_max no more connections are accepted. Nothing may be sent to the
/// socket afterwards.
/// @throws std::bad_alloc
void count_departure(connection& over);

} // namespace zlink::session
