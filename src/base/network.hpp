// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace zlink {

/// A range of IP addresses: all those with a given prefix.
struct network {
    std::array<std::byte, 16> address{}; ///< In network order; of IPv4 the first 4 count.
    std::uint8_t address_bytes = 4;      ///< 4 or 16.
    std::uint8_t mask_bits = 32;         ///< At most 8 * address_bytes.

    /// Whether `asked`, 4 or 16 bytes in network order, is in the range. An IPv4 address in IPv6
    /// form (::ffff:192.0.2.1) is treated as the IPv4 address.
    bool contains(std::span<const std::byte> asked) const noexcept;
};

/// Decodes "192.0.2.0/24", "2001:db8::/32", or a single address. Names are not resolved.
/// @param may_be_v6  Whether an IPv6 network is accepted.
/// @error invalid_argument  Not a network.
result<network> decode_network(std::string_view text, bool may_be_v6);

} // namespace zlink
