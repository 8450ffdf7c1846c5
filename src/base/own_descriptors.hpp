// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/fork_gate.hpp"

namespace zlink {

// The descriptors that the library owns: connections, listeners, and those that wake threads. A
// child process that fork(2) makes closes them before fork(2) returns there, so that a connection
// ends for the peer when the parent closes it, and a port is free when the parent releases it.
// Descriptors that came from the application, or were given to it, are not recorded and stay open.
//
// @threads Any.

/// Records `descriptor`, if it is below limits::noted_descriptors_max. Call within the hold under
/// which it was opened.
void note_descriptor(int descriptor) noexcept;

/// Removes the record. Call within the hold under which the descriptor is closed.
void forget_descriptor(int descriptor) noexcept;

/// Opens a descriptor and records it.
/// @param open  Returns a descriptor, or -1 and errno.
template<class Open>
int open_descriptor(Open&& open) noexcept {
    const fork_gate::hold held;
    const int opened = open();
    note_descriptor(opened);
    return opened;
}

/// Closes a descriptor, recorded or not.
void close_descriptor(int descriptor) noexcept;

} // namespace zlink
