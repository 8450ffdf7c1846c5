// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/ref_counted.hpp"
#include "base/result.hpp"
#include "base/socket_options.hpp"
#include "transport/address.hpp"

#include <array>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace zlink::transport {

inline constexpr errc too_many_connections = static_cast<errc>(EUSERS);
inline constexpr errc too_many_of_address = static_cast<errc>(EDQUOT);

/// The place of a connection that may end in favour of a new one. Guarded by the limiter's mutex.
struct offered_place {
    int descriptor = -1;             ///< -1: it is not offered.
    bool is_taken = false;           ///< By another connection.
    offered_place* before = nullptr; ///< In the list of those that are offered.
    offered_place* behind = nullptr;
};

class counted_connection;
using counted_connection_ptr = boost::intrusive_ptr<counted_connection>;
class connection_limiter;
using connection_limiter_ptr = boost::intrusive_ptr<connection_limiter>;

/// The part of an address that counts as one address: all of an IPv4 address, also in IPv6 form; of
/// an IPv6 address the first 64 bits, which belong to one customer.
using address_key = std::array<std::byte, 9>;

/// Nothing if it is not an internet address.
std::optional<address_key> address_key_of(const socket_address& peer) noexcept;

/// Counts the open connections that a listener has accepted, in total and by address.
///
/// @threads any
class connection_limiter final : public ref_counted<connection_limiter> {
public:
    /// @param max              ZLINK_MAX_CONNECTIONS; 0: no limit.
    /// @param per_address_max  ZLINK_MAX_CONNECTIONS_PER_ADDRESS; 0: no limit.
    /// @param exempt           Addresses without such a limit.
    connection_limiter(int max, int per_address_max, trusted_proxies exempt = {}) noexcept
        : max_(static_cast<std::uint32_t>(max)),
          per_address_max_(static_cast<std::uint32_t>(per_address_max)),
          exempt_(std::move(exempt)) {}

    /// Counts one more connection, for as long as the connection lives. If the limit is reached it
    /// takes the place of the one that has been offered for the longest time, which is shut down.
    /// @error too_many_connections  The limit is reached, and no place is offered.
    /// @throws std::bad_alloc  Nothing changed.
    static result<counted_connection_ptr> admit(const connection_limiter_ptr& into);

    // For counted_connection.

    bool limits(const socket_address& peer) const noexcept {
        return per_address_max_ != 0 && !is_among(peer, exempt_);
    }
    /// Only where addresses are limited.
    /// @error too_many_of_address
    result<void> enter(const address_key& from);
    void leave(const std::optional<address_key>& from, offered_place& place) noexcept;
    /// @param descriptor  -1: it is not offered any more. Open until then.
    void offer(offered_place& place, int descriptor) noexcept;

private:
    void withdraw(offered_place& place) noexcept;
    bool take_offered_place() noexcept;

    const std::uint32_t max_;
    const std::uint32_t per_address_max_;
    const trusted_proxies exempt_;
    std::mutex mutex_; ///< Guards the members below.
    std::uint32_t count_ = 0;
    std::map<address_key, std::uint32_t> counts_; ///< Where addresses are limited. No value is 0.
    offered_place* first_offered_ = nullptr;      ///< The one that was offered first.
    offered_place* last_offered_ = nullptr;
};

/// One connection in the count of a connection_limiter.
///
/// @threads One at a time.
class counted_connection final : public ref_counted<counted_connection> {
public:
    explicit counted_connection(connection_limiter_ptr book) noexcept : book_(std::move(book)) {}
    ~counted_connection() { book_->leave(origin_, place_); }

    /// Counts it for the address of `peer`, once, unless that is exempt.
    /// @error too_many_of_address  The limit of the address is reached.
    /// @throws std::bad_alloc  Nothing changed.
    result<void> count_address(const socket_address& peer);

    /// Offers its place to a new connection, for which this one's descriptor is shut down.
    /// @param descriptor  -1: it is not offered any more. Open until then.
    void offer_place(int descriptor) noexcept { book_->offer(place_, descriptor); }

private:
    connection_limiter_ptr book_;
    std::optional<address_key> origin_;
    offered_place place_;
};

/// @return Null if the options neither limit connections nor let a proxy tell its client.
connection_limiter_ptr make_connection_limiter(const socket_options& options);

} // namespace zlink::transport
