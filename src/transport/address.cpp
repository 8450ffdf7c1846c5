// SPDX-License-Identifier: MPL-2.0
#include "transport/address.hpp"

#include "base/error_text.hpp"
#include "base/limits.hpp"
#include "base/own_descriptors.hpp"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <ifaddrs.h>
#include <linux/sockios.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/un.h>
#include <unistd.h>

namespace zlink::transport {

namespace {

socket_address from_v4(in_addr host, std::uint16_t port) noexcept {
    socket_address made;
    auto& v4 = reinterpret_cast<sockaddr_in&>(made.storage);
    v4.sin_family = AF_INET;
    v4.sin_addr = host;
    v4.sin_port = htons(port);
    made.bytes = sizeof v4;
    return made;
}

socket_address from_v6(const in6_addr& host, std::uint32_t scope, std::uint16_t port) noexcept {
    socket_address made;
    auto& v6 = reinterpret_cast<sockaddr_in6&>(made.storage);
    v6.sin6_family = AF_INET6;
    v6.sin6_addr = host;
    v6.sin6_scope_id = scope;
    v6.sin6_port = htons(port);
    made.bytes = sizeof v6;
    return made;
}

std::uint32_t scope_number(const std::string& scope) noexcept {
    if (scope.empty()) {
        return 0;
    }
    const unsigned index = if_nametoindex(scope.c_str());
    return index != 0 ? index
                      : static_cast<std::uint32_t>(std::strtoul(scope.c_str(), nullptr, 10));
}

std::optional<socket_address> interface_address(const std::string& name, std::uint16_t port,
                                                bool ipv6) {
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0) {
        return std::nullopt;
    }
    std::optional<socket_address> found;
    for (const ifaddrs* each = all; each != nullptr && !found; each = each->ifa_next) {
        if (each->ifa_addr == nullptr || name != each->ifa_name) {
            continue;
        }
        if (!ipv6 && each->ifa_addr->sa_family == AF_INET) {
            found = from_v4(reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr, port);
        } else if (ipv6 && each->ifa_addr->sa_family == AF_INET6) {
            const auto& v6 = *reinterpret_cast<const sockaddr_in6*>(each->ifa_addr);
            found = from_v6(v6.sin6_addr, v6.sin6_scope_id, port);
        }
    }
    freeifaddrs(all);
    return found;
}

constexpr socklen_t host_bytes = INET6_ADDRSTRLEN + IF_NAMESIZE + 1;
using host_buffer = std::array<char, host_bytes>;

/// @return A view of `buffer`.
std::string_view host_text(const sockaddr_storage& storage, host_buffer& buffer) noexcept {
    buffer.front() = '\0';
    if (storage.ss_family == AF_INET) {
        inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(storage).sin_addr, buffer.data(),
                  host_bytes);
        return buffer.data();
    }
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(storage);
    inet_ntop(AF_INET6, &v6.sin6_addr, buffer.data(), host_bytes);
    std::size_t bytes = std::strlen(buffer.data());
    char name[IF_NAMESIZE];
    if (v6.sin6_scope_id != 0 && if_indextoname(v6.sin6_scope_id, name) != nullptr) {
        bytes += static_cast<std::size_t>(
            std::snprintf(buffer.data() + bytes, buffer.size() - bytes, "%%%s", name));
    }
    return {buffer.data(), bytes};
}

std::string host_text(const sockaddr_storage& storage) {
    host_buffer buffer;
    return std::string{host_text(storage, buffer)};
}

bool is_internet(const socket_address& address) noexcept {
    return address.family() == AF_INET || address.family() == AF_INET6;
}

/// @param address  An internet address: the port is at the same offset in both families.
std::uint16_t port_of(const socket_address& address) noexcept {
    return ntohs(reinterpret_cast<const sockaddr_in&>(address.storage).sin_port);
}

std::string unix_endpoint_text(const sockaddr_un& local, socklen_t bytes) {
    const std::size_t path_bytes = bytes - offsetof(sockaddr_un, sun_path);
    if (path_bytes == 0) {
        return "ipc://";
    }
    if (local.sun_path[0] == '\0') {
        return "ipc://@" + std::string(local.sun_path + 1, path_bytes - 1);
    }
    return "ipc://" + std::string(local.sun_path, strnlen(local.sun_path, path_bytes));
}

