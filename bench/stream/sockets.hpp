// SPDX-License-Identifier: MPL-2.0
//
// The socket options of the servers and the load client.

#pragma once

#include "arguments.hpp"

#include <cstdint>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace stream_bench {

struct socket_settings {
    int send_buffer_bytes = 262144; // 0: the system's default.
    int recv_buffer_bytes = 262144;
};

inline void set_option(int descriptor, int level, int name, int value) {
    setsockopt(descriptor, level, name, &value, sizeof value);
}

inline void set_options(int descriptor, const socket_settings& settings) {
    set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
    if (settings.send_buffer_bytes > 0) {
        set_option(descriptor, SOL_SOCKET, SO_SNDBUF, settings.send_buffer_bytes);
    }
    if (settings.recv_buffer_bytes > 0) {
        set_option(descriptor, SOL_SOCKET, SO_RCVBUF, settings.recv_buffer_bytes);
    }
}

inline sockaddr_in loopback_address(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

/// Listens on loopback; several threads may listen on one port, and the system distributes the
/// peers. Accepted sockets inherit the buffer sizes, which therefore apply from the first byte on.
inline int listen_on(std::uint16_t port, int backlog, const socket_settings& settings) {
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) {
        fail("socket");
    }
    set_option(descriptor, SOL_SOCKET, SO_REUSEADDR, 1);
    set_option(descriptor, SOL_SOCKET, SO_REUSEPORT, 1);
    set_options(descriptor, settings);
    const sockaddr_in address = loopback_address(port);
    if (bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        fail("bind");
    }
    if (listen(descriptor, backlog) != 0) {
        fail("listen");
    }
    return descriptor;
}

} // namespace stream_bench
