// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstdint>

namespace zlink {

/// Makes fork(2) wait while a thread is in a section that a child process could not continue:
/// inside another library, whose locks would never be released in the child, or between opening a
/// descriptor and recording it.
///
/// A thread that holds the gate must not wait for another thread that may want it.
///
/// @threads Any.
class fork_gate {
public:
    /// Delays forks while it exists. May be nested.
    /// @blocks  While another thread passes.
    class hold {
    public:
        hold() noexcept;
        hold(const hold&) = delete;
        hold& operator=(const hold&) = delete;
        ~hold();
    };

    /// Registers a lock that each fork takes, so that the child finds the guarded data consistent.
    /// It is taken after the gate is shut, since a thread that holds the gate may want it. To be
    /// called while the library is loaded.
    /// @param lock, unlock     Called in the process that forks.
    /// @param unlock_in_child  Called in the child.
    /// @return true
    static bool take_lock(void (*lock)(), void (*unlock)(), void (*unlock_in_child)()) noexcept;

    /// Waits until every other thread has left the section that it was in when this was called.
    /// @blocks  At most limits::fork_wait_max.
    static void pass() noexcept;

    /// The number of forks between the process that loaded the library and this one; 0 in the
    /// former.
    static std::uint32_t generation() noexcept;
};

} // namespace zlink