std::string endpoint_text(const socket_address& from, const endpoint& as) {
    if (from.family() == AF_UNIX) {
        return unix_endpoint_text(reinterpret_cast<const sockaddr_un&>(from.storage), from.bytes);
    }
    if (!is_internet(from)) {
        return {};
    }
    endpoint found;
    found.address = {host_text(from.storage), {}, port_of(from)};
    if (has_host(as.via)) {
        found.via = as.via;
        found.path = as.path;
    }
    return found.text();
}

/// The result of `ask`, getsockname or getpeername, for `descriptor`; empty if that fails.
socket_address address_of(int descriptor, decltype(::getsockname)* ask) noexcept {
    socket_address found;
    found.bytes = sizeof found.storage;
    if (ask(descriptor, found.get(), &found.bytes) != 0) {
        return {};
    }
    return found;
}

/// The peer's address of a connection that the peer has reset: getpeername(2) no longer returns it,
/// but this option does, with the same query as accept(2). It needs the exact size of the address.
socket_address former_peer_address(int descriptor) noexcept {
    for (const std::size_t bytes : {sizeof(sockaddr_in6), sizeof(sockaddr_in)}) {
        socket_address found;
        found.bytes = static_cast<socklen_t>(bytes);
        if (::getsockopt(descriptor, SOL_SOCKET, SO_PEERNAME, found.get(), &found.bytes) == 0) {
            return found;
        }
    }
    return {};
}

void set_number(int descriptor, int level, int option, int value) noexcept {
    ::setsockopt(descriptor, level, option, &value, sizeof value);
}

} // namespace

std::optional<socket_address> local_address(const host_address& from, bool ipv6) {
    if (from.host == "*") {
        return ipv6 ? from_v6(in6addr_any, 0, from.port) : from_v4({INADDR_ANY}, from.port);
    }
    in_addr v4;
    if (inet_pton(AF_INET, from.host.c_str(), &v4) == 1) {
        return from_v4(v4, from.port);
    }
    in6_addr v6;
    if (inet_pton(AF_INET6, from.host.c_str(), &v6) == 1) {
        return from_v6(v6, scope_number(from.scope), from.port);
    }
    return interface_address(from.host, from.port, ipv6);
}

result<std::vector<socket_address>> addresses_of(const std::string& host, bool ipv6) {
    addrinfo wanted{};
    wanted.ai_family = ipv6 ? AF_UNSPEC : AF_INET;
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* first = nullptr;
    if (const int failure = ::getaddrinfo(host.c_str(), nullptr, &wanted, &first); failure != 0) {
        return failure == EAI_MEMORY ? errc::no_memory : errc::host_unreachable;
    }
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner{first, &::freeaddrinfo};
    std::vector<socket_address> found;
    for (const addrinfo* each = first;
         each != nullptr && found.size() < limits::addresses_per_name_max; each = each->ai_next) {
        socket_address& added = found.emplace_back();
        std::memcpy(&added.storage, each->ai_addr, each->ai_addrlen);
        added.bytes = each->ai_addrlen;
    }
    return found;
}

void set_port(socket_address& of, std::uint16_t port) noexcept {
    reinterpret_cast<sockaddr_in&>(of.storage).sin_port = htons(port);
}

std::vector<std::string> listening_texts(const endpoint& where, bool ipv6, bool asks_resolver) {
    std::vector<std::string> texts;
    if (const auto address = local_address(where.address, ipv6)) {
        texts.push_back(endpoint_text(*address, where));
    } else if (asks_resolver) {
        const auto found = addresses_of(where.address.host, ipv6);
        for (socket_address each : found ? *found : std::vector<socket_address>{}) {
            set_port(each, where.address.port);
            texts.push_back(endpoint_text(each, where));
        }
    }
    return texts;
}

result<socket_address> unix_address(const std::string& path) {
    socket_address made;
    auto& local = reinterpret_cast<sockaddr_un&>(made.storage);
    if (path.empty() || path.size() >= sizeof local.sun_path) {
        return path_too_long;
    }
    local.sun_family = AF_UNIX;
    std::memcpy(local.sun_path, path.data(), path.size());
    made.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    if (path[0] == '@') {
        local.sun_path[0] = '\0';
    } else {
        ++made.bytes;
    }
    return made;
}

std::string local_endpoint_text(int descriptor, const endpoint& as) {
    return endpoint_text(address_of(descriptor, ::getsockname), as);
}

