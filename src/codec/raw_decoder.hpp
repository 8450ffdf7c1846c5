// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "codec/decoder.hpp"

namespace zlink::codec {

/// Makes messages from the bytes of a peer without ZMTP: one per read, of at most
/// limits::raw_message_bytes_max.
class raw_decoder final : public decoder {
public:
    std::size_t prepare(std::span<std::byte> scratch, std::span<iovec, 2> parts) override;
    result<void> received(std::size_t bytes, inbound& into) override;
    result<void> feed(std::span<const std::byte> data, inbound& into) override;

private:
    std::byte* scratch_ = nullptr;
};

} // namespace zlink::codec
