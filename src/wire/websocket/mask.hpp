// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace zlink::wire::websocket {

/// The masking key of a client's payload (RFC 6455, 5.3): octet i is sent XORed with octet i % 4 of
/// the key. Zeros change nothing.
using mask_key = std::array<std::byte, 4>;

/// Masks octets, or unmasks them, which is the same, in place.
///
/// @param data   Of any length and alignment: a payload, or a piece of it.
/// @param phase  The number of octets of the payload before `data`, modulo 4.
/// @return The phase of the octets that follow.
unsigned mask(std::span<std::byte> data, const mask_key& key, unsigned phase = 0) noexcept;

/// As mask(), but writes the result to another place.
///
/// @param out  Room for as many octets; equal to `data`, or disjoint from it.
unsigned copy_masked(std::byte* out, std::span<const std::byte> data, const mask_key& key,
                     unsigned phase = 0) noexcept;

} // namespace zlink::wire::websocket
