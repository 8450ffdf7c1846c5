// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/connection_counters.hpp"
#include "transport/address.hpp"
#include "transport/stream.hpp"

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <memory>

namespace zlink::transport {

/// The first part of what is read from a stream of addressed datagrams has this size.
inline constexpr std::size_t datagram_address_bytes = host_and_port_bytes_max;

/// The use of a udp socket.
struct datagram_use {
    socket_address to; ///< Of all datagrams; of no family: they are addressed, or none is sent.
    bool is_addressed = false;
    std::shared_ptr<connection_counters> counters; ///< Null: dropped datagrams are not counted.
};

/// A stream of datagrams: what is read or written with one call is one of them, and may be empty.
///
/// A datagram that the system refuses to send is dropped; so is one that is larger than the room to
/// read into. Errors that the system reports of earlier ones are ignored: such a stream never ends
/// by itself.
///
/// Where datagrams are addressed, the first part of the data is the text of the address that the
/// datagram comes from or goes to, as write_host_and_port() writes it, padded with zeros when it is
/// read; a datagram whose address is none is dropped.
/// @param descriptor  A udp socket; taken over.
/// @return Null if the reactor refused it (out of descriptors or memory); it is closed then.
stream_ptr make_datagram_stream(boost::asio::io_context& reactor, int descriptor,
                                datagram_use use) noexcept;

} // namespace zlink::transport
