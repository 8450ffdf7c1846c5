// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/network.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zlink {

/// The proxies that are believed when they say whose request they pass on.
struct trusted_proxies {
    std::vector<network> networks;
    bool has_unix = false; ///< Those that connect over ipc.

    bool is_empty() const noexcept { return networks.empty() && !has_unix; }

    /// @param host  4 or 16 bytes in network order; none: a peer over ipc.
    bool contains(std::span<const std::byte> host) const noexcept;
};

/// Decodes a list with commas between its parts: addresses, prefixes as decode_network() takes
/// them, and "unix".
/// @param refused  Set to the part that is none of these, a part of `list`.
/// @error invalid_argument  Then `refused` is set, also to an empty part.
/// @throws std::bad_alloc
result<trusted_proxies> decode_trusted_proxies(std::string_view list, std::string_view& refused);

} // namespace zlink
