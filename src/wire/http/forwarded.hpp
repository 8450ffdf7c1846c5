// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/trusted_proxies.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace zlink::wire::http {

/// Proxies between a client and a listener that are told apart.
inline constexpr std::size_t forwarded_parts_max = 32;

/// The fields in which proxies say whose request they pass on, joined if there are several lines.
struct forwarding_fields {
    std::optional<std::string_view> x_forwarded_for;
    std::optional<std::string_view> x_forwarded_proto;
    std::optional<std::string_view> forwarded; ///< RFC 7239.
};

/// The client of a request, as the proxies in between name it.
struct forwarded_client {
    std::array<std::byte, 16> host{}; ///< In network order; of IPv4 the first 4 count.
    std::uint8_t host_bytes = 0;      ///< 4 or 16.
    std::uint16_t port = 0;           ///< 0: not known.

    std::span<const std::byte> address() const noexcept {
        return std::span{host}.first(host_bytes);
    }
};

/// Finds the client of a request that a trusted proxy has sent. Each proxy appends the address that
/// it was connected from, so the client is the last one that is not itself a trusted proxy; what
/// stands before it was sent by the client, and may be anything. If all are trusted, it is the
/// first.
///
/// @return Nothing if no field names one, or if a part that counts is malformed, hidden, or one of
/// more than forwarded_parts_max. Nothing, too, if X-Forwarded-For and Forwarded name
/// different clients: a proxy that writes one passes on what a client wrote into the other.
std::optional<forwarded_client> find_client(const forwarding_fields& said,
                                            const trusted_proxies& trusted) noexcept;

/// The scheme that the client used, http or https, as a trusted proxy states it: that of
/// X-Forwarded-Proto, or of the last part of Forwarded.
/// @return Empty if it is not stated, or malformed.
std::string_view find_scheme(const forwarding_fields& said) noexcept;

} // namespace zlink::wire::http
