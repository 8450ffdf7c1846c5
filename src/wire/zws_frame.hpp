// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "wire/websocket/frame.hpp"
#include "wire/websocket/mask.hpp"
#include "wire/zmtp/frame.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

/// ZMTP over WebSocket, 45/ZWS: the protocol of the patterns on ws and wss.
namespace zlink::wire::zws {

// One frame is one binary message of WebSocket in one frame of it:
//
//   +------------------+-----------+-------------+   flags: 0 the last frame of a message, 1 more
//   | WebSocket header | flags (1) | body        |          follow, 2 a command
//   +------------------+-----------+-------------+

inline constexpr unsigned flag_more = 1;
inline constexpr unsigned flag_command = 2;
inline constexpr std::size_t flags_bytes = 1;
inline constexpr std::uint64_t body_bytes_limit = websocket::payload_bytes_limit - flags_bytes;
inline constexpr std::size_t header_bytes_max = websocket::header_bytes_max + flags_bytes;

/// The flags of a frame, from those of ZMTP.
constexpr unsigned flags_of(unsigned zmtp_flags) noexcept {
    return ((zmtp_flags & zmtp::flag_more) != 0 ? flag_more : 0) |
           ((zmtp_flags & zmtp::flag_command) != 0 ? flag_command : 0);
}

/// Writes a frame that a server sends.
/// @param out         Room for header_bytes_max octets and the body.
/// @param zmtp_flags  wire::zmtp flags.
/// @return The octets written.
inline std::size_t write_frame(std::byte* out, unsigned zmtp_flags,
                               std::span<const std::byte> body) noexcept {
    std::size_t at =
        websocket::write_header(out, websocket::opcode::binary, flags_bytes + body.size());
    out[at++] = static_cast<std::byte>(flags_of(zmtp_flags));
    if (!body.empty()) {
        std::memcpy(out + at, body.data(), body.size());
    }
    return at + body.size();
}

/// Writes a frame that a client sends. The other parameters and outcome are write_frame()'s.
/// @param key  As for websocket::write_masked_header().
inline std::size_t write_masked_frame(std::byte* out, unsigned zmtp_flags,
                                      std::span<const std::byte> body,
                                      const websocket::mask_key& key) noexcept {
    std::size_t at = websocket::write_masked_header(out, websocket::opcode::binary,
                                                    flags_bytes + body.size(), key);
    out[at++] = static_cast<std::byte>(flags_of(zmtp_flags)) ^ key[0];
    websocket::copy_masked(out + at, body, key, flags_bytes);
    return at + body.size();
}

} // namespace zlink::wire::zws
