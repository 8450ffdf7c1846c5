// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/socket_options.hpp"

namespace zlink::transport {

/// Whether an accepted connection passes the filters: over tcp, if its peer's address is in one of
/// ZMQ_TCP_ACCEPT_FILTER's networks; over ipc, if the process at the other end is one of
/// ZMQ_IPC_FILTER_PID, or runs for one of the users of _UID or the groups of _GID. Without filters
/// of its kind every connection passes.
///
/// @blocks  With ZMQ_IPC_FILTER_GID, while the system reads its list of groups.
bool may_stay(int descriptor, const socket_options& options) noexcept;

} // namespace zlink::transport
