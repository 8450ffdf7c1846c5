// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/fork_gate.hpp"

namespace zlink {

// The descriptors of the library's own: connections, listeners, and what wakes threads. A child
// process that fork(2) makes closes them before fork(2) returns there, so that a connection ends
// for the peer when the parent ends it, and a port is free when the parent gives it up. What the
// application gave us, or was given, is not noted and stays open.
//
// @threads Any.

/// Takes note of `descriptor`, if it is one below limits::noted_descriptors_max. Within the hold
/// under which it was opened.
void note_descriptor(int descriptor) noexcept;

/// It is about to be closed. Within the hold under which it is closed.
void forget_descriptor(int descriptor) noexcept;

/// Opens one and takes note of it.
/// @param open  Gives a descriptor, or -1 and errno.
template<class Open>
int open_descriptor(Open&& open) noexcept {
    const fork_gate::hold held;
    const int opened = open();
    note_descriptor(opened);
    return opened;
}

/// Closes a descriptor, noted or not.
void close_descriptor(int descriptor) noexcept;

} // namespace zlink
