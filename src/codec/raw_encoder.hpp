// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "codec/encoder.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>

namespace zlink::codec {

/// Writes the bodies of the frames in a rope, without their headers, to a peer that speaks no ZMTP.
/// Of a body that was not written whole nothing is let go.
class raw_encoder final : public encoder {
public:
    std::size_t gather(outbound& from, std::span<iovec> parts) override;
    [[nodiscard]] bool advance(outbound& from, std::size_t bytes) override;

private:
    std::uint64_t begun_bytes_ = 0; ///< Bytes that were written of the body that is next.
};

} // namespace zlink::codec
