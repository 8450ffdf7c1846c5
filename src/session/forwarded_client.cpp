// SPDX-License-Identifier: MPL-2.0
#include "session/forwarded_client.hpp"

#include "session/connection.hpp"

namespace zlink::session {

bool comes_through_proxy(const connection& over) noexcept {
    const trusted_proxies& trusted = over.options().trusted;
    return !trusted.is_empty() && transport::is_among(over.stream().peer(), trusted);
}

std::optional<transport::socket_address> client_of(const connection& over,
                                                   const wire::http::forwarding_fields& said) {
    if (!comes_through_proxy(over)) {
        return std::nullopt;
    }
    const auto found = wire::http::find_client(said, over.options().trusted);
    return found ? std::optional{transport::internet_address(found->address(), found->port)}
                 : std::nullopt;
}

} // namespace zlink::session
