// SPDX-License-Identifier: MPL-2.0
#include "api/boundary.hpp"
#include "api/handles.hpp"
#include "api/option_table.hpp"
#include "api/option_words.hpp"
#include "api/socket_types.hpp"
#include "api/symbols.hpp"
#include "api/text.hpp"
#include "base/error_text.hpp"

#include <algorithm>
#include <cstring>

namespace {

using zlink::errc;
using zlink::result;
using zlink::api::at_system_boundary;
using zlink::api::socket_from;

/// Calls `act` with the name of something. On failure error_text() gives the name and the reason.
/// @param what  For a name that is null: what it would name.
template<class Act>
int at_named(void* socket, const char* name, const char* what, Act&& act) {
    return at_system_boundary([&]() -> result<void> {
        zlink::set_error_text({});
        const auto target = socket_from(socket);
        if (!target) {
            zlink::api::tell_failure(name != nullptr ? name : "NULL", target.error());
            return target.error();
        }
        if (name == nullptr) {
            zlink::set_error_text(std::string{"the "}.append(what).append(" is a null pointer"));
            return errc::invalid_argument;
        }
        const result<void> done = act(**target, std::string_view{name});
        if (!done) {
            zlink::api::tell_failure(name, done.error());
        }
        return done;
    });
}

/// For bind, connect, and the calls that undo them.
template<class Act>
int at_endpoint(void* socket, const char* address, Act&& act) {
    return at_named(socket, address, "endpoint", act);
}

/// Calls `act` to set or read an option. On failure error_text() gives the reason.
template<class Act>
int at_option(void* socket, int option, Act&& act) {
    return at_system_boundary([&]() -> result<void> {
        const auto target = socket_from(socket);
        const result<void> done = target ? act(**target) : target.error();
        if (!done) [[unlikely]] {
            zlink::api::tell_option_failure(option, done.error());
        }
        return done;
    });
}

zlink_peer_t describe(const zlink::socket::socket::peer_state& from) noexcept {
    zlink_peer_t made{};
    zlink::api::copy_text(from.endpoint, made.endpoint);
    made.routing_id_size = std::min(from.routing_id.size(), sizeof made.routing_id);
    std::memcpy(made.routing_id, from.routing_id.data(), made.routing_id_size);
    made.messages = from.unsent.message_count;
    made.bytes = from.unsent.bytes;
    made.dropped = from.dropped_count;
    return made;
}

} // namespace

extern "C" void* zlink_socket(void* context, int type) {
    return at_system_boundary([&]() -> result<void*> {
        return zlink::api::at_context(context, [&](auto& owner) -> result<void*> {
            const auto known = zlink::api::type_from_c(type);
            if (!known) {
                return errc::invalid_argument;
            }
            const auto opened = owner.open_socket(*known);
            return opened ? result<void*>{*opened} : opened.error();
        });
    });
}
ZLINK_ALSO_ZMQ(socket)

extern "C" int zlink_close(void* socket) {
    return at_system_boundary([&]() -> result<void> {
        if (zlink::socket::socket::is_foreign(socket)) {
            zlink::socket::socket::forget_foreign(socket);
            return {};
        }
        auto target = socket_from(socket);
        if (!target) {
            return target.error();
        }
        target->close();
        return {};
    });
}
ZLINK_ALSO_ZMQ(close)

extern "C" int zlink_bind(void* socket, const char* endpoint) {
    return at_endpoint(socket, endpoint,
                       [](auto& target, auto address) { return target.bind(address); });
}
ZLINK_ALSO_ZMQ(bind)

extern "C" int zlink_connect(void* socket, const char* endpoint) {
    return at_endpoint(socket, endpoint,
                       [](auto& target, auto address) { return target.connect(address); });
}
ZLINK_ALSO_ZMQ(connect)

extern "C" int zlink_unbind(void* socket, const char* endpoint) {
    return at_endpoint(socket, endpoint,
                       [](auto& target, auto address) { return target.unbind(address); });
}
ZLINK_ALSO_ZMQ(unbind)

extern "C" int zlink_disconnect(void* socket, const char* endpoint) {
    return at_endpoint(socket, endpoint,
                       [](auto& target, auto address) { return target.disconnect(address); });
}
ZLINK_ALSO_ZMQ(disconnect)

extern "C" int zlink_socket_drain(void* socket, int timeout) {
    return at_system_boundary([&]() -> result<void> {
        const auto target = socket_from(socket);
        if (!target) {
            return target.error();
        }
        if (timeout < -1) {
            return zlink::errc::invalid_argument;
        }
        const auto until = timeout < 0 ? zlink::pipe::deadline{}
                                       : zlink::pipe::clock::now() + zlink::milliseconds(timeout);
        return (*target)->drain(until);
    });
}

extern "C" int zlink_setsockopt(void* socket, int option, const void* value, size_t size) {
    return at_option(socket, option, [&](auto& target) {
        return zlink::api::set_option(target, option, value, size);
    });
}
ZLINK_ALSO_ZMQ(setsockopt)

extern "C" int zlink_getsockopt(void* socket, int option, void* value, size_t* size) {
    return at_option(socket, option, [&](auto& target) {
        return zlink::api::read_option(target, option, value, size);
    });
}
ZLINK_ALSO_ZMQ(getsockopt)

