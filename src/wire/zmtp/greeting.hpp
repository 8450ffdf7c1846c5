// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/socket_type.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace zlink::wire::zmtp {

inline constexpr std::size_t signature_bytes = 10;
inline constexpr std::size_t greeting_bytes = 64;
inline constexpr std::size_t mechanism_bytes_max = 20;

/// The progress of the exchange of greetings.
///
///   signature ──▶ version ──▶ rest ──▶ complete, mechanism_mismatch
///       │            └──────▶ socket_type ──▶ older_peer
///       └────────────────────────────────────────▲
enum class greeting_state : std::uint8_t {
    signature,          ///< Waiting for the peer's first 10 octets.
    version,            ///< It has a signature: waiting for its version.
    rest,               ///< It speaks 3.0 or later: waiting for the other 53 octets.
    socket_type,        ///< It speaks 2.0, or 1.0 behind a signature: waiting for one octet more.
    complete,           ///< peer() holds the peer's greeting. The handshake may begin.
    older_peer,         ///< It speaks ZMTP 1.0 or 2.0: see peer().version. Identities follow.
    mechanism_mismatch, ///< It wants another mechanism: close the connection.
};

/// The protocol that a peer speaks.
enum class peer_version : std::uint8_t {
    v1, ///< 13/ZMTP 1.0: no greeting, its first frame is its identity.
    v2, ///< 15/ZMTP 2.0: signature, revision, socket type, identity frame; no commands.
    v3, ///< 23/ZMTP 3.0, 37/ZMTP 3.1, or later.
};

/// The contents of a peer's greeting.
struct peer_greeting {
    peer_version version = peer_version::v3;
    std::uint8_t major = 0;
    std::uint8_t minor = 0;
    bool as_server = false; ///< Informational only: libzmq always sends false.

    /// The type that an older peer states, unchecked; nothing from one that sends no signature.
    std::optional<socket_type> type{};

    /// Without the padding. A view into the greeting_exchange.
    std::string_view mechanism{};

    /// Whether subscriptions are commands (3.1). Otherwise they are messages.
    bool has_subscribe_command() const noexcept { return major > 3 || minor >= 1; }
};

/// Exchanges greetings with a peer, step by step as libzmq does: our signature at once, our version
/// when the peer's signature has shown that it is not of version 1.0, the rest when its version is
/// known. Older peers and programs with a raw socket rely on that order.
///
///   +----+----------------+----+-------+-------+----------------+-----------+--------------+
///   | ff | padding (8)    | 7f | major | minor | mechanism (20) | as-server | zeros (31)   |
///   +----+----------------+----+-------+-------+----------------+-----------+--------------+
///   0    1                9    10      11      12               32          33            64
///   (37/ZMTP, "Greeting")
///
/// The peer's padding, as-server and filler are not checked. Does no I/O and allocates nothing.
class greeting_exchange {
public:
    /// @param mechanism         Our mechanism, 1 to 20 characters, e.g. "NULL".
    /// @param routing_id_bytes  Size of our routing id: a peer of version 1.0 reads our
    ///                          signature as the header of the frame with the routing id.
    /// @param type              Ours, which is sent to an older peer instead of the mechanism.
    greeting_exchange(std::string_view mechanism, std::size_t routing_id_bytes,
                      socket_type type) noexcept;

    greeting_exchange(const greeting_exchange&) = delete;
    greeting_exchange& operator=(const greeting_exchange&) = delete;

    /// Takes octets off the front of `input`, until the greeting ends or `input` is empty.
    ///
    /// Takes no octet that may belong to the data after the greeting: from a 3.x peer at most 64,
    /// 12 from an older one. For a peer without a signature it stops behind the octet that shows
    /// this; received() returns all that were taken.
    /// @return The state; once it is one of the last three, further calls take nothing.
    greeting_state on_received(std::span<const std::byte>& input) noexcept;

    /// The octets to send next; may grow with each on_received.
    /// @return A view that is valid until the next on_received.
    std::span<const std::byte> outgoing() const noexcept {
        return {own_.data() + sent_bytes_, staged_bytes_ - sent_bytes_};
    }

    /// Removes the first `count` octets, at most all, of outgoing(): they were sent.
    void on_sent(std::size_t count) noexcept { sent_bytes_ += count; }

    greeting_state state() const noexcept { return state_; }

    /// @return Complete in the states complete and mechanism_mismatch; in older_peer it has
    ///         `version`, and `major` and `type` if they were sent. From the state socket_type on
    ///         `version` is known.
    const peer_greeting& peer() const noexcept { return peer_; }

    /// The octets that were taken. Those of a peer that sends no signature belong to its first
    /// frame.
    std::span<const std::byte> received() const noexcept {
        return {theirs_.data(), received_bytes_};
    }

private:
    std::size_t wanted_bytes() const noexcept;
    greeting_state advance() noexcept;
    greeting_state on_version() noexcept;
    greeting_state on_rest() noexcept;
    greeting_state on_socket_type() noexcept;

    std::array<std::byte, greeting_bytes> own_{};
    std::array<std::byte, greeting_bytes> theirs_{};
    std::size_t staged_bytes_ = signature_bytes; ///< How much of own_ may be sent by now.
    std::size_t sent_bytes_ = 0;
    std::size_t received_bytes_ = 0;
    std::size_t mechanism_bytes_;
    socket_type own_type_;
    greeting_state state_ = greeting_state::signature;
    peer_greeting peer_;
};

} // namespace zlink::wire::zmtp
