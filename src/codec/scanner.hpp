// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace zlink::codec {

class inbound;

/// Finds the frames of a layout other than ZMTP's in what an `inbound` holds; the contract of the
/// classes whose names end in _scanner. Called for what one read brought, in a few pieces.
///
/// @threads The session's.
class scanner {
public:
    virtual ~scanner() = default;

    /// Looks for whole messages in from.unscanned() and publishes them, if there is credit.
    /// @error protocol_violation  A frame breaks the rules.
    /// @error message_too_large   A message is above the limit.
    /// @throws std::bad_alloc
    virtual result<void> scan(inbound& from) = 0;

    /// Takes note of bytes of a large payload, which from.begin_body() announced, where they lie.
    /// @error  As scan().
    virtual result<void> on_body(std::span<std::byte> data) noexcept = 0;

    /// Writes the header that a large payload, all of which has come, has in the rope.
    /// @param out  Room for any layout's.
    /// @return Its bytes.
    virtual std::size_t write_header(std::byte* out, std::uint64_t body_bytes) noexcept = 0;

    /// Whether nothing is held of a message that is not whole.
    virtual bool is_idle() const noexcept { return true; }
};

} // namespace zlink::codec
