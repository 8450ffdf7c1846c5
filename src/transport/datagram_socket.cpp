// SPDX-License-Identifier: MPL-2.0
#include "transport/datagram_socket.hpp"

#include "base/error_text.hpp"
#include "base/own_descriptors.hpp"
#include "runtime/post.hpp"
#include "transport/datagram_stream.hpp"

#include <cerrno>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>
#include <utility>

namespace zlink::transport {

namespace {

constexpr errc no_device = static_cast<errc>(ENODEV);

errc refuse(const std::string& why, errc as) {
    set_error_text(why);
    return as;
}

/// The number of the interface that `named` is, or that has it as its address.
/// @return 0 for "*": the system chooses.
result<unsigned> interface_number(const host_address& named) {
    if (named.host == "*") {
        return 0U;
    }
    if (const unsigned number = if_nametoindex(named.host.c_str()); number != 0) {
        return number;
    }
    const auto address = local_address(named, true);
    if (!address) {
        return refuse("there is no interface \"" + named.host + "\"", no_device);
    }
    if (is_multicast(*address)) {
        return refuse("\"" + named.host + "\" is a multicast address, not an interface",
                      errc::invalid_argument);
    }
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) {
        return static_cast<errc>(errno);
    }
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner{first, &::freeifaddrs};
    for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
        if (each->ifa_addr != nullptr && is_same_host(*each->ifa_addr, *address)) {
            return if_nametoindex(each->ifa_name);
        }
    }
    return refuse("no interface has the address \"" + named.host + "\"", no_device);
}

/// The interface for the datagrams of `where`, or its group.
/// @error  As bind_datagrams().
result<unsigned> interface_for(const endpoint& where, const socket_address& address) {
    if (!where.source) {
        const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(&address.storage);
        return address.family() == AF_INET6 ? v6->sin6_scope_id : 0U;
    }
    if (!is_multicast(address)) {
        return refuse("an interface before a semicolon needs a multicast address behind it",
                      errc::invalid_argument);
    }
    return interface_number(*where.source);
}

template<class Value>
bool set(int descriptor, int level, int option, const Value& value) noexcept {
    return ::setsockopt(descriptor, level, option, &value, sizeof value) == 0;
}

ip_mreqn membership(const socket_address& group, unsigned interface) noexcept {
    ip_mreqn made{};
    made.imr_multiaddr = reinterpret_cast<const sockaddr_in&>(group.storage).sin_addr;
    made.imr_ifindex = static_cast<int>(interface);
    return made;
}

/// Receives the datagrams of `group` and of no other, which other sockets have joined.
bool join(int descriptor, const socket_address& group, unsigned interface) noexcept {
    const int off = 0;
    if (group.family() == AF_INET) {
        return set(descriptor, IPPROTO_IP, IP_MULTICAST_ALL, off) &&
               set(descriptor, IPPROTO_IP, IP_ADD_MEMBERSHIP, membership(group, interface));
    }
    ipv6_mreq wanted{};
    wanted.ipv6mr_multiaddr = reinterpret_cast<const sockaddr_in6&>(group.storage).sin6_addr;
    wanted.ipv6mr_interface = interface;
    return set(descriptor, IPPROTO_IPV6, IPV6_MULTICAST_ALL, off) &&
           set(descriptor, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, wanted);
}

bool share_port(int descriptor) noexcept {
    const int on = 1;
    return set(descriptor, SOL_SOCKET, SO_REUSEADDR, on) &&
           set(descriptor, SOL_SOCKET, SO_REUSEPORT, on);
}

/// The way of multicast datagrams.
bool set_route(int descriptor, int family, unsigned interface,
               const socket_options& options) noexcept {
    const int hops = options.multicast_hops;
    const int loop = options.multicast_loop ? 1 : 0;
    if (family == AF_INET) {
        return set(descriptor, IPPROTO_IP, IP_MULTICAST_TTL, hops) &&
               set(descriptor, IPPROTO_IP, IP_MULTICAST_LOOP, loop) &&
               (interface == 0 ||
                set(descriptor, IPPROTO_IP, IP_MULTICAST_IF, membership({}, interface)));
    }
    return set(descriptor, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, hops) &&
           set(descriptor, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, loop) &&
           (interface == 0 || set(descriptor, IPPROTO_IPV6, IPV6_MULTICAST_IF, interface));
}

/// Opens a udp socket, and makes it what it has to be.
/// @param prepare  Returns false, and sets errno, if the system refuses.
template<class Prepare>
result<int> open_prepared(int family, const socket_options& options, Prepare&& prepare) {
    const result<int> opened = open_socket(family, options, SOCK_DGRAM);
    if (opened && !prepare(*opened)) {
        const auto error = static_cast<errc>(errno);
        close_descriptor(*opened);
        return error;
    }
    if (opened) {
        mark_packets(*opened, options);
    }
    return opened;
}

