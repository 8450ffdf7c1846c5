// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/endpoint.hpp"
#include "base/result.hpp"
#include "base/socket_options.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <vector>

namespace zlink::transport {

/// An address in the kernel's format.
struct socket_address {
    sockaddr_storage storage{};
    socklen_t bytes = 0;

    int family() const noexcept { return storage.ss_family; }
    const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
    sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
};

/// The address of `from` if no name server is needed for it: a number, "*", or the name of an
/// interface. Nothing if it is a name.
std::optional<socket_address> local_address(const host_address& from, bool ipv6);

/// The addresses of a host from the system's resolver, with no port, in the order in which to try
/// them; at least one, at most limits::addresses_per_name_max.
/// @blocks  As long as the resolver does.
/// @error host_unreachable  There is no such name.
/// @error no_memory
/// @throws std::bad_alloc
result<std::vector<socket_address>> addresses_of(const std::string& host, bool ipv6);

/// @param of  An internet address.
void set_port(socket_address& of, std::uint16_t port) noexcept;

/// The texts that ZMQ_LAST_ENDPOINT has for a socket that listens at `where`, of a scheme that has
/// hosts: one for each of its addresses; a name may have several and an unknown name has none.
/// @param asks_resolver  Whether it may be a name.
/// @blocks  As long as the resolver does, if it is a name.
std::vector<std::string> listening_texts(const endpoint& where, bool ipv6, bool asks_resolver);

/// @error path_too_long  It does not fit into the address.
result<socket_address> unix_address(const std::string& path);

/// The local or peer address of a connection as an endpoint: "tcp://127.0.0.1:5555".
/// @param as  Supplies the scheme and, if it has one, the path, unless it is ipc.
std::string local_endpoint_text(int descriptor, const endpoint& as);
std::string peer_endpoint_text(const socket_address& peer, const endpoint& as);

/// The address of the peer of `descriptor`, also after it has reset the connection; of no family if
/// the system does not know.
socket_address peer_address(int descriptor) noexcept;

/// An internet address.
/// @param host  In network byte order: 4 bytes, or 16.
socket_address internet_address(std::span<const std::byte> host, std::uint16_t port) noexcept;

/// @param of  An internet address, here and below.
bool is_multicast(const socket_address& of) noexcept;

/// Whether both have the same host. @param one  Of any family.
bool is_same_host(const sockaddr& one, const socket_address& other) noexcept;

/// The same port of any host of its family.
socket_address any_host(const socket_address& of) noexcept;

/// The port that a socket is bound to.
std::uint16_t local_port(int descriptor) noexcept;

/// The bytes that write_host_and_port() needs at most.
inline constexpr std::size_t host_and_port_bytes_max = 96;

/// Writes "127.0.0.1:5555" or "[::1]:5555", and a zero byte behind it. A host of IPv4 is written as
/// such, also if the socket is one of IPv6.
/// @return The bytes written, the zero byte included.
std::size_t write_host_and_port(const socket_address& of,
                                std::span<char, host_and_port_bytes_max> out) noexcept;

/// Reads what write_host_and_port() writes, with or without the zero byte.
/// @param family  Of the socket that is to send there.
/// @return Nothing if it is no address, or of no use to that family.
/// @throws std::bad_alloc
std::optional<socket_address> read_host_and_port(std::string_view text, int family);

/// The host of a peer; empty for ipc.
std::string peer_host(const socket_address& peer);
/// The name of a peer in ZMTP's Peer-Address and in ZAP: its host, or for ipc, as in libzmq, the
/// user, group and process that connected or listens, "localhost:UID:GID:PID".
/// @param descriptor  Of the connection.
std::string peer_name(const socket_address& peer, int descriptor);
/// Whether `peer` is one of the proxies in `list`.
bool is_among(const socket_address& peer, const trusted_proxies& list) noexcept;
/// Its tcp port; 0 for ipc.
std::uint16_t peer_port(const socket_address& peer) noexcept;

/// Whether the peer has not yet taken all bytes that were written to `descriptor`, as far as the
/// system knows.
bool holds_unsent(int descriptor) noexcept;

/// Makes the system discard the bytes that the peer has not taken, and reset the connection, when
/// `descriptor` is closed.
void reset_when_closed(int descriptor) noexcept;

/// Whether both ends of a tcp connection are the same socket. This happens when a local port
/// without a listener is dialled again and again: eventually the system chooses this very port for
/// the dialling end, and the two opens meet (RFC 9293, 3.5). No listener can use the port as long
/// as the connection exists.
bool is_connected_to_itself(int descriptor) noexcept;

/// Creates a non-blocking socket, with the options applied that must precede connecting. To be
/// closed by close_descriptor().
/// @param kind  SOCK_STREAM or SOCK_DGRAM.
/// @error  The system's.
result<int> open_socket(int family, const socket_options& options, int kind) noexcept;

/// Applies the options of a connected socket. Options that the kernel refuses keep their defaults.
void tune_connection(int descriptor, const socket_options& options) noexcept;

/// Applies the options for the headers of packets: ZMQ_TOS and ZMQ_PRIORITY.
void mark_packets(int descriptor, const socket_options& options) noexcept;

} // namespace zlink::transport
