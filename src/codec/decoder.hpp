// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "codec/inbound.hpp"

#include <cstddef>
#include <span>
#include <sys/uio.h>

namespace zlink::codec {

/// Translates between a stream and an `inbound` if the peer's bytes differ from a rope's; the
/// contract of the classes whose names end in _decoder.
///
/// @threads The session's.
class decoder {
public:
    virtual ~decoder() = default;

    /// Describes the buffers to read into.
    /// @param scratch  Memory that is free until received().
    /// @param parts    Filled in, at most two.
    /// @return The number of parts filled in.
    /// @throws std::bad_alloc
    virtual std::size_t prepare(std::span<std::byte> scratch, std::span<iovec, 2> parts) = 0;

    /// Takes the first `bytes` bytes of the buffers from prepare(). Bytes for which `into` has no
    /// credit are held until resume().
    /// @error protocol_violation  The peer breaks its protocol, also as detected by inbound.
    /// @error message_too_large   A payload exceeds the limit.
    /// @throws std::bad_alloc
    virtual result<void> received(std::size_t bytes, inbound& into) = 0;

    /// Takes bytes from another source.
    /// @error  As received().
    virtual result<void> feed(std::span<const std::byte> data, inbound& into) = 0;

    /// Continues after `into` was blocked and has scanned its own bytes.
    /// @error  As received().
    virtual result<void> resume(inbound& into);

    /// Frees unused memory.
    virtual void trim() noexcept;
};

inline result<void> decoder::resume(inbound&) {
    return {};
}

inline void decoder::trim() noexcept {}

} // namespace zlink::codec
