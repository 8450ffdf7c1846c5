// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "transport/dialer.hpp"

#include <memory>

namespace zlink::transport {

/// A dialer that reaches `target` through a SOCKS5 proxy, as the user that the options name. The
/// proxy has as much time for its replies as a peer for its handshake (ZMQ_HANDSHAKE_IVL).
/// @param to_proxy  Reaches the proxy.
/// @param observer  As make_dialer().
dialer_ptr make_socks_dialer(boost::asio::io_context& reactor, dialer_ptr to_proxy,
                             const endpoint& target, std::shared_ptr<const socket_options> options,
                             std::shared_ptr<connection_observer> observer);

} // namespace zlink::transport
