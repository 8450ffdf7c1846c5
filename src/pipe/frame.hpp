// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/block.hpp"
#include "wire/zmtp/frame.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace zlink::pipe {

/// One frame at the front of a message queue; a view that is valid until the frame is popped, or,
/// if it is lent, until the lending ends.
struct frame {
    std::byte* body;
    std::uint64_t body_bytes;
    std::uint64_t wire_bytes; ///< Header and body.
    std::uint8_t flags;       ///< wire::zmtp flags, and flag_text; 0 for a control object.
    block** reference;        ///< Where the chunk keeps its reference to the body; null if inlined.
    bool control;             ///< Not a frame: `*reference` is an object from the other end.

    bool more() const noexcept { return (flags & wire::zmtp::flag_more) != 0; }
    bool command() const noexcept { return (flags & wire::zmtp::flag_command) != 0; }

    /// The referenced block; the caller takes over the queue's reference.
    block* take_reference() const noexcept { return std::exchange(*reference, nullptr); }

    /// Drops the referenced block, if there is one, before the queue does.
    void drop_reference() const noexcept {
        if (reference != nullptr) [[unlikely]] {
            take_reference()->drop();
        }
    }
};

/// A short frame of ZMTP that was copied into a segment; a view, as `frame` is.
struct short_frame {
    const std::byte* body;
    std::size_t body_bytes;
    bool more;
};

} // namespace zlink::pipe
