// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/connection_counters.hpp"
#include "base/endpoint.hpp"
#include "base/result.hpp"
#include "base/socket_options.hpp"
#include "transport/address.hpp"
#include "transport/dialer.hpp"

#include <boost/asio/io_context.hpp>
#include <memory>

namespace zlink::transport {

/// A udp socket that receives at an endpoint.
struct bound_datagrams {
    int descriptor = -1; ///< To be closed by close_descriptor().
    endpoint where;      ///< With the chosen port.
};

/// Binds a udp socket to `where`. If that is a multicast address, the socket joins the group, on
/// the interface that `where` names, otherwise on the one that the system chooses; several sockets
/// may receive there.
/// @error invalid_argument  An interface is given, but no multicast address.
/// @error ENODEV            There is no such host or interface.
/// @error                   Other errors of the system.
/// @throws std::bad_alloc
result<bound_datagrams> bind_datagrams(const endpoint& where, const socket_options& options);

/// Checks an endpoint to send to, as far as no name server is needed for that.
/// @error  As bind_datagrams().
result<void> check_datagram_target(const endpoint& where, const socket_options& options);

/// Opens a udp socket that sends to `to`, an address of `where`.
/// @error  As bind_datagrams().
result<int> open_datagram_sender(const endpoint& where, const socket_address& to,
                                 const socket_options& options);

/// A dialer whose stream receives the datagrams of a bound socket, and with ZMQ_DGRAM also sends.
/// Should the stream be lost for lack of memory, the next attempt binds again.
/// @param bound     Its descriptor is taken over, also if this throws.
/// @param counters  As make_datagram_stream().
/// @throws std::bad_alloc
dialer_ptr make_datagram_dialer(boost::asio::io_context& reactor, bound_datagrams bound,
                                std::shared_ptr<const socket_options> options,
                                std::shared_ptr<connection_counters> counters);

} // namespace zlink::transport
