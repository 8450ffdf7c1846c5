// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/byte_order.hpp"
#include "base/limits.hpp"
#include "base/result.hpp"
#include "base/socket_type.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ratio>
#include <span>
#include <string_view>
#include <vector>

namespace zlink::wire::zmtp {

// The body of a frame with the COMMAND flag (37/ZMTP, "Commands"). Names compare exactly.
//
//   +-----------------+------+------+
//   | name length (1) | name | data |
//   +-----------------+------+------+

inline constexpr std::string_view ready_name = "READY";
inline constexpr std::string_view error_name = "ERROR";
inline constexpr std::string_view hello_name = "HELLO";       ///< PLAIN, CURVE.
inline constexpr std::string_view welcome_name = "WELCOME";   ///< PLAIN, CURVE.
inline constexpr std::string_view initiate_name = "INITIATE"; ///< PLAIN, CURVE.
inline constexpr std::string_view subscribe_name = "SUBSCRIBE";
inline constexpr std::string_view cancel_name = "CANCEL";
inline constexpr std::string_view ping_name = "PING";
inline constexpr std::string_view pong_name = "PONG";

/// The beginning of the body of a SUBSCRIBE or CANCEL; the rest is the topic.
inline constexpr std::string_view subscribe_prefix = "\x09SUBSCRIBE";
inline constexpr std::string_view cancel_prefix = "\006CANCEL";

inline constexpr std::size_t metadata_bytes_max = limits::handshake_command_bytes_max;
inline constexpr std::size_t metadata_properties_max = 256;
inline constexpr std::size_t identity_bytes_max = 255;

inline constexpr std::size_t property_name_bytes_max = 255;
inline constexpr std::size_t error_reason_bytes_max = 255;
inline constexpr std::size_t heartbeat_context_bytes_max = 16;
inline constexpr std::size_t ping_body_bytes_min = 7;

/// The largest PING: name, TTL and context.
inline constexpr std::size_t heartbeat_body_bytes_max =
    ping_body_bytes_min + heartbeat_context_bytes_max;

/// A command, as a view of octets of another owner.
struct command_view {
    std::string_view name;
    std::span<const std::byte> data;
};

/// Splits the body of a command into name and data.
/// @error protocol_violation  The body is empty, or shorter than the name it announces.
result<command_view> decode_command(std::span<const std::byte> body) noexcept;

/// Makes the body of a command.
/// @param name  At most 255 characters.
std::vector<std::byte> encode_command(std::string_view name, std::span<const std::byte> data = {});

// Metadata, the data of READY and INITIATE and a frame of ZAP replies: properties in a row.
//
//   +-----------------+------+----------------------+-------+
//   | name length (1) | name | value length (4, BE) | value |   name length: 1 to 255
//   +-----------------+------+----------------------+-------+

inline constexpr std::string_view socket_type_property = "Socket-Type";
inline constexpr std::string_view identity_property = "Identity";

/// One property, as a view of octets of another owner.
struct property_view {
    std::string_view name;
    std::span<const std::byte> value;
};

/// Removes one property from the front of `metadata`, which holds at least one octet.
/// @error protocol_violation  A length is zero (name), or exceeds the data.
result<property_view> decode_property(std::span<const std::byte>& metadata) noexcept;

/// Passes each property of `metadata` to `visit(const property_view&)`, in order.
///
/// A property may occur twice; libzmq uses the last one. An error may be found after some
/// properties were visited.
/// @error protocol_violation  A property is malformed, or octets remain behind the last one.
/// @error message_too_large   More than metadata_bytes_max or metadata_properties_max.
template<class Visitor>
result<void> decode_metadata(std::span<const std::byte> metadata, Visitor&& visit) {
    if (metadata.size() > metadata_bytes_max) {
        return errc::message_too_large;
    }
    for (std::size_t count = 0; !metadata.empty(); ++count) {
        if (count == metadata_properties_max) {
            return errc::message_too_large;
        }
        const result<property_view> property = decode_property(metadata);
        if (!property) {
            return property.error();
        }
        visit(*property);
    }
    return {};
}

/// The socket properties in a peer's metadata.
struct peer_metadata {
    std::optional<socket_type> type;     ///< Nothing if the peer sent none: libzmq allows that.
    std::span<const std::byte> identity; ///< A view into the metadata; empty if the peer sent none.
};

/// Reads Socket-Type and Identity from `metadata`, and checks that `own` may talk to the peer.
/// @error protocol_violation  The metadata is malformed.
/// @error message_too_large   As in decode_metadata, or an identity above identity_bytes_max.
/// @error invalid_argument    The peer's socket type is unknown or incompatible with `own`.
result<peer_metadata> decode_peer_metadata(std::span<const std::byte> metadata, socket_type own);

/// Appends one property.
/// @param name   1 to property_name_bytes_max characters.
/// @param value  Less than 2^31 octets.
void append_property(std::vector<std::byte>& out, std::string_view name,
                     std::span<const std::byte> value);

/// Appends Socket-Type, Identity if there is one, and `extra`.
/// @param identity  Sent by REQ, DEALER and ROUTER, even if it is empty; others send nothing.
void append_metadata(std::vector<std::byte>& out, socket_type own,
                     std::optional<std::span<const std::byte>> identity,
                     std::span<const property_view> extra = {});

/// Makes the body of a READY: its name and append_metadata's octets.
std::vector<std::byte> encode_ready(socket_type own,
                                    std::optional<std::span<const std::byte>> identity,
                                    std::span<const property_view> extra = {});

/// Makes the body of an ERROR.
/// @param reason  Truncated to error_reason_bytes_max characters.
std::vector<std::byte> encode_error(std::string_view reason);

/// Reads the reason from the data of an ERROR. Octets behind it are ignored, as in libzmq.
/// @error protocol_violation  The reason is shorter than its length.
result<std::string_view> decode_error(std::span<const std::byte> data) noexcept;

/// The time that a PING announces, in tenths of a second: 0 to 6553.5 s.
using heartbeat_ttl = std::chrono::duration<std::uint16_t, std::deci>;

struct ping_view {
    heartbeat_ttl ttl{};                ///< Zero: the peer announces none.
    std::span<const std::byte> context; ///< For the PONG; at most 16 octets.
};

/// Reads the data of a PING. Of a context above 16 octets the first 16 are used, as in libzmq.
/// @error protocol_violation  There is no TTL: the whole body is shorter than 7 octets.
result<ping_view> decode_ping(std::span<const std::byte> data) noexcept;

/// Writes the body of a PING.
/// @param context  At most heartbeat_context_bytes_max octets.
/// @return The octets written to the front of `out`.
std::size_t encode_ping(std::span<std::byte, heartbeat_body_bytes_max> out, heartbeat_ttl ttl,
                        std::span<const std::byte> context) noexcept;

/// Writes the body of the PONG that answers a PING with `context`, of at most 16 octets.
/// @return The octets written to the front of `out`.
std::size_t encode_pong(std::span<std::byte, heartbeat_body_bytes_max> out,
                        std::span<const std::byte> context) noexcept;

/// A subscription or its end, in either form.
struct subscription_view {
    bool subscribe = false;           ///< False: cancel.
    std::span<const std::byte> topic; ///< May be empty: everything.
};

/// Reads a SUBSCRIBE or CANCEL command (3.1); nothing if `body` is not such a command.
std::optional<subscription_view>
decode_subscription_command(std::span<const std::byte> body) noexcept;

/// Reads a subscription message, 01 or 00 and the topic (2.0, 3.0, ZWS); nothing if `body` begins
/// otherwise.
std::optional<subscription_view>
decode_subscription_message(std::span<const std::byte> body) noexcept;

// Groups (48/RADIO-DISH). As in libzmq, the data of a JOIN or LEAVE is the group's name alone.

inline constexpr std::string_view join_prefix = "\x04JOIN";
inline constexpr std::string_view leave_prefix = "\x05LEAVE";
inline constexpr std::size_t group_bytes_max = 255;
inline constexpr std::size_t group_command_bytes_max = leave_prefix.size() + group_bytes_max;

/// A JOIN or LEAVE.
struct group_view {
    bool join = false;      ///< False: leave.
    std::string_view group; ///< May be empty, which is a group like any other.
};

/// Reads a JOIN or LEAVE command; nothing if `body` is not such a command, or the name has more
/// than group_bytes_max octets.
std::optional<group_view> decode_group_command(std::span<const std::byte> body) noexcept;

/// Replaces `out` by the body of a JOIN or LEAVE.
/// @param group  At most group_bytes_max octets.
void write_group_command(std::vector<std::byte>& out, std::string_view group, bool joins);

} // namespace zlink::wire::zmtp
