// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace zlink::wire::websocket {

/// The reason for closing a connection (RFC 6455, 7.4, and IANA's registry). Any number from 3000
/// to 4999 is a code, too: libraries and applications define their meaning.
enum class close_code : std::uint16_t {
    normal = 1000,            ///< The purpose is fulfilled.
    going_away = 1001,        ///< A server goes down, a browser leaves the page.
    protocol_error = 1002,    ///< The peer broke RFC 6455.
    unsupported_data = 1003,  ///< Text where only binary is accepted, or vice versa.
    none = 1005,              ///< The peer named no code. Never on the wire.
    abnormal = 1006,          ///< There was no close frame. Never on the wire.
    invalid_payload = 1007,   ///< A text is not UTF-8, or a payload cannot be inflated.
    policy_violation = 1008,  ///< The peer breaks a local rule.
    too_large = 1009,         ///< A message is above the limit.
    extension_missing = 1010, ///< A client's: the server did not agree to an extension.
    internal_error = 1011,    ///< An internal failure.
    service_restart = 1012,   ///< The server restarts.
    try_again_later = 1013,   ///< The server is overloaded.
    bad_gateway = 1014,       ///< A proxy got an invalid response from its server.
};

/// Whether a close frame of either side may hold `code`: 1000 to 1003, 1007 to 1014 and 3000 to
/// 4999.
constexpr bool may_be_sent(close_code code) noexcept {
    const auto number = static_cast<std::uint16_t>(code);
    return (number >= 1000 && number <= 1003) || (number >= 1007 && number <= 1014) ||
           (number >= 3000 && number <= 4999);
}

// The payload of a close frame (RFC 6455, 5.5.1): empty, or
//
//   +---------------+-----------------------+
//   | code (2, BE)  | reason (0-123, UTF-8) |
//   +---------------+-----------------------+

inline constexpr std::size_t close_code_bytes = 2;
inline constexpr std::size_t close_reason_bytes_max = 123;
inline constexpr std::size_t close_payload_bytes_max = close_code_bytes + close_reason_bytes_max;

/// The contents of a close frame.
struct close_view {
    close_code code = close_code::none; ///< `none` if the frame was empty.
    std::string_view reason;            ///< A view of octets of another owner.
};

/// Reads the payload of a close frame that a peer sent.
///
/// @param payload  Unmasked; at most close_payload_bytes_max octets.
/// @param out      Set if the payload is valid, untouched otherwise.
/// @return Nothing if it is valid. Otherwise the code to close with: protocol_error for one octet,
///         or a code that may not be sent; invalid_payload for a reason that is not UTF-8.
[[nodiscard]] std::optional<close_code> decode_close(std::span<const std::byte> payload,
                                                     close_view& out) noexcept;

/// Writes the payload of a close frame.
///
/// @param code    One that may be sent; or `none`, for an empty payload.
/// @param reason  UTF-8, at most close_reason_bytes_max octets; empty if the code is `none`.
/// @return The octets written.
/// @error invalid_argument  A parameter is out of its range; nothing was written.
result<std::size_t> encode_close(std::span<std::byte, close_payload_bytes_max> out, close_code code,
                                 std::string_view reason = {}) noexcept;

} // namespace zlink::wire::websocket
