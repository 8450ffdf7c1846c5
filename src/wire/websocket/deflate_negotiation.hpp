// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zlink::wire::websocket {

// The negotiation of permessage-deflate (RFC 7692, 7), in the field Sec-WebSocket-Extensions:
//
//   offer     permessage-deflate; client_max_window_bits, permessage-deflate; ...
//   answer    permessage-deflate; server_no_context_takeover
//
// A client lists acceptable parameters, the preferred ones first; a server answers with the
// parameters that it chooses, or not at all.

/// A window of 2^8 to 2^15 octets. zlib inflates with any, but does not compress with 2^8.
inline constexpr std::uint8_t window_bits_min = 8;
inline constexpr std::uint8_t compressing_window_bits_min = 9;
inline constexpr std::uint8_t window_bits_max = 15;

/// The parameters with which one side compresses its messages.
struct deflate_direction {
    /// Logarithm of the window's octets.
    std::uint8_t window_bits = window_bits_max;

    /// The window is kept from one message to the next (context takeover); its memory is then in
    /// use even between messages. Otherwise each message is compressed independently.
    bool keeps_context = true;

    bool operator==(const deflate_direction&) const = default;
};

/// The wanted, or the negotiated, parameters. A server is never made to do more than it wants; a
/// client that cannot be asked for a small window may use a large one.
struct deflate_parameters {
    deflate_direction server{}; ///< The server's compression.
    deflate_direction client{}; ///< The client's compression.

    bool operator==(const deflate_parameters&) const = default;
};

/// A server's answer to an offer.
struct deflate_answer {
    deflate_parameters agreed;
    std::string field; ///< The value for Sec-WebSocket-Extensions.
};

/// Accepts the first acceptable offer of permessage-deflate.
///
/// An offer is skipped if it has an unknown parameter, one of them twice, a value that is not
/// allowed (RFC 7692, 7.1), or wants a server's window of 2^8 octets.
///
/// @param offered  The value of the client's Sec-WebSocket-Extensions; those of several fields
///                 joined by commas. Other extensions in it are skipped.
/// @param wanted   Windows of 9 to 15 bits (server), 8 to 15 (client).
/// @return Nothing if no offer is acceptable, or one before it is malformed: messages are not
///         compressed.
std::optional<deflate_answer> accept_deflate(std::string_view offered,
                                             const deflate_parameters& wanted);

/// Makes a client's offer, for its Sec-WebSocket-Extensions.
/// @param wanted  Windows of 8 to 15 bits (server), 9 to 15 (client).
std::string encode_deflate_offer(const deflate_parameters& wanted);

/// Reads the server's answer to the offer of encode_deflate_offer().
///
/// @param answer  The value of its Sec-WebSocket-Extensions, empty if there is no such field.
/// @param wanted  The offered parameters.
/// @return Nothing if the server neither compresses nor accepts compressed messages.
/// @error protocol_violation  The answer is malformed, has something that was not offered, or does
///                            not match the offer: fail the connection (RFC 7692, 7.1).
/// @error not_supported       It wants a client's window of 2^8 octets: likewise.
result<std::optional<deflate_parameters>> decode_deflate_answer(std::string_view answer,
                                                                const deflate_parameters& wanted);

} // namespace zlink::wire::websocket
