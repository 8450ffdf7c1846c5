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
#include <sys/socket.h>
#include <vector>

namespace zlink::transport {

/// An address as the kernel takes it.
struct socket_address {
    sockaddr_storage storage{};
    socklen_t bytes = 0;

    int family() const noexcept { return storage.ss_family; }
    const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
    sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
};

/// The address of `from` if it can be told without asking a name server: a number, "*", or the name
/// of an interface. Nothing if it is a name.
std::optional<socket_address> local_address(const host_address& from, bool ipv6);

/// The addresses of a host, with no port, as the system's resolver knows them, in the order in
/// which to try them; at least one, at most limits::addresses_per_name_max.
/// @blocks  As long as the resolver does.
/// @error host_unreachable  There is no such name.
/// @error no_memory
/// @throws std::bad_alloc
result<std::vector<socket_address>> addresses_of(const std::string& host, bool ipv6);

/// @param of  An address of the internet.
void set_port(socket_address& of, std::uint16_t port) noexcept;

/// `where`, of a scheme that has hosts, as ZMQ_LAST_ENDPOINT of a socket spells it that listens
/// there: each of its addresses, of which a name may have several and one that is unknown has none.
/// @param asks_resolver  Whether it may be a name.
/// @blocks  As long as the resolver does, if it is a name.
std::vector<std::string> listening_texts(const endpoint& where, bool ipv6, bool asks_resolver);

/// @error path_too_long  It does not fit.
result<socket_address> unix_address(const std::string& path);

/// Where `descriptor` is bound, or is connected to, as an endpoint: "tcp://127.0.0.1:5555".
/// @param as  Whose scheme it has, and whose path if it has one, unless it is ipc.
std::string local_endpoint_text(int descriptor, const endpoint& as);
std::string peer_endpoint_text(const socket_address& peer, const endpoint& as);

/// Where the peer of `descriptor` is, or was if it has reset the connection; of no family if the
/// system does not know.
socket_address peer_address(int descriptor) noexcept;

/// An address of the internet.
/// @param host  In the order of the wire: 4 bytes, or 16.
socket_address internet_address(std::span<const std::byte> host, std::uint16_t port) noexcept;

/// The host of a peer; empty for ipc.
std::string peer_host(const socket_address& peer);
/// Who a peer is, as ZMTP's Peer-Address and ZAP have it: its host, or for ipc, as in libzmq, the
/// user, group and process that connected or listens, "localhost:UID:GID:PID".
/// @param descriptor  Of the connection.
std::string peer_name(const socket_address& peer, int descriptor);
/// Its tcp port; 0 for ipc.
std::uint16_t peer_port(const socket_address& peer) noexcept;

/// Whether the peer has not taken all that was written to `descriptor`, as far as the system knows.
bool holds_unsent(int descriptor) noexcept;

/// Has the system drop what the peer has not taken, and tell it so, when `descriptor` is closed.
void reset_when_closed(int descriptor) noexcept;

/// Whether both ends of a tcp connection are the same socket. That happens to who dials a local
/// port where nobody listens, time and again: some day the system chooses this very port for the
/// dialling end, and the two opens meet (RFC 9293, 3.5). Nobody can listen there as long as the
/// connection stands.
bool is_connected_to_itself(int descriptor) noexcept;

/// A socket that does not block, with the options applied that must precede connecting. To be
/// closed by close_descriptor().
/// @error  The system's.
result<int> open_socket(int family, const socket_options& options) noexcept;

/// Applies the options of a connected socket. What the kernel refuses is left at its default.
void tune_connection(int descriptor, const socket_options& options) noexcept;

} // namespace zlink::transport
