// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstdint>

namespace zlink {

// Descriptors by which one thread wakes another that waits with poll(2) or epoll_wait(2):
// eventfd(2). None of these functions is a cancellation point, unlike read(2) and write(2), so that
// they can be called by noexcept functions and with a lock held.
//
// @threads Any.

/// Opens one that is not readable, and records it (own_descriptors.hpp). close_descriptor() closes
/// it.
/// @return The descriptor, or -1 with errno set.
int open_event() noexcept;

/// Makes it readable.
void signal_event(int descriptor) noexcept;

/// Makes it unreadable.
/// @return How often it was signalled since the last time.
std::uint64_t take_signals(int descriptor) noexcept;

} // namespace zlink
