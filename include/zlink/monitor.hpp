// SPDX-License-Identifier: MPL-2.0
//
// Events of a socket's connections.
#pragma once

#include <zlink/socket.hpp>

#include <atomic>
#include <cstring>
#include <string>

namespace zlink {

/// Kinds of events, or-ed in a mask. zlink.h says what the value of each one is.
enum class connection_event : unsigned {
    connected = ZLINK_EVENT_CONNECTED,
    connect_delayed = ZLINK_EVENT_CONNECT_DELAYED,
    connect_retried = ZLINK_EVENT_CONNECT_RETRIED,
    listening = ZLINK_EVENT_LISTENING,
    bind_failed = ZLINK_EVENT_BIND_FAILED,
    accepted = ZLINK_EVENT_ACCEPTED,
    accept_failed = ZLINK_EVENT_ACCEPT_FAILED,
    closed = ZLINK_EVENT_CLOSED,
    close_failed = ZLINK_EVENT_CLOSE_FAILED,
    disconnected = ZLINK_EVENT_DISCONNECTED,
    monitor_stopped = ZLINK_EVENT_MONITOR_STOPPED,
    handshake_failed_no_detail = ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL,
    handshake_succeeded = ZLINK_EVENT_HANDSHAKE_SUCCEEDED,
    handshake_failed_protocol = ZLINK_EVENT_HANDSHAKE_FAILED_PROTOCOL,
    handshake_failed_auth = ZLINK_EVENT_HANDSHAKE_FAILED_AUTH,
    certificate_expires = ZLINK_EVENT_CERTIFICATE_EXPIRES,
    message_dropped = ZLINK_EVENT_MESSAGE_DROPPED,
    all = ZLINK_EVENT_ALL,
};
constexpr connection_event operator|(connection_event one, connection_event other) noexcept {
    return static_cast<connection_event>(static_cast<unsigned>(one) | static_cast<unsigned>(other));
}

struct monitor_event {
    connection_event what;
    int value;
    std::string endpoint;
};

/// Receives the events of one socket. A socket has one monitor at a time; a later one replaces it.
///
/// @threads One at a time, which may be another one than the monitored socket's.
class monitor {
public:
    /// @param owner  The context of the socket.
    /// @param which  The kinds of events.
    /// @throws std::system_error
    monitor(context& owner, any_socket& watched, connection_event which = connection_event::all)
        : events_(owner) {
        static std::atomic<unsigned> count{0};
        const std::string name = "inproc://zlink.monitor." + std::to_string(++count);
        if (zlink_socket_monitor(watched.native_handle(), name.c_str(), static_cast<int>(which)) !=
            0) {
            detail::raise(last_error());
        }
        events_.connect(name, throws);
    }

    /// The next event; connection_event::monitor_stopped is the last one.
    /// @throws std::bad_alloc
    result<monitor_event> recv(flags how = flags::none) {
        message head;
        message endpoint;
        if (const auto received = events_.recv(head, how); !received) {
            return received.error();
        }
        if (const auto received = events_.recv(endpoint); !received) {
            return received.error();
        }
        std::uint16_t what = 0;
        std::int32_t value = 0;
        std::memcpy(&what, head.data(), sizeof what);
        std::memcpy(&value, head.data() + sizeof what, sizeof value);
        return monitor_event{static_cast<connection_event>(what), value,
                             std::string(endpoint.text())};
    }
    monitor_event recv(throws_t) { return detail::unwrap(recv()); }

    /// For poll() and options such as the timeout.
    pair_socket& socket() noexcept { return events_; }

private:
    pair_socket events_;
};

} // namespace zlink
