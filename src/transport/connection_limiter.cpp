// SPDX-License-Identifier: MPL-2.0
#include "transport/connection_limiter.hpp"

#include <cstring>
#include <netinet/in.h>
#include <new>
#include <sys/socket.h>

namespace zlink::transport {

std::optional<address_key> address_key_of(const socket_address& peer) noexcept {
    address_key made{};
    const auto take = [&](int family, const void* data, std::size_t bytes) {
        made[0] = static_cast<std::byte>(family);
        std::memcpy(made.data() + 1, data, bytes);
        return made;
    };
    if (peer.family() == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(peer.storage).sin_addr;
        return take(AF_INET, &v4, sizeof v4);
    }
    if (peer.family() != AF_INET6) {
        return std::nullopt;
    }
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(peer.storage).sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&v6)) {
        constexpr std::size_t prefix_bytes = sizeof v6 - sizeof(in_addr);
        return take(AF_INET, v6.s6_addr + prefix_bytes, sizeof(in_addr));
    }
    return take(AF_INET6, v6.s6_addr, sizeof v6 / 2);
}

result<counted_connection_ptr> connection_limiter::admit(const connection_limiter_ptr& into) {
    {
        const std::lock_guard lock{into->mutex_};
        if (into->max_ != 0 && into->count_ >= into->max_ && !into->take_offered_place()) {
            return too_many_connections;
        }
        ++into->count_;
    }
    if (auto* const made = new (std::nothrow) counted_connection(into)) {
        return counted_connection_ptr{made};
    }
    offered_place none;
    into->leave({}, none);
    throw std::bad_alloc{};
}

result<void> connection_limiter::enter(const address_key& from) {
    const std::lock_guard lock{mutex_};
    std::uint32_t& count = counts_[from];
    if (count >= per_address_max_) {
        return too_many_of_address;
    }
    ++count;
    return {};
}

void connection_limiter::leave(const std::optional<address_key>& from,
                               offered_place& place) noexcept {
    const std::lock_guard lock{mutex_};
    withdraw(place);
    count_ -= place.is_taken ? 0 : 1;
    if (!from) {
        return;
    }
    const auto found = counts_.find(*from);
    if (--found->second == 0) {
        counts_.erase(found);
    }
}

void connection_limiter::offer(offered_place& place, int descriptor) noexcept {
    const std::lock_guard lock{mutex_};
    withdraw(place);
    if (descriptor < 0 || place.is_taken) {
        return;
    }
    place.descriptor = descriptor;
    place.before = last_offered_;
    (last_offered_ != nullptr ? last_offered_->behind : first_offered_) = &place;
    last_offered_ = &place;
}

void connection_limiter::withdraw(offered_place& place) noexcept {
    if (place.descriptor < 0) {
        return;
    }
    (place.before != nullptr ? place.before->behind : first_offered_) = place.behind;
    (place.behind != nullptr ? place.behind->before : last_offered_) = place.before;
    place.before = place.behind = nullptr;
    place.descriptor = -1;
}

/// Shuts down the connection that was offered first: its thread finds that it has ended. Until then
/// there is one more than counted.
bool connection_limiter::take_offered_place() noexcept {
    offered_place* const taken = first_offered_;
    if (taken == nullptr) {
        return false;
    }
    ::shutdown(taken->descriptor, SHUT_RDWR);
    withdraw(*taken);
    taken->is_taken = true;
    --count_;
    return true;
}

result<void> counted_connection::count_address(const socket_address& peer) {
    if (origin_ || !book_->limits(peer)) {
        return {};
    }
    if (const auto from = address_key_of(peer)) {
        if (const result<void> entered = book_->enter(*from); !entered) {
            return entered;
        }
        origin_ = from;
    }
    return {};
}

connection_limiter_ptr make_connection_limiter(const socket_options& options) {
    if (options.connections_max == 0 && options.connections_per_address_max == 0 &&
        !options.proxy_protocol && options.trusted.is_empty()) {
        return nullptr;
    }
    return connection_limiter_ptr{new connection_limiter(
        options.connections_max, options.connections_per_address_max, options.trusted)};
}

} // namespace zlink::transport
