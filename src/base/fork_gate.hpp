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

    /// Waits until no other thread is where it was when this was called.
    /// @blocks  At most limits::fork_wait_max.
    static void pass() noexcept;

    /// How often the process, or one that it was forked from, has been forked since the library was
    /// loaded: 0 in a process that is nobody's child.
    static std::uint32_t generation() noexcept;
};

} // namespace zlink
