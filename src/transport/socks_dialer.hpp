// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "transport/dialer.hpp"
#include "wire/socks.hpp"

#include <memory>
#include <string>

namespace zlink::transport {

/// A dialer that goes through a SOCKS5 proxy.
/// @param to_proxy  Reaches the proxy.
/// @param target_text  What the observer is told that it was about.
/// @param observer     As make_dialer().
dialer_ptr make_socks_dialer(dialer_ptr to_proxy, wire::socks_request wanted,
                             std::string target_text,
                             std::shared_ptr<connection_observer> observer);

} // namespace zlink::transport
