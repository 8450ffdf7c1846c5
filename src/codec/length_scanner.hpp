// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "codec/scanner.hpp"

namespace zlink::codec {

/// Finds the messages of a STREAM on tcp and tls: a length and as many bytes each.
class length_scanner final : public scanner {
public:
    /// @param body_bytes_max  Largest message accepted, in bytes.
    explicit length_scanner(std::uint64_t body_bytes_max) noexcept
        : body_bytes_max_(body_bytes_max) {}

    result<void> scan(inbound& from) override;
    result<void> on_body(std::span<std::byte> data) noexcept override;
    std::size_t write_header(std::byte* out, std::uint64_t body_bytes) noexcept override;

private:
    std::uint64_t body_bytes_max_;
};

} // namespace zlink::codec
