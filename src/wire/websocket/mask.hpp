// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace zlink::wire::websocket {

/// What a client's payload is masked with (RFC 6455, 5.3): octet i goes out XORed with octet i % 4
/// of the key. Zeros change nothing.
using mask_key = std::array<std::byte, 4>;

/// Masks octets, or unmasks them, which is the same, where they lie.
///
/// @param data  Of any length and alignment: a payload, or a piece of it.
/// @param phase   How many octets of the payload come before `data`, modulo 4.
/// @return The phase of the octets that follow.
unsigned mask(std::span<std::byte> data, const mask_key& key, unsigned phase = 0) noexcept;

/// Writes octets masked, or unmasked, to another place, as mask() does in their own.
///
/// @param out  Room for as many; `data` themselves, or no octet of theirs.
unsigned copy_masked(std::byte* out, std::span<const std::byte> data, const mask_key& key,
                     unsigned phase = 0) noexcept;

} // namespace zlink::wire::websocket
