// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace zlink::codec {

class inbound;

/// Finds the frames of a layout other than ZMTP's in the bytes of an `inbound`; the contract of the
/// classes whose names end in _scanner. Called a few times per read.
///
/// @threads The session's.
class scanner {
public:
    virtual ~scanner() = default;

    /// Finds whole messages in from.unscanned() and publishes them, if there is credit.
    /// @error protocol_violation  A frame breaks the rules.
    /// @error message_too_large   A message exceeds the limit.
    /// @throws std::bad_alloc
    virtual result<void> scan(inbound& from) = 0;

    /// Processes bytes of a large payload, which from.begin_body() announced, in place.
    /// @error  As scan().
    virtual result<void> on_body(std::span<std::byte> data) noexcept = 0;

    /// Writes the header that a complete large payload has in the rope.
    /// @param out  Room for the header of any layout.
    /// @return The header's bytes.
    virtual std::size_t write_header(std::byte* out, std::uint64_t body_bytes) noexcept = 0;

    /// Whether no incomplete message is held.
    virtual bool is_idle() const noexcept { return true; }
};

} // namespace zlink::codec
