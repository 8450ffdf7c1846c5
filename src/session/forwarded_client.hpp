// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "transport/address.hpp"
#include "wire/http/forwarded.hpp"

#include <optional>

namespace zlink::session {

class connection;

/// Whether the peer of `over` is among ZLINK_TRUSTED_PROXIES.
bool comes_through_proxy(const connection& over) noexcept;

/// The client of a request that came over `over`, if that is another than the connection's peer: a
/// trusted proxy has to name it.
std::optional<transport::socket_address> client_of(const connection& over,
                                                   const wire::http::forwarding_fields& said);

} // namespace zlink::session
