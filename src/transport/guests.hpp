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

namespace zlink::transport {

inline constexpr errc too_many_guests = static_cast<errc>(EUSERS);
inline constexpr errc too_many_of_address = static_cast<errc>(EDQUOT);

class guest;
using guest_ptr = boost::intrusive_ptr<guest>;
class guest_book;
using guest_book_ptr = boost::intrusive_ptr<guest_book>;

/// What connections of one address have in common: all of an IPv4 address, also where it comes as
/// an IPv6 one; of an IPv6 address the first 64 bits, which are one customer's.
using guest_origin = std::array<std::byte, 9>;

/// Nothing for what is no address of the internet.
std::optional<guest_origin> guest_origin_of(const socket_address& peer) noexcept;

/// Counts the connections that came in at a listener and stand, in all and by address.
///
/// @threads any
class guest_book final : public ref_counted<guest_book> {
public:
    /// @param max              ZLINK_MAX_CONNECTIONS; 0: no limit.
    /// @param per_address_max  ZLINK_MAX_CONNECTIONS_PER_ADDRESS; 0: no limit.
    guest_book(int max, int per_address_max) noexcept
        : max_(static_cast<std::uint32_t>(max)),
          per_address_max_(static_cast<std::uint32_t>(per_address_max)) {}

    /// Counts one more connection, for as long as the guest lives.
    /// @error too_many_guests  There are as many as there may be.
    /// @throws std::bad_alloc  Nothing changed.
    static result<guest_ptr> admit(const guest_book_ptr& into);

    // For guests.

    bool limits_addresses() const noexcept { return per_address_max_ != 0; }
    /// Only where addresses are limited.
    /// @error too_many_of_address
    result<void> enter(const guest_origin& from);
    void leave(const std::optional<guest_origin>& from) noexcept;

private:
    const std::uint32_t max_;
    const std::uint32_t per_address_max_;
    std::mutex mutex_; ///< Guards what follows.
    std::uint32_t count_ = 0;
    std::map<guest_origin, std::uint32_t> counts_; ///< Where addresses are limited. None is 0.
};

/// One connection, as a guest_book counts it.
///
/// @threads One at a time.
class guest final : public ref_counted<guest> {
public:
    explicit guest(guest_book_ptr book) noexcept : book_(std::move(book)) {}
    ~guest() { book_->leave(origin_); }

    /// Says where it comes from, once.
    /// @error too_many_of_address  There are as many from there as there may be.
    /// @throws std::bad_alloc  Nothing changed.
    result<void> come_from(const socket_address& peer);

private:
    guest_book_ptr book_;
    std::optional<guest_origin> origin_;
};

/// @return Null if the options neither limit connections nor have proxies announce them.
guest_book_ptr make_guest_book(const socket_options& options);

} // namespace zlink::transport
