// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/secret.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

namespace zlink::transport {

/// The key that encrypts the ticket of a TLS session (RFC 5077, 4).
struct ticket_key {
    static constexpr std::size_t name_bytes = 16;

    std::array<std::uint8_t, name_bytes> name{};
    secret<32> cipher;
    secret<32> authenticator;
};

/// The keys of a listener's tickets. Each encrypts tickets for limits::tls_ticket_key_life, and
/// decrypts them for as long again; then it is erased, and recorded traffic stays unreadable.
///
/// @threads any
class ticket_keys {
public:
    using clock = std::chrono::steady_clock;

    /// The key for a new ticket.
    /// @return Whether there is randomness for one.
    bool current(clock::time_point now, ticket_key& key);

    enum class found : std::uint8_t {
        none,
        fresh,
        old, ///< The client should get a new ticket.
    };
    /// The key of a ticket that a client presents.
    found find(std::span<const std::uint8_t, ticket_key::name_bytes> name, clock::time_point now,
               ticket_key& key);

private:
    struct held {
        ticket_key key;
        clock::time_point made_at;
        bool is_there = false;
    };

    static bool is_within(const held& asked, int lives, clock::time_point now) noexcept;

    std::mutex mutex_;
    held current_;
    held previous_;
};

} // namespace zlink::transport
