// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "codec/encoder.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>

namespace zlink::codec {

/// Writes the bodies of a rope's frames, without headers, to a peer without ZMTP. A body is
/// released only after it was written completely.
class raw_encoder final : public encoder {
public:
    std::size_t gather(outbound& from, std::span<iovec> parts) override;
    [[nodiscard]] bool advance(outbound& from, std::size_t bytes) override;

private:
    std::uint64_t begun_bytes_ = 0; ///< Bytes of the next body already written.
};

} // namespace zlink::codec
