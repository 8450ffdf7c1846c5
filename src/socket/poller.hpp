// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "pipe/mailbox.hpp"

#include <csignal>
#include <cstddef>
#include <span>
#include <vector>

namespace zlink::socket {

class socket;

/// A socket or a descriptor, and the events to wait for.
struct poll_item {
    socket* asked = nullptr; ///< If null, `descriptor` is used.
    int descriptor = -1;
    short wanted = 0; ///< POLLIN, POLLOUT, POLLERR, POLLPRI, as in poll(2).
    short found = 0;  ///< Set.
    /// POLLOUT: there is room for a message that begins with this frame; null: for some message.
    const std::vector<std::byte>* first_frame = nullptr;
};

/// Waits until one of `items` is ready.
///
/// @param items    Sockets that several threads use have a socket_visit.
/// @param signals  Those that are blocked while it waits; null: as outside.
/// @blocks  At most until `until`.
/// @return  The number of ready items; 0 if `until` has passed.
/// @error terminated   The context of one of the sockets was shut down.
/// @error interrupted  A signal handler ran.
/// @error not_a_socket Another thread closes one of the sockets.
result<int> poll(std::span<poll_item> items, pipe::deadline until,
                 const sigset_t* signals = nullptr);

} // namespace zlink::socket