result<bound_datagrams> bind_at(const endpoint& where, const socket_address& address,
                                const socket_options& options) {
    const result<unsigned> interface = interface_for(where, address);
    if (!interface) {
        return interface.error();
    }
    const bool is_group = is_multicast(address);
    const socket_address place = is_group ? any_host(address) : address;
    const result<int> bound = open_prepared(address.family(), options, [&](int made) {
        return (!is_group || share_port(made)) &&
               set_route(made, address.family(), *interface, options) &&
               ::bind(made, place.get(), place.bytes) == 0 &&
               (!is_group || join(made, address, *interface));
    });
    if (!bound) {
        return bound.error();
    }
    bound_datagrams made{*bound, {}};
    try {
        made.where = where;
    } catch (...) {
        close_descriptor(*bound);
        throw;
    }
    made.where.address.port = local_port(*bound);
    return made;
}

/// Hands over the stream of a bound socket.
class datagram_dialer final : public dialer {
public:
    datagram_dialer(boost::asio::io_context& reactor, bound_datagrams bound,
                    std::shared_ptr<const socket_options> options,
                    std::shared_ptr<connection_counters> counters) noexcept
        : reactor_(reactor), bound_(std::move(bound)), options_(std::move(options)),
          counters_(std::move(counters)) {}
    ~datagram_dialer() override {
        if (bound_.descriptor >= 0) {
            close_descriptor(bound_.descriptor);
        }
    }

    void start(outcome_handler handler) override {
        handler_ = std::move(handler);
        runtime::post(reactor_, [self = boost::intrusive_ptr<datagram_dialer>(this)] {
            if (self->handler_) {
                self->attempt();
            }
        });
    }

    void stop() noexcept override { handler_ = nullptr; }

private:
    void attempt() {
        const outcome_handler handler = std::exchange(handler_, nullptr);
        if (bound_.descriptor < 0) {
            result<bound_datagrams> again = bind_datagrams(bound_.where, *options_);
            if (!again) {
                return handler(again.error());
            }
            bound_ = std::move(*again);
        }
        stream_ptr made =
            make_datagram_stream(reactor_, std::exchange(bound_.descriptor, -1),
                                 {.to = {},
                                  .is_addressed = options_->type == socket_type::dgram,
                                  .counters = counters_});
        handler(made ? result<stream_ptr>(std::move(made)) : errc::no_descriptors);
    }

    boost::asio::io_context& reactor_;
    bound_datagrams bound_; ///< Its descriptor is -1 once a stream has it.
    std::shared_ptr<const socket_options> options_;
    std::shared_ptr<connection_counters> counters_;
    outcome_handler handler_;
};

} // namespace

result<bound_datagrams> bind_datagrams(const endpoint& where, const socket_options& options) {
    const auto address = local_address(where.address, options.ipv6);
    if (!address) {
        return refuse("there is no interface \"" + where.address.host + "\"", no_device);
    }
    result<bound_datagrams> bound = bind_at(where, *address, options);
    if (!bound && bound.error() == static_cast<errc>(EAFNOSUPPORT) && options.ipv6 &&
        where.address.host == "*") {
        // A system without IPv6 still has its IPv4 wildcard.
        return bind_at(where, *local_address(where.address, false), options);
    }
    return bound;
}

result<void> check_datagram_target(const endpoint& where, const socket_options& options) {
    const auto address = local_address(where.address, options.ipv6);
    if (!address) {
        return {};
    }
    const result<unsigned> interface = interface_for(where, *address);
    return interface ? result<void>{} : interface.error();
}

result<int> open_datagram_sender(const endpoint& where, const socket_address& to,
                                 const socket_options& options) {
    const result<unsigned> interface = interface_for(where, to);
    if (!interface) {
        return interface.error();
    }
    return open_prepared(to.family(), options, [&](int made) {
        return set_route(made, to.family(), *interface, options);
    });
}

dialer_ptr make_datagram_dialer(boost::asio::io_context& reactor, bound_datagrams bound,
                                std::shared_ptr<const socket_options> options,
                                std::shared_ptr<connection_counters> counters) {
    const int descriptor = bound.descriptor;
    try {
        return dialer_ptr{new datagram_dialer(reactor, std::move(bound), std::move(options),
                                              std::move(counters))};
    } catch (...) {
        close_descriptor(descriptor); // Nothing was moved: there is no dialer.
        throw;
    }
}

} // namespace zlink::transport
