// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/socket_options.hpp"

namespace zlink::transport {

/// Whether a connection that came in may stay: over tcp, if its peer's address lies in one of
/// ZMQ_TCP_ACCEPT_FILTER's networks; over ipc, if the process at the other end is one of
/// ZMQ_IPC_FILTER_PID, or runs for one of the users of _UID or the groups of _GID. Without filters
/// of its kind every connection may.
///
/// @blocks  With ZMQ_IPC_FILTER_GID, as long as the system's list of groups takes.
bool may_stay(int descriptor, const socket_options& options) noexcept;

} // namespace zlink::transport
