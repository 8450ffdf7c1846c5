// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace zlink::crypto {

/// Poly1305 (RFC 8439, 2.5), which authenticates boxes.
namespace poly1305 {

inline constexpr std::size_t key_bytes = 32;
inline constexpr std::size_t tag_bytes = 16;

using key = std::span<const std::byte, key_bytes>;
using tag = std::span<const std::byte, tag_bytes>;

/// Computes the tag of the concatenation of `first` and `rest`. Long content goes through OpenSSL,
/// which uses the widest vectors of the processor; short content, and all if OpenSSL has no
/// Poly1305, through libsodium (docs/adr/0006).
///
/// No branch and no address depends on the key or the content.
void make_tag(key once, std::span<const std::byte> first, std::span<const std::byte> rest,
              std::span<std::byte, tag_bytes> made) noexcept;

/// The libraries that make_tag() chooses between.
enum class library : std::uint8_t { sodium, openssl };

/// Computes the tag as make_tag() does, with the given library.
/// @return Whether the library could: libsodium always can.
bool make_tag_by(library chosen, key once, std::span<const std::byte> first,
                 std::span<const std::byte> rest, std::span<std::byte, tag_bytes> made) noexcept;

/// Whether `claimed` is the tag of `first` and `rest`.
bool verify(key once, std::span<const std::byte> first, std::span<const std::byte> rest,
            tag claimed) noexcept;

} // namespace poly1305

} // namespace zlink::crypto
