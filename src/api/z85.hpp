// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace zlink::api {

/// Writes `data` as Z85 (RFC 32/Z85): each four bytes are a big-endian number, written as five
/// digits of base 85. The text has no terminating null.
///
/// @param text  Has room for 5 characters for each 4 bytes.
/// @error invalid_argument  The number of bytes is not divisible by 4.
[[nodiscard]] result<void> encode_z85(std::span<const std::uint8_t> data, char* text) noexcept;

/// Reads Z85.
///
/// @param data  Has room for 4 bytes for each 5 characters; undefined after failure.
/// @error invalid_argument  The length is 0 or not divisible by 5, a character is not a digit, or
///                          five digits exceed 2^32 - 1.
[[nodiscard]] result<void> decode_z85(std::string_view text, std::uint8_t* data) noexcept;

} // namespace zlink::api
