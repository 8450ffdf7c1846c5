// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace zlink {

/// Events of a socket's listeners and connections. The numbers are those of ZMQ_EVENT_*. The
/// comment of each gives the meaning of its value (zmq_socket_monitor(3)).
enum class connection_event : std::uint32_t {
    connected = 0x0001,                  ///< The descriptor.
    connect_delayed = 0x0002,            ///< errno: connecting goes on in the background.
    connect_retried = 0x0004,            ///< Milliseconds until the next attempt.
    listening = 0x0008,                  ///< The descriptor.
    bind_failed = 0x0010,                ///< errno.
    accepted = 0x0020,                   ///< The descriptor.
    accept_failed = 0x0040,              ///< errno.
    closed = 0x0080,                     ///< The descriptor: listening or connecting ended.
    close_failed = 0x0100,               ///< errno. Never happens here.
    disconnected = 0x0200,               ///< The descriptor.
    monitor_stopped = 0x0400,            ///< 0.
    handshake_failed_no_detail = 0x0800, ///< errno: the connection was lost. From 200 up the HTTP
                                         ///< status of a server that refused; a space and its
                                         ///< text then follow the endpoint.
    handshake_succeeded = 0x1000,        ///< 0.
    handshake_failed_protocol = 0x2000,  ///< A protocol_fault.
    handshake_failed_auth = 0x4000,      ///< The status with which ZAP refused: 300, 400 or 500.
    certificate_expires = 0x8000, ///< Seconds until an own certificate expires; negative: since.
    pipe_statistics = 0x10000,    ///< Messages that wait to be sent, then those to be received.
    message_dropped = 0x8200, ///< Size in bytes: two connections ended while the message was sent.
};

/// The bit that stands for `what` in a watcher's mask of events.
constexpr unsigned watched_bit(connection_event what) noexcept {
    return static_cast<unsigned>(
        what == connection_event::message_dropped ? connection_event::disconnected : what);
}

/// How a peer, or a ZAP handler, broke its protocol. The numbers are those of ZMQ_PROTOCOL_ERROR_*.
enum class protocol_fault : std::int32_t {
    zmtp_unspecified = 0x10000000,
    unexpected_command = 0x10000001,
    invalid_sequence = 0x10000002,
    key_exchange = 0x10000003,
    malformed_command = 0x10000011,
    malformed_message = 0x10000012,
    malformed_hello = 0x10000013,
    malformed_initiate = 0x10000014,
    malformed_error = 0x10000015,
    malformed_ready = 0x10000016,
    malformed_welcome = 0x10000017,
    invalid_metadata = 0x10000018,
    cryptographic = 0x11000001,
    mechanism_mismatch = 0x11000002,
    zap_unspecified = 0x20000000,
    zap_malformed_reply = 0x20000001,
    zap_bad_request_id = 0x20000002,
    zap_bad_version = 0x20000003,
    zap_invalid_status_code = 0x20000004,
    zap_invalid_metadata = 0x20000005,
    websocket_unspecified = 0x30000000,
};

/// The endpoints that an event concerns.
struct event_place {
    std::string_view shown; ///< The local one if it was bound, else the peer's; may have a remark.
    std::string_view local{}; ///< Empty: there is none, or it is not known; likewise the peer's.
    std::string_view peer{};
};

constexpr event_place at_bound(std::string_view local) noexcept {
    return {local, local, {}};
}
constexpr event_place at_dialled(std::string_view peer) noexcept {
    return {peer, {}, peer};
}

/// Receives the connection events of one socket.
///
/// @threads Any.
class connection_observer {
public:
    virtual ~connection_observer() = default;

    /// Whether any watcher wants `what`: collecting the details of an event may be expensive.
    virtual bool watches(connection_event what) const noexcept = 0;

    /// Whether a watcher wants the endpoints of both ends of a connection.
    virtual bool wants_both_ends() const noexcept { return false; }

    /// Never blocks.
    /// @param value  As connection_event documents.
    virtual void on_connection_event(connection_event what, std::int32_t value,
                                     const event_place& where) noexcept = 0;
};

} // namespace zlink
