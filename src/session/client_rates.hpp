// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "session/request_rate.hpp"
#include "transport/connection_limiter.hpp"

#include <map>
#include <mutex>

namespace zlink::session {

/// The rates of requests of clients behind proxies, whose requests share connections.
///
/// @threads any
class client_rates {
public:
    /// Clients whose rates are kept apart. Further ones share one rate, so that clients with many
    /// addresses take no more memory.
    static constexpr std::size_t clients_max = 10000;

    /// @param per_second  ZLINK_HTTP_REQUEST_RATE; at least 1.
    client_rates(int per_second, request_rate::clock::time_point now)
        : per_second_(per_second), others_(per_second, now), swept_(now) {}

    /// Counts a request. @return Whether it is allowed.
    /// @throws std::bad_alloc
    bool take(const transport::address_key& client, request_rate::clock::time_point now) {
        const std::lock_guard lock{mutex_};
        if (const auto found = rates_.find(client); found != rates_.end()) {
            return found->second.take(now);
        }
        if (rates_.size() >= clients_max && now - swept_ >= request_rate::period) {
            // Such a client may again send all that a new one may.
            std::erase_if(rates_, [&](const auto& each) { return each.second.is_rested(now); });
            swept_ = now;
        }
        if (rates_.size() >= clients_max) {
            return others_.take(now);
        }
        return rates_.emplace(client, request_rate{per_second_, now}).first->second.take(now);
    }

private:
    const int per_second_;
    std::mutex mutex_; ///< Guards the members below.
    std::map<transport::address_key, request_rate> rates_;
    request_rate others_; ///< Of all clients that are not among rates_.
    request_rate::clock::time_point swept_;
};

} // namespace zlink::session
