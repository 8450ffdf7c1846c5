// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/byte_order.hpp"

#include <cstddef>
#include <cstdint>

namespace zlink::wire::zmtp {

// One frame of ZMTP 2.0 and 3.x (37/ZMTP, "Framing"):
//
//   +-------+-----------+-------------+   size:  1 octet, or 8 if flags has LONG; unsigned,
//   | flags | size      | body (size) |          big-endian, counts the body only
//   +-------+-----------+-------------+   flags: 0x01 MORE, 0x02 LONG, 0x04 COMMAND; the other
//                                                bits are zero; COMMAND never with MORE

inline constexpr unsigned flag_more = 1;         ///< Further frames of the same message follow.
inline constexpr unsigned flag_long = 2;         ///< The size has 8 octets. Set by write_header.
inline constexpr unsigned flag_command = 4;      ///< The body is a command, not part of a message.
inline constexpr unsigned flags_reserved = 0xf8; ///< Must be zero.

inline constexpr std::uint64_t short_body_bytes_max = 255;
inline constexpr std::size_t header_bytes_min = 2;
inline constexpr std::size_t header_bytes_max = 9;

/// A size must leave the top bit of its 8 octets clear.
inline constexpr std::uint64_t body_bytes_limit = ~std::uint64_t{0} >> 1;

/// The size of the header of a frame with `body_bytes` of body in octets: 2 or 9.
constexpr std::size_t header_bytes(std::uint64_t body_bytes) noexcept {
    return body_bytes <= short_body_bytes_max ? header_bytes_min : header_bytes_max;
}

/// Writes the header of a frame of at most short_body_bytes_max octets.
inline void write_short_header(std::byte* out, std::size_t body_bytes, unsigned flags) noexcept {
    store_big_endian(out, static_cast<std::uint16_t>(flags << 8 | body_bytes)); // In one store.
}

/// Writes the header of a frame with the shortest size that can represent `body_bytes`.
///
/// @param out    Room for header_bytes(body_bytes) octets.
/// @param flags  Zero, flag_more or flag_command.
/// @return The octets written.
inline std::size_t write_header(std::byte* out, std::uint64_t body_bytes, unsigned flags) noexcept {
    if (body_bytes <= short_body_bytes_max) [[likely]] {
        write_short_header(out, body_bytes, flags);
        return header_bytes_min;
    }
    out[0] = static_cast<std::byte>(flags | flag_long);
    store_big_endian(out + 1, body_bytes);
    return header_bytes_max;
}

/// The contents of a header.
struct frame_head {
    std::uint64_t body_bytes = 0;
    std::uint8_t header_bytes = 0; ///< 2 or 9: the offset of the body from the header's start.
    std::uint8_t flags = 0;        ///< flag_more, flag_long, flag_command.

    constexpr bool more() const noexcept { return (flags & flag_more) != 0; }
    constexpr bool command() const noexcept { return (flags & flag_command) != 0; }
    constexpr std::uint64_t frame_bytes() const noexcept { return header_bytes + body_bytes; }

    bool operator==(const frame_head&) const = default;
};

/// Reads a whole header that read_head has accepted or write_header has written.
inline frame_head read_head_trusted(const std::byte* in) noexcept {
    const auto flags = std::to_integer<std::uint8_t>(in[0]);
    if ((flags & flag_long) == 0) [[likely]] {
        return {std::to_integer<std::uint64_t>(in[1]), header_bytes_min, flags};
    }
    return {load_big_endian<std::uint64_t>(in + 1), header_bytes_max, flags};
}

/// The result of read_head.
enum class head_status : std::uint8_t {
    complete,   ///< A valid header.
    incomplete, ///< Valid so far, but more octets are needed.
    violation,  ///< A reserved flag, a COMMAND with MORE, or a size with its top bit set.
    too_large,  ///< The size is above the limit.
};

/// Reads a header that a peer sent. Needs no octet of the body, so a hostile size never makes the
/// caller wait or allocate; an error in the flags is reported at the first octet.
///
/// @param available       Octets at `in`; may be zero.
/// @param body_bytes_max  Largest body accepted, in octets.
/// @param out             Set if the outcome is `complete`, untouched otherwise.
inline head_status read_head(const std::byte* in, std::size_t available,
                             std::uint64_t body_bytes_max, frame_head& out) noexcept {
    if (available == 0) {
        return head_status::incomplete;
    }
    const auto flags = std::to_integer<unsigned>(in[0]);
    // The valid flags are zero to three, and four or six: no reserved bit, and not both MORE and
    // COMMAND.
    constexpr unsigned command_with_more = flag_command | flag_more;
    if ((flags & flags_reserved) != 0 || (flags & command_with_more) == command_with_more) {
        return head_status::violation;
    }
    if (available < ((flags & flag_long) != 0 ? header_bytes_max : header_bytes_min)) {
        return head_status::incomplete;
    }
    const frame_head head = read_head_trusted(in);
    if (head.body_bytes > body_bytes_limit) {
        return head_status::violation;
    }
    if (head.body_bytes > body_bytes_max) {
        return head_status::too_large;
    }
    out = head;
    return head_status::complete;
}

} // namespace zlink::wire::zmtp
