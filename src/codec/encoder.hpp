// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "codec/outbound.hpp"

#include <cstddef>
#include <span>
#include <sys/uio.h>

namespace zlink::codec {

/// Translates between an `outbound` and a stream if the peer needs other bytes than a rope's; the
/// contract of the classes whose names end in _encoder. Lives as long as its connection.
///
/// @threads The connection's.
class encoder {
public:
    virtual ~encoder() = default;

    /// Describes the bytes to write next: those already encoded, otherwise the encoded form of the
    /// next frames in the rope, up to a control object.
    /// @return The number of parts filled in; 0 if there is nothing to write.
    /// @throws std::bad_alloc
    virtual std::size_t gather(outbound& from, std::span<iovec> parts) = 0;

    /// Records that the first `bytes` bytes that gather() described were written.
    /// @return Whether the writer of the queue must be woken.
    [[nodiscard]] virtual bool advance(outbound& from, std::size_t bytes) = 0;

    /// Whether no encoded bytes are unwritten. If there are some, gather() leaves the rope
    /// unchanged.
    virtual bool is_empty() const noexcept { return true; }

    /// Whether the encoded bytes are partly written.
    virtual bool is_begun() const noexcept { return false; }

    /// Whether the connection's own commands must pass through append_command().
    virtual bool takes_commands() const noexcept { return false; }

    /// Sends a command, unless too many unread ones are queued.
    /// @throws std::bad_alloc
    virtual void append_command(std::span<const std::byte> body) { static_cast<void>(body); }

    /// Sends a message of one frame of the connection's own, before anything from the rope.
    /// @throws std::bad_alloc
    virtual void append_message(std::span<const std::byte> body) { static_cast<void>(body); }

    /// The connection is over. Releases the frames that were written completely.
    /// @param wake_writer  Set if the writer of the queue must be woken.
    /// @return Whether a frame was partly written.
    virtual bool abandon(outbound& from, bool& wake_writer) noexcept {
        static_cast<void>(from);
        static_cast<void>(wake_writer);
        return false;
    }

    /// Frees unused memory.
    virtual void trim() noexcept {}
};

} // namespace zlink::codec
