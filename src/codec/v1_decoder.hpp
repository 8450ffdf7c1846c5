// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "codec/decoder.hpp"
#include "wire/zmtp/v1_frame.hpp"

#include <array>

namespace zlink::codec {

/// Converts the frames of a ZMTP 1.0 peer to the layout of a rope.
class v1_decoder final : public decoder {
public:
    std::size_t prepare(std::span<std::byte> scratch, std::span<iovec, 2> parts) override;
    result<void> received(std::size_t bytes, inbound& into) override;
    result<void> feed(std::span<const std::byte> data, inbound& into) override;

private:
    result<void> consume(std::span<std::byte> data, inbound& into);

    wire::zmtp::v1_decoder decoder_;
    std::array<std::byte, wire::zmtp::v1_header_bytes_max> held_; ///< Part of a header.
    std::size_t held_bytes_ = 0;
    std::byte* scratch_ = nullptr;
};

} // namespace zlink::codec
