// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstdint>

namespace zlink {

/// Keeps fork(2) waiting while a thread is where a child process could not go on from: inside
/// another library, whose locks nobody would ever release in the child, or between opening a
/// descriptor and taking note of it.
///
/// A thread that holds the gate must not wait for another one that may want it.
///
/// @threads Any.
class fork_gate {
public:
    /// Keeps the gate from being passed. May be nested.
    /// @blocks  While another thread passes.
    class hold {
    public:
        hold() noexcept;
        hold(const hold&) = delete;
        hold& operator=(const hold&) = delete;
        ~hold();
    };

    /// Has a lock taken by each fork, so that a child finds whole what it guards: behind the gate,
    /// since a thread that holds the gate may want it. To be called while the library is loaded.
    /// @param lock, unlock     Of the process that forks.
    /// @param unlock_in_child  Of the child.
    /// @return true
    static bool take_lock(void (*lock)(), void (*unlock)(), void (*unlock_in_child)()) noexcept;

    /// Waits until no other thread is where it was when this was called.
    /// @blocks  At most limits::fork_wait_max.
    static void pass() noexcept;

    /// How often the process, or one that it was forked from, has been forked since the library was
    /// loaded: 0 in a process that is nobody's child.
    static std::uint32_t generation() noexcept;
};

} // namespace zlink
