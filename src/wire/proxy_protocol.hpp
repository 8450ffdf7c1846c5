// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace zlink::wire {

/// The peer that a proxy connects.
struct proxied_peer {
    enum class kind : std::uint8_t {
        unknown, ///< The proxy itself, or a peer that it cannot name.
        ipv4,
        ipv6,
        unix_socket,
    };

    kind what = kind::unknown;
    std::array<std::byte, 16> host{}; ///< Of ipv4 the first 4 octets.
    std::uint16_t port = 0;
    std::string path; ///< Of unix_socket, as in its address: up to a zero octet, unless abstract.
};

/// Reads the header with which a proxy begins a connection: the PROXY protocol of HAProxy, versions
/// 1 and 2. No I/O. Its contents are passed on in lines of text: so an impossible address is
/// refused, and a path that is not text or looks like one of the other kind.
///
///   version 1: "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n", TCP6 likewise, or
///              "PROXY UNKNOWN ...\r\n"; at most 107 octets
///   version 2: | signature (12) | version, command | family, protocol | length (2) | (length) |
///              where the last part is the two addresses and, behind them, anything in TLV form
class proxy_header {
public:
    static constexpr std::size_t v1_bytes_max = 107;

    /// @param v2_bytes_max  The longest header of version 2 that is accepted.
    explicit proxy_header(std::size_t v2_bytes_max) noexcept : v2_bytes_max_(v2_bytes_max) {}

    /// The minimum of octets that the proxy has to send next; 0 once the header is complete. Later
    /// octets may be the peer's, so no more may be read.
    std::size_t wanted_bytes() const noexcept { return wanted_bytes_; }

    /// Takes octets.
    /// @param data  At most wanted_bytes().
    /// @error protocol_violation  It is not such a header, or the peer's address is impossible.
    /// @error message_too_large   It is longer than the limit.
    result<void> on_received(std::span<const std::byte> data);

    /// The peer, once the header is complete.
    const proxied_peer& peer() const noexcept { return peer_; }

private:
    enum class version : std::uint8_t { undecided, one, two_head, two_addresses, two_rest };

    result<void> decide();
    result<void> take_line();
    result<void> take_head();
    result<void> take_addresses();
    result<void> decode_line();
    std::size_t line_rest_min() const noexcept;

    std::size_t v2_bytes_max_;
    std::string received_;
    std::size_t wanted_bytes_ = 6;  ///< The length of the prefix that distinguishes the versions.
    std::size_t skipped_bytes_ = 0; ///< Of version 2: octets behind the addresses, still to come.
    version version_ = version::undecided;
    proxied_peer peer_;
};

} // namespace zlink::wire
