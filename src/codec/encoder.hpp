// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "codec/outbound.hpp"

#include <cstddef>
#include <span>
#include <sys/uio.h>

namespace zlink::codec {

/// What stands between an `outbound` and a stream where the peer needs other bytes than a rope
/// holds; the contract of the classes whose names end in _encoder. Lasts as long as a connection.
///
/// @threads The connection's.
class encoder {
public:
    virtual ~encoder() = default;

    /// Describes what is to be written next: what is encoded already, and otherwise what the frames
    /// become that are next in the rope, up to a control object.
    /// @return The parts filled in; 0 if there is nothing to write.
    /// @throws std::bad_alloc
    virtual std::size_t gather(outbound& from, std::span<iovec> parts) = 0;

    /// Notes that the first `bytes` bytes of what gather() described were written.
    /// @return Whether the writer of the queue must be woken.
    [[nodiscard]] virtual bool advance(outbound& from, std::size_t bytes) = 0;

    /// Whether nothing is encoded that is not written. If something is, gather() leaves the rope
    /// alone.
    virtual bool is_empty() const noexcept { return true; }

    /// Whether part of what is encoded was written, and not all.
    virtual bool is_begun() const noexcept { return false; }

    /// Whether commands of the connection's own have to pass through here, by append_command().
    virtual bool takes_commands() const noexcept { return false; }

    /// Sends a command, unless too many wait that the peer has not read.
    /// @throws std::bad_alloc
    virtual void append_command(std::span<const std::byte> body) { static_cast<void>(body); }

    /// The connection is gone. Lets go of the frames that were written whole.
    /// @param wake_writer  Set if the writer of the queue must be woken.
    /// @return Whether a frame was written in part.
    virtual bool abandon(outbound& from, bool& wake_writer) noexcept {
        static_cast<void>(from);
        static_cast<void>(wake_writer);
        return false;
    }

    /// Gives memory back that holds nothing.
    virtual void trim() noexcept {}
};

} // namespace zlink::codec
