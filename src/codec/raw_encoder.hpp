// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "codec/outbound.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>

namespace zlink::codec {

/// Writes the bodies of the frames in an outgoing rope, without their headers, to a peer that
/// speaks no ZMTP. Takes the place of outbound's own gather() and advance(), for one connection: of
/// a body that was not written whole nothing is let go.
///
/// @threads The session's.
class raw_encoder {
public:
    /// As outbound::gather().
    std::size_t gather(outbound& from, std::span<iovec> parts) const;

    /// As outbound::advance().
    [[nodiscard]] bool advance(outbound& from, std::size_t bytes);

private:
    std::uint64_t begun_bytes_ = 0; ///< Octets that were written of the body that is next.
};

} // namespace zlink::codec
