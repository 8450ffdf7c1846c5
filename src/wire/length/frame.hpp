// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/byte_order.hpp"

#include <cstddef>
#include <cstdint>

/// STREAM's messages on tcp and tls: one frame each, no handshake.
namespace zlink::wire::length {

//   +------------+-------------+   size: 4 octets, unsigned, big-endian, counts the body only;
//   | size       | body (size) |         zero is an empty message
//   +------------+-------------+

inline constexpr std::size_t header_bytes = 4;
inline constexpr std::uint64_t body_bytes_limit = 0xffff'ffff;

/// Writes the header of a frame.
/// @param out         Room for header_bytes octets.
/// @param body_bytes  At most body_bytes_limit.
inline void write_header(std::byte* out, std::uint64_t body_bytes) noexcept {
    store_big_endian(out, static_cast<std::uint32_t>(body_bytes));
}

/// The contents of a header.
struct frame_head {
    std::uint64_t body_bytes = 0;

    constexpr std::uint64_t frame_bytes() const noexcept { return header_bytes + body_bytes; }

    bool operator==(const frame_head&) const = default;
};

/// Reads a whole header that read_head has accepted or write_header has written.
inline frame_head read_head_trusted(const std::byte* in) noexcept {
    return {load_big_endian<std::uint32_t>(in)};
}

/// The result of read_head.
enum class head_status : std::uint8_t {
    complete,   ///< A header.
    incomplete, ///< More octets are needed to tell.
    too_large,  ///< The size is above the limit.
};

/// Reads a header that a peer sent. Needs no octet of the body, so a hostile size never makes the
/// caller wait or allocate.
///
/// @param available       Octets at `in`; may be zero.
/// @param body_bytes_max  Largest body accepted, in octets.
/// @param out             Set if the outcome is `complete`, untouched otherwise.
inline head_status read_head(const std::byte* in, std::size_t available,
                             std::uint64_t body_bytes_max, frame_head& out) noexcept {
    if (available < header_bytes) {
        return head_status::incomplete;
    }
    const frame_head head = read_head_trusted(in);
    if (head.body_bytes > body_bytes_max) {
        return head_status::too_large;
    }
    out = head;
    return head_status::complete;
}

} // namespace zlink::wire::length
