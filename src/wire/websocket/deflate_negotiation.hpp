// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zlink::wire::websocket {

// How permessage-deflate (RFC 7692, 7) is agreed on, in the field Sec-WebSocket-Extensions:
//
//   offer     permessage-deflate; client_max_window_bits, permessage-deflate; ...
//   answer    permessage-deflate; server_no_context_takeover
//
// A client lists what it would take, the one it likes best first; a server answers with what shall
// be, or not at all.

/// A window of 2^8 to 2^15 octets. zlib inflates with any, but does not compress with 2^8.
inline constexpr std::uint8_t window_bits_min = 8;
inline constexpr std::uint8_t compressing_window_bits_min = 9;
inline constexpr std::uint8_t window_bits_max = 15;

/// How one side compresses its messages.
struct deflate_direction {
    /// Logarithm of the window's octets.
    std::uint8_t window_bits = window_bits_max;

    /// The window goes on from one message to the next (context takeover), which takes its memory
    /// while no message is under way. Otherwise each message is compressed for itself.
    bool keeps_context = true;

    bool operator==(const deflate_direction&) const = default;
};

/// What we want, or what was agreed. A server is never made to do more than it wants; a client that
/// cannot be asked for a small window is let use a large one.
struct deflate_parameters {
    deflate_direction server{}; ///< What the server compresses.
    deflate_direction client{}; ///< What the client compresses.

    bool operator==(const deflate_parameters&) const = default;
};

/// A server's answer to an offer.
struct deflate_answer {
    deflate_parameters agreed;
    std::string field; ///< What to answer in Sec-WebSocket-Extensions.
};

/// Accepts the first offer of permessage-deflate that can be kept.
///
/// An offer is passed over if it has an unknown parameter, one of them twice, a value that is not
/// allowed (RFC 7692, 7.1), or wants a server's window of 2^8 octets.
///
/// @param offered  The value of the client's Sec-WebSocket-Extensions; those of several fields
/// joined
///                 by commas. Other extensions in it are passed over.
/// @param wanted   Windows of 9 to 15 bits (server), 8 to 15 (client).
/// @return Nothing if no offer can be kept, or one before it is malformed: messages are not
///         compressed.
std::optional<deflate_answer> accept_deflate(std::string_view offered,
                                             const deflate_parameters& wanted);

/// Makes a client's offer, for its Sec-WebSocket-Extensions.
/// @param wanted  Windows of 8 to 15 bits (server), 9 to 15 (client).
std::string encode_deflate_offer(const deflate_parameters& wanted);

/// Reads the server's answer to what encode_deflate_offer() made.
///
/// @param answer  The value of its Sec-WebSocket-Extensions, empty if there is no such field.
/// @param wanted  What was offered.
/// @return Nothing if the server does not compress, and takes nothing compressed.
/// @error protocol_violation  The answer is malformed, has something that was not offered, or is
/// not
///                            what was: fail the connection (RFC 7692, 7.1).
/// @error not_supported       It wants a client's window of 2^8 octets: likewise.
result<std::optional<deflate_parameters>> decode_deflate_answer(std::string_view answer,
                                                                const deflate_parameters& wanted);

} // namespace zlink::wire::websocket
