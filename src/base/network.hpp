// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace zlink {

/// A range of IP addresses: those whose first bits are given.
struct network {
    std::array<std::byte, 16> address{}; ///< In network order; of IPv4 the first 4 count.
    std::uint8_t address_bytes = 4;      ///< 4 or 16.
    std::uint8_t mask_bits = 32;         ///< At most 8 * address_bytes.

    /// Whether `asked`, 4 or 16 bytes in network order, lies in it. An IPv4 address that is
    /// written as IPv6 (::ffff:192.0.2.1) is the IPv4 address.
    bool contains(std::span<const std::byte> asked) const noexcept;
};

/// Decodes "192.0.2.0/24", "2001:db8::/32", or an address alone. No name is resolved.
/// @param may_be_v6  Whether an IPv6 network passes.
/// @error invalid_argument  It is no network.
result<network> decode_network(std::string_view text, bool may_be_v6);

} // namespace zlink
