// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "wire/zmtp/frame.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace zlink::wire::zmtp {

// One frame of ZMTP 1.0, which libzmq 2.x speaks (13/ZMTP):
//
//   +--------+-------+-------------+   length: 1 octet, or ff and 8 octets, big-endian, from 255
//   | length | flags | body        |           on; counts flags and body
//   +--------+-------+-------------+   flags:  0x01 MORE; the others are ignored, as in libzmq

inline constexpr std::uint64_t v1_short_body_bytes_max = 253;
inline constexpr std::size_t v1_header_bytes_min = 2;
inline constexpr std::size_t v1_header_bytes_max = 10;

/// The size of the header of a frame with `body_bytes` of body in octets: 2 or 10.
constexpr std::size_t v1_header_bytes(std::uint64_t body_bytes) noexcept {
    return body_bytes <= v1_short_body_bytes_max ? v1_header_bytes_min : v1_header_bytes_max;
}

/// Writes the header of a frame.
/// @param out    Room for v1_header_bytes(body_bytes) octets.
/// @param flags  Zero or flag_more.
/// @return The octets written.
std::size_t write_v1_header(std::byte* out, std::uint64_t body_bytes, unsigned flags) noexcept;

/// Reads a header that a peer sent, as read_head() does.
/// @param out  Set if the outcome is `complete`: its flags are zero or flag_more.
/// @return `violation` also for a length of zero. Never `too_large`.
head_status read_v1_head(std::span<const std::byte> in, frame_head& out) noexcept;

/// Reads a whole header that write_v1_header() has written.
frame_head read_v1_head_trusted(const std::byte* in) noexcept;

/// Rewrites frames of version 1.0 as those of 2.0 and 3.x, which are never longer, in place. Tracks
/// the ends of frames, and allocates nothing.
class v1_decoder {
public:
    struct outcome {
        std::span<const std::byte> frames; ///< The octets of 2.0; the last frame may go on.
        std::span<const std::byte> rest;   ///< Part of a header: prepend it to the next octets.
        bool is_violation = false;         ///< The octets after `frames` are not a frame.
    };

    /// Takes received octets.
    /// @param data  Overwritten. The outcome consists of views of it.
    outcome decode(std::span<std::byte> data) noexcept;

private:
    std::uint64_t body_rest_bytes_ = 0; ///< Octets of the body that have not been received.
};

} // namespace zlink::wire::zmtp