std::string peer_endpoint_text(const socket_address& peer, const endpoint& as) {
    return endpoint_text(peer, as);
}

socket_address peer_address(int descriptor) noexcept {
    const socket_address found = address_of(descriptor, ::getpeername);
    return found.bytes != 0 ? found : former_peer_address(descriptor);
}

socket_address internet_address(std::span<const std::byte> host, std::uint16_t port) noexcept {
    in_addr v4{};
    in6_addr v6{};
    if (host.size() == sizeof v4) {
        std::memcpy(&v4, host.data(), sizeof v4);
        return from_v4(v4, port);
    }
    std::memcpy(&v6, host.data(), sizeof v6);
    return from_v6(v6, 0, port);
}

std::string peer_host(const socket_address& peer) {
    return is_internet(peer) ? host_text(peer.storage) : std::string();
}

bool is_among(const socket_address& peer, const trusted_proxies& list) noexcept {
    switch (peer.family()) {
    case AF_INET: {
        const auto& host = reinterpret_cast<const sockaddr_in&>(peer.storage).sin_addr;
        return list.contains(std::as_bytes(std::span{&host, 1}));
    }
    case AF_INET6: {
        const auto& host = reinterpret_cast<const sockaddr_in6&>(peer.storage).sin6_addr;
        return list.contains(std::as_bytes(std::span{&host, 1}));
    }
    case AF_UNIX:
        return list.contains({});
    default:
        return false;
    }
}

std::string peer_name(const socket_address& peer, int descriptor) {
    if (peer.family() != AF_UNIX) {
        return peer_host(peer);
    }
    ucred who{};
    socklen_t bytes = sizeof who;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0) {
        return "localhost";
    }
    return "localhost:" + std::to_string(who.uid) + ":" + std::to_string(who.gid) + ":" +
           std::to_string(who.pid);
}

std::uint16_t peer_port(const socket_address& peer) noexcept {
    return is_internet(peer) ? port_of(peer) : std::uint16_t{0};
}

bool is_multicast(const socket_address& of) noexcept {
    if (of.family() == AF_INET6) {
        const in6_addr& host = reinterpret_cast<const sockaddr_in6&>(of.storage).sin6_addr;
        return IN6_IS_ADDR_MULTICAST(&host);
    }
    return IN_MULTICAST(ntohl(reinterpret_cast<const sockaddr_in&>(of.storage).sin_addr.s_addr));
}

bool is_same_host(const sockaddr& one, const socket_address& other) noexcept {
    if (one.sa_family != other.family()) {
        return false;
    }
    if (one.sa_family == AF_INET) {
        return reinterpret_cast<const sockaddr_in&>(one).sin_addr.s_addr ==
               reinterpret_cast<const sockaddr_in&>(other.storage).sin_addr.s_addr;
    }
    const in6_addr& host = reinterpret_cast<const sockaddr_in6&>(one).sin6_addr;
    return IN6_ARE_ADDR_EQUAL(&host,
                              &reinterpret_cast<const sockaddr_in6&>(other.storage).sin6_addr);
}

socket_address any_host(const socket_address& of) noexcept {
    return of.family() == AF_INET ? from_v4({INADDR_ANY}, port_of(of))
                                  : from_v6(in6addr_any, 0, port_of(of));
}

std::uint16_t local_port(int descriptor) noexcept {
    return peer_port(address_of(descriptor, ::getsockname));
}

std::size_t write_host_and_port(const socket_address& of,
                                std::span<char, host_and_port_bytes_max> out) noexcept {
    constexpr std::size_t v4_offset = 12; // Within an address of IPv6 that stands for one of IPv4.
    socket_address shown = of;
    if (of.family() == AF_INET6) {
        const in6_addr& host = reinterpret_cast<const sockaddr_in6&>(of.storage).sin6_addr;
        if (IN6_IS_ADDR_V4MAPPED(&host)) {
            in_addr v4{};
            std::memcpy(&v4, host.s6_addr + v4_offset, sizeof v4);
            shown = from_v4(v4, port_of(of));
        }
    }
    host_buffer buffer;
    const std::string_view host = host_text(shown.storage, buffer);
    const int written =
        std::snprintf(out.data(), out.size(), shown.family() == AF_INET ? "%.*s:%d" : "[%.*s]:%d",
                      static_cast<int>(host.size()), host.data(), port_of(shown));
    return static_cast<std::size_t>(written) + 1;
}

