// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "codec/inbound.hpp"

#include <cstddef>
#include <span>
#include <sys/uio.h>

namespace zlink::codec {

/// What stands between a stream and an `inbound` where the peer sends other bytes than a rope
/// holds; the contract of the classes whose names end in _input.
///
/// @threads The session's.
class decoder {
public:
    virtual ~decoder() = default;

    /// Describes where to read to.
    /// @param scratch  Memory that is free until received().
    /// @param parts    Two are enough.
    /// @return The parts filled in.
    /// @throws std::bad_alloc
    virtual std::size_t prepare(std::span<std::byte> scratch, std::span<iovec, 2> parts) = 0;

    /// Takes the first `bytes` bytes of what prepare() offered. Those for which `into` has no
    /// credit wait for resume().
    /// @error protocol_violation  The peer breaks its protocol, or what inbound refuses.
    /// @error message_too_large   A payload is larger than the limit.
    /// @throws std::bad_alloc
    virtual result<void> received(std::size_t bytes, inbound& into) = 0;

    /// Takes bytes that came from elsewhere.
    /// @error  As received().
    virtual result<void> feed(std::span<const std::byte> data, inbound& into) = 0;

    /// Goes on after `into` was blocked, and has looked at what it holds.
    /// @error  As received().
    virtual result<void> resume(inbound& into);

    /// Gives memory back that holds nothing.
    virtual void trim() noexcept;
};

inline result<void> decoder::resume(inbound&) {
    return {};
}

inline void decoder::trim() noexcept {}

} // namespace zlink::codec
