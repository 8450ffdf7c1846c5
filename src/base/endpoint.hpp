// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zlink {

inline constexpr std::size_t host_bytes_max = 255;
inline constexpr std::size_t ipc_path_bytes_max = 107; ///< The limit of a sockaddr_un.
inline constexpr std::size_t inproc_name_bytes_max = 256;
inline constexpr std::size_t web_path_bytes_max = 2048; ///< Of ws and wss, the query included.

/// The error of an ipc path that is too long, ENAMETOOLONG as in libzmq.
inline constexpr errc path_too_long = static_cast<errc>(ENAMETOOLONG);

/// The part of an endpoint before the "://".
enum class scheme : std::uint8_t { tcp, ipc, inproc, tls, ws, wss, http, https, udp };

/// As it is spelled: "tcp".
constexpr std::string_view scheme_name(scheme named) noexcept {
    switch (named) {
    case scheme::tcp:
        break;
    case scheme::ipc:
        return "ipc";
    case scheme::inproc:
        return "inproc";
    case scheme::tls:
        return "tls";
    case scheme::ws:
        return "ws";
    case scheme::wss:
        return "wss";
    case scheme::http:
        return "http";
    case scheme::https:
        return "https";
    case scheme::udp:
        return "udp";
    }
    return "tcp";
}

/// Whether it runs over tcp or udp, so that its endpoints have a host and a port.
constexpr bool has_host(scheme asked) noexcept {
    return asked != scheme::ipc && asked != scheme::inproc;
}

/// Whether it runs over TLS.
constexpr bool is_encrypted(scheme asked) noexcept {
    return asked == scheme::tls || asked == scheme::wss || asked == scheme::https;
}

/// Whether it serves HTTP, and upgrades to WebSocket only some of its connections.
constexpr bool is_http(scheme asked) noexcept {
    return asked == scheme::http || asked == scheme::https;
}

/// Whether it begins with HTTP, so that its endpoints have a path.
constexpr bool is_web(scheme asked) noexcept {
    return asked == scheme::ws || asked == scheme::wss || is_http(asked);
}

/// The use of an endpoint: the rules differ.
enum class endpoint_use : std::uint8_t {
    listen, ///< zmq_bind
    dial,   ///< zmq_connect
};

/// One end of a connection over tcp, not resolved yet.
struct host_address {
    std::string host;       ///< A name, an address without brackets, an interface, or "*" (listen).
    std::string scope;      ///< After a '%' in the host: an interface's name or number.
    std::uint16_t port = 0; ///< Zero: the system chooses one.

    friend bool operator==(const host_address&, const host_address&) = default;
};

/// Where a socket listens or connects, as written. Nothing is resolved.
struct endpoint {
    scheme via = scheme::tcp;
    host_address address; ///< Where has_host(via).
    /// Likewise, dial only: where to connect from. Over udp, the interface of a multicast address,
    /// without a port.
    std::optional<host_address> source;

    /// ipc: the file's path, where "@name" is an abstract socket and "*", to listen, is a path that
    /// the library chooses. inproc: the name. ws and wss: the path with its query, "/" if there is
    /// none.
    std::string path;

    /// Spells the endpoint as ZMQ_LAST_ENDPOINT does: "tcp://127.0.0.1:5555", "tcp://[::1]:5555",
    /// "ws://127.0.0.1:80/", "ipc:///tmp/x", "inproc://x". Decoding it gives an equal endpoint.
    std::string text() const;

    friend bool operator==(const endpoint&, const endpoint&) = default;
};

/// Decodes `text`, e.g. "tcp://*:5555", "tcp://[fe80::1%eth0]:5555", "tcp://eth0:*",
/// "tcp://192.168.0.7:0;server:5555" (source; destination), "ipc:///tmp/x", "inproc://x". Host and
/// port of tls, ws and wss are those of tcp; a path may follow those of ws and wss, e.g.
/// "wss://example.org:443/chat?room=1". Over udp the interface of a multicast address may come
/// before it: "udp://eth0;239.0.0.1:5555".
///
/// The last colon separates host and port, so an IPv6 address needs no brackets. For listening any
/// host is accepted, as in libzmq: the resolver decides whether there is such an interface.
///
/// @error invalid_argument        Malformed: no "://" or nothing on a side of it; no port, or one
///                                that is not a number up to 65535 ("*" is valid where the port may
///                                be chosen); to dial, an impossible host, or port 0 of udp; an
///                                empty scope or interface; a path of ws or wss above
///                                web_path_bytes_max, with a fragment, or with bytes that are not
///                                allowed in a URI unescaped.
/// @error protocol_not_supported  The scheme is unknown. It is compared exactly.
/// @error path_too_long           An ipc path above ipc_path_bytes_max.
result<endpoint> decode_endpoint(std::string_view text, endpoint_use use);

} // namespace zlink
