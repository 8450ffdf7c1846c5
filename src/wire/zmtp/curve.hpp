// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/byte_order.hpp"
#include "base/result.hpp"
#include "base/security.hpp"
#include "wire/zmtp/command.hpp"
#include "wire/zmtp/frame.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace zlink::wire::zmtp {

// The commands of CURVE (26/CURVEZMQ), without their cryptography. A box is its content and 16
// octets of authentication. The nonce of a box has 24 octets: a text, and a number of 8 octets
// (big-endian, each greater than the previous one from the same side) or 16 (random), which is
// sent.
//
//   client                                                                                server
//   HELLO     1.0 | 72 zeros | client's transient key 32 | nonce 8 | box of 64 zeros ──▶
//   ◀── WELCOME   nonce 16 | box of: server's transient key 32, cookie 96
//   INITIATE  cookie 96 | nonce 8 | box of: client's key 32, vouch 96, metadata      ──▶
//   ◀── READY     nonce 8 | box of: metadata
//   MESSAGE, both ways                nonce 8 | box of: flags 1, payload

inline constexpr std::size_t curve_box_overhead_bytes = 16;
inline constexpr std::size_t curve_long_nonce_bytes = 16;
inline constexpr std::size_t curve_short_nonce_bytes = 8;
inline constexpr std::size_t curve_cookie_bytes = 96;
inline constexpr std::size_t curve_vouch_bytes = 96; ///< Long nonce, and a box of two keys.

inline constexpr std::size_t curve_hello_content_bytes = 64;
inline constexpr std::size_t curve_hello_data_bytes =
    2 + 72 + curve_key_bytes + curve_short_nonce_bytes + curve_hello_content_bytes +
    curve_box_overhead_bytes;
inline constexpr std::size_t curve_welcome_content_bytes = curve_key_bytes + curve_cookie_bytes;
inline constexpr std::size_t curve_welcome_data_bytes =
    curve_long_nonce_bytes + curve_welcome_content_bytes + curve_box_overhead_bytes;
inline constexpr std::size_t curve_initiate_content_bytes_min = curve_key_bytes + curve_vouch_bytes;
inline constexpr std::size_t curve_initiate_data_bytes_min =
    curve_cookie_bytes + curve_short_nonce_bytes + curve_initiate_content_bytes_min +
    curve_box_overhead_bytes;
inline constexpr std::size_t curve_ready_data_bytes_min =
    curve_short_nonce_bytes + curve_box_overhead_bytes;

using byte_view = std::span<const std::byte>;

struct curve_hello {
    byte_view client_key; ///< Transient.
    std::uint64_t nonce = 0;
    byte_view box;
};
/// @error protocol_violation  It does not have the size of a HELLO, or has another version.
result<curve_hello> decode_curve_hello(byte_view data) noexcept;
/// Makes a body. @param box  Of curve_hello_content_bytes.
std::vector<std::byte> encode_curve_hello(const curve_hello& hello);

struct curve_welcome {
    byte_view nonce; ///< Long.
    byte_view box;
};
/// @error protocol_violation  It does not have the size of a WELCOME.
result<curve_welcome> decode_curve_welcome(byte_view data) noexcept;
std::vector<std::byte> encode_curve_welcome(const curve_welcome& welcome);

struct curve_initiate {
    byte_view cookie;
    std::uint64_t nonce = 0;
    byte_view box; ///< Its content has at least curve_initiate_content_bytes_min octets.
};
/// @error protocol_violation  It is shorter than an INITIATE can be.
result<curve_initiate> decode_curve_initiate(byte_view data) noexcept;
std::vector<std::byte> encode_curve_initiate(const curve_initiate& initiate);

struct curve_ready {
    std::uint64_t nonce = 0;
    byte_view box;
};
/// @error protocol_violation  It is shorter than a READY can be.
result<curve_ready> decode_curve_ready(byte_view data) noexcept;
std::vector<std::byte> encode_curve_ready(const curve_ready& ready);

// The body of a MESSAGE. libzmq sends it in a frame without flags.
//
//   +-----------+-----------+------------------+-----------+---------+
//   | 7 MESSAGE | nonce (8) | authenticity (16)| flags (1) | payload |   the last two encrypted
//   +-----------+-----------+------------------+-----------+---------+

inline constexpr std::string_view curve_message_prefix = "\007MESSAGE";
inline constexpr std::size_t curve_message_nonce_at = curve_message_prefix.size();
inline constexpr std::size_t curve_message_mac_at =
    curve_message_nonce_at + curve_short_nonce_bytes;
inline constexpr std::size_t curve_message_flags_at =
    curve_message_mac_at + curve_box_overhead_bytes;
/// The size of a MESSAGE besides its payload.
inline constexpr std::size_t curve_message_overhead_bytes = curve_message_flags_at + 1;

inline constexpr unsigned curve_flag_more = 1;
inline constexpr unsigned curve_flag_command = 2; ///< libzmq's.

/// Whether `body`, of which the first curve_message_overhead_bytes are available, may be a MESSAGE.
inline bool is_curve_message(const std::byte* body) noexcept {
    return std::memcmp(body, curve_message_prefix.data(), curve_message_prefix.size()) == 0;
}

} // namespace zlink::wire::zmtp