std::optional<socket_address> read_host_and_port(std::string_view text, int family) {
    if (text.ends_with('\0')) {
        text.remove_suffix(1);
    }
    const result<endpoint> decoded =
        decode_endpoint(std::string{"udp://"}.append(text), endpoint_use::dial);
    if (!decoded || decoded->source) {
        return {};
    }
    const host_address& wanted = decoded->address;
    in_addr v4{};
    if (inet_pton(AF_INET, wanted.host.c_str(), &v4) == 1) {
        if (family == AF_INET) {
            return from_v4(v4, wanted.port);
        }
        in6_addr mapped{};
        mapped.s6_addr[10] = mapped.s6_addr[11] = 0xff;
        std::memcpy(mapped.s6_addr + 12, &v4, sizeof v4);
        return from_v6(mapped, 0, wanted.port);
    }
    in6_addr v6{};
    if (family != AF_INET6 || inet_pton(AF_INET6, wanted.host.c_str(), &v6) != 1) {
        return {};
    }
    return from_v6(v6, scope_number(wanted.scope), wanted.port);
}

bool holds_unsent(int descriptor) noexcept {
    int bytes = 0;
    return ::ioctl(descriptor, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

void reset_when_closed(int descriptor) noexcept {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

bool is_connected_to_itself(int descriptor) noexcept {
    const socket_address local = address_of(descriptor, ::getsockname);
    const socket_address peer = address_of(descriptor, ::getpeername);
    return is_internet(local) && local.bytes == peer.bytes &&
           std::memcmp(&local.storage, &peer.storage, local.bytes) == 0;
}

result<int> open_socket(int family, const socket_options& options, int kind) noexcept {
    const int descriptor =
        open_descriptor([=] { return ::socket(family, kind | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
    if (descriptor < 0) {
        return static_cast<errc>(errno);
    }
    if (family == AF_INET6) {
        set_number(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    }
    if (options.send_buffer_bytes >= 0) {
        set_number(descriptor, SOL_SOCKET, SO_SNDBUF, options.send_buffer_bytes);
    }
    if (options.recv_buffer_bytes >= 0) {
        set_number(descriptor, SOL_SOCKET, SO_RCVBUF, options.recv_buffer_bytes);
    }
    if (!options.device.empty() &&
        ::setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, options.device.c_str(),
                     static_cast<socklen_t>(options.device.size())) != 0) {
        const int error = errno;
        close_descriptor(descriptor);
        std::array<char, 128> why{};
        std::snprintf(why.data(), why.size(), "ZLINK_BINDTODEVICE \"%s\": %s",
                      options.device.c_str(), std::strerror(error));
        set_error_text(why.data());
        return static_cast<errc>(error);
    }
    return descriptor;
}

void tune_connection(int descriptor, const socket_options& options) noexcept {
    sockaddr_storage storage{};
    socklen_t bytes = sizeof storage;
    if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&storage), &bytes) != 0 ||
        storage.ss_family == AF_UNIX) {
        return;
    }
    set_number(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
    if (options.keepalive >= 0) {
        set_number(descriptor, SOL_SOCKET, SO_KEEPALIVE, options.keepalive);
    }
    if (options.keepalive > 0) {
        if (options.keepalive_count > 0) {
            set_number(descriptor, IPPROTO_TCP, TCP_KEEPCNT, options.keepalive_count);
        }
        if (options.keepalive_idle > 0) {
            set_number(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, options.keepalive_idle);
        }
        if (options.keepalive_interval > 0) {
            set_number(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, options.keepalive_interval);
        }
    }
    if (options.tcp_retransmit_max > 0) {
        set_number(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, options.tcp_retransmit_max);
    }
    mark_packets(descriptor, options);
    if (options.busy_poll > 0) {
        set_number(descriptor, SOL_SOCKET, SO_BUSY_POLL, options.busy_poll);
    }
}

void mark_packets(int descriptor, const socket_options& options) noexcept {
    if (options.type_of_service != 0) {
        set_number(descriptor, IPPROTO_IP, IP_TOS, options.type_of_service);
        set_number(descriptor, IPPROTO_IPV6, IPV6_TCLASS, options.type_of_service);
    }
    if (options.priority != 0) {
        set_number(descriptor, SOL_SOCKET, SO_PRIORITY, options.priority);
    }
}

} // namespace zlink::transport