namespace {

/// @param rules  Nothing if the call's arguments are out of range.
int start_monitor(void* socket, const char* endpoint,
                  const std::optional<zlink::socket::monitor_rules>& rules) {
    return at_system_boundary([&]() -> result<void> {
        const auto target = socket_from(socket);
        if (!target) {
            return target.error();
        }
        if ((*target)->is_terminated()) {
            return errc::terminated;
        }
        if (!rules) {
            return errc::invalid_argument;
        }
        if (endpoint == nullptr) {
            (*target)->stop_monitor();
            return {};
        }
        return (*target)->start_monitor(endpoint, *rules);
    });
}

std::optional<zlink::socket::monitor_rules> monitor_rules_of(std::uint64_t events, int version,
                                                             int type) {
    using zlink::socket::monitor_version;
    const auto chosen = zlink::api::type_from_c(type);
    const bool may_report = chosen == zlink::socket_type::pair ||
                            chosen == zlink::socket_type::pub || chosen == zlink::socket_type::push;
    if (!may_report || (version != 1 && version != 2) ||
        (version == 1 && (events & ~std::uint64_t{ZLINK_EVENT_ALL}) != 0)) {
        return {};
    }
    return zlink::socket::monitor_rules{
        events, version == 1 ? monitor_version::one : monitor_version::two, *chosen};
}

} // namespace

extern "C" int zlink_socket_monitor(void* socket, const char* endpoint, int events) {
    return start_monitor(
        socket, endpoint,
        monitor_rules_of(static_cast<std::uint64_t>(std::int64_t{events}), 1, ZLINK_PAIR));
}
ZLINK_ALSO_ZMQ(socket_monitor)

extern "C" int zlink_socket_monitor_versioned(void* socket, const char* endpoint, uint64_t events,
                                              int version, int type) {
    return start_monitor(socket, endpoint, monitor_rules_of(events, version, type));
}
ZLINK_ALSO_ZMQ(socket_monitor_versioned)

extern "C" int zlink_socket_monitor_pipes_stats(void* socket) {
    return at_system_boundary([&]() -> result<void> {
        const auto target = socket_from(socket);
        return target ? (*target)->report_statistics() : target.error();
    });
}
ZLINK_ALSO_ZMQ(socket_monitor_pipes_stats)

extern "C" int zlink_socket_peers(void* socket, zlink_peer_t* peers, size_t capacity) {
    return at_system_boundary([&]() -> result<int> {
        const auto target = socket_from(socket);
        if (!target) {
            return target.error();
        }
        if (peers == nullptr && capacity != 0) {
            return errc::invalid_argument;
        }
        const auto found = (*target)->peers();
        if (!found) {
            return found.error();
        }
        for (std::size_t index = 0; index < std::min(found->size(), capacity); ++index) {
            peers[index] = describe((*found)[index]);
        }
        return static_cast<int>(found->size());
    });
}

extern "C" int zlink_stream_peer(void* socket, const void* routing_id, zlink_peer_t* peer) {
    return at_system_boundary([&]() -> result<void> {
        const auto target = socket_from(socket);
        if (!target) {
            return target.error();
        }
        if ((*target)->type() != zlink::socket_type::stream) {
            return errc::not_supported;
        }
        if (routing_id == nullptr || peer == nullptr) {
            return errc::invalid_argument;
        }
        constexpr std::size_t id_bytes = 4;
        const auto found =
            (*target)->peer_of({static_cast<const std::byte*>(routing_id), id_bytes});
        if (!found) {
            return found.error();
        }
        *peer = describe(*found);
        return {};
    });
}

extern "C" int zlink_socket_notify(void* socket, zlink_notify_fn* notified, void* hint) {
    return at_system_boundary([&]() -> result<void> {
        const auto target = socket_from(socket);
        if (!target) {
            return target.error();
        }
        // After the shutdown, too, the function that was set has to be forgotten: it may go.
        const bool is_over = (*target)->is_terminated();
        (*target)->set_notified(is_over ? nullptr : notified, hint);
        return is_over ? result<void>{errc::terminated} : result<void>{};
    });
}

namespace {

int change_group(void* dish, const char* group, bool join) noexcept {
    return at_named(dish, group, "group",
                    [&](auto& target, auto name) { return target.change_group(name, join); });
}

} // namespace

extern "C" int zlink_join(void* dish, const char* group) {
    return change_group(dish, group, true);
}
ZLINK_ALSO_ZMQ(join)

extern "C" int zlink_leave(void* dish, const char* group) {
    return change_group(dish, group, false);
}
ZLINK_ALSO_ZMQ(leave)

extern "C" uint32_t zlink_connect_peer(void* socket, const char* endpoint) {
    std::uint32_t routing_id = 0;
    const int failed =
        at_endpoint(socket, endpoint, [&](auto& target, auto address) -> result<void> {
            const auto connected = target.connect_peer(address);
            routing_id = connected ? *connected : 0;
            return connected ? result<void>{} : connected.error();
        });
    return failed != 0 ? 0 : routing_id;
}
ZLINK_ALSO_ZMQ(connect_peer)

extern "C" int zlink_disconnect_peer(void* socket, uint32_t routing_id) {
    return at_system_boundary([&]() -> result<void> {
        const auto target = socket_from(socket);
        return target ? (*target)->disconnect_peer(routing_id) : target.error();
    });
}
ZLINK_ALSO_ZMQ(disconnect_peer)

extern "C" int zlink_socket_get_peer_state(void* socket, const void* routing_id, size_t size) {
    return at_system_boundary([&]() -> result<int> {
        const auto target = socket_from(socket);
        if (!target) {
            return target.error();
        }
        if (routing_id == nullptr) {
            return errc::invalid_argument;
        }
        const auto has_room = (*target)->has_room_for({static_cast<const char*>(routing_id), size});
        return has_room ? result<int>{*has_room ? ZLINK_POLLOUT : 0} : has_room.error();
    });
}
ZLINK_ALSO_ZMQ(socket_get_peer_state)
