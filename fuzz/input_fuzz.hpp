// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "fuzz.hpp"
#include "testing/scanned_input.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace zlink::fuzz {

/// The bytes of a STREAM's peer must decode the same in one read and in reads of at most
/// `read_bytes_max` bytes, and no message may exceed the limit.
inline void require_the_same(const std::string& sent, testing::scanned_input& at_once,
                             testing::scanned_input& in_pieces, std::size_t read_bytes_max,
                             std::uint64_t message_bytes_max) {
    const auto first = at_once.read(sent);
    const auto second = in_pieces.read(sent, read_bytes_max);
    require(at_once.arrived() == in_pieces.arrived());
    require(at_once.pings() == in_pieces.pings());
    require(static_cast<bool>(first) == static_cast<bool>(second));
    require(first || first.error() == second.error());
    for (const std::string& each : at_once.arrived()) {
        require(each.starts_with("close:") || each.size() <= message_bytes_max + 2);
    }
}

} // namespace zlink::fuzz
