// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace zlink::wire {

// A datagram of RADIO and DISH, as libzmq sends it; no document specifies it:
//
//   +------------------+-------+------+
//   | group length (1) | group | body |
//   +------------------+-------+------+

/// The two parts of such a datagram.
struct group_datagram {
    std::span<const std::byte> group; ///< May be empty, which is a group like any other.
    std::span<const std::byte> body;
};

/// Reads a datagram; nothing if it ends within its group.
constexpr std::optional<group_datagram>
decode_group_datagram(std::span<const std::byte> datagram) noexcept {
    if (datagram.empty()) {
        return std::nullopt;
    }
    const auto group_bytes = std::to_integer<std::size_t>(datagram.front());
    const auto rest = datagram.subspan(1);
    if (rest.size() < group_bytes) {
        return std::nullopt;
    }
    return group_datagram{rest.first(group_bytes), rest.subspan(group_bytes)};
}

} // namespace zlink::wire
