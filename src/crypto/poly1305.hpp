// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace zlink::crypto {

/// Poly1305 (RFC 8439, 2.5), the authentication of boxes.
namespace poly1305 {

inline constexpr std::size_t key_bytes = 32;
inline constexpr std::size_t tag_bytes = 16;

using key = std::span<const std::byte, key_bytes>;
using tag = std::span<const std::byte, tag_bytes>;

/// Makes the tag of `first` and `rest`, one behind the other. Long content goes through OpenSSL,
/// whose vectors are as wide as the processor's; the rest, and all where OpenSSL has none, through
/// libsodium (docs/adr/0006).
///
/// No branch and no address depends on the key or the content.
void make_tag(key once, std::span<const std::byte> first, std::span<const std::byte> rest,
              std::span<std::byte, tag_bytes> made) noexcept;

/// The libraries that make_tag() chooses between.
enum class library : std::uint8_t { sodium, openssl };

/// Makes the tag as make_tag() does, but by that library.
/// @return Whether it could: libsodium always can.
bool make_tag_by(library chosen, key once, std::span<const std::byte> first,
                 std::span<const std::byte> rest, std::span<std::byte, tag_bytes> made) noexcept;

/// Whether `claimed` is the tag of `first` and `rest`.
bool verify(key once, std::span<const std::byte> first, std::span<const std::byte> rest,
            tag claimed) noexcept;

} // namespace poly1305

} // namespace zlink::crypto
