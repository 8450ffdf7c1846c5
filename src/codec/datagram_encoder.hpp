// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "codec/encoder.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>

namespace zlink::codec {

/// Makes a datagram from each message of two frames: a group and a body (wire/datagram.hpp), or an
/// address, which becomes the first part, and the content. Each write sends one datagram. Commands
/// have no place in datagrams, and are dropped.
class datagram_encoder final : public encoder {
public:
    /// @param is_addressed  Whether messages begin with an address, not with a group.
    explicit datagram_encoder(bool is_addressed) noexcept : is_addressed_(is_addressed) {}

    /// The parts are one empty one if there were only commands.
    std::size_t gather(outbound& from, std::span<iovec> parts) override;
    [[nodiscard]] bool advance(outbound& from, std::size_t bytes) override;

private:
    const bool is_addressed_;
    std::uint8_t group_bytes_ = 0;
    std::uint64_t source_bytes_ = 0; ///< Bytes of the rope that gather() has described.
};

} // namespace zlink::codec
