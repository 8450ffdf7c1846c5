// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace zlink::wire {

/// The destination and the user of a connection through a SOCKS5 proxy.
struct socks_request {
    std::string host; ///< A name or an address; the proxy resolves names.
    std::uint16_t port = 0;
    std::string username; ///< Empty: no authentication is offered.
    secret_text password;
};

/// The client's side of SOCKS5 (RFC 1928), with user name and password (RFC 1929). No I/O.
///
///   greeting ──▶ [credentials] ──▶ request ──▶ connected
class socks_exchange {
public:
    /// @error invalid_argument  The host is empty, or a text is longer than 255 octets.
    static result<socks_exchange> make(socks_request wanted);

    /// Octets to send now; empty while the proxy has to reply. Invalid after on_received().
    std::span<const std::byte> outgoing() const noexcept { return outgoing_; }

    /// The minimum of octets that the proxy has to send next; 0 once it has established the
    /// connection. Later octets are the peer's, so no more may be read.
    std::size_t wanted_bytes() const noexcept { return wanted_bytes_; }

    /// Takes wanted_bytes() octets.
    /// @error connection_refused  The proxy reports that the host refused.
    /// @error host_unreachable    The proxy could not connect for another reason.
    /// @error not_supported       It requires an authentication that we do not offer, or refused
    ///                            ours.
    /// @error protocol_violation  It does not speak SOCKS5.
    result<void> on_received(std::span<const std::byte> data);

private:
    enum class step : std::uint8_t { greeting, credentials, reply, address, connected };

    explicit socks_exchange(socks_request wanted);
    result<void> on_method(std::uint8_t method);
    result<void> on_reply(std::span<const std::byte> data);
    void send_credentials();
    void send_request();
    void expect(step next, std::size_t bytes) noexcept;

    socks_request wanted_;
    secret_bytes outgoing_;
    step step_ = step::greeting;
    std::size_t wanted_bytes_ = 2;
};

} // namespace zlink::wire
