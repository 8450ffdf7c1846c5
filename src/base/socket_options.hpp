// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/network.hpp"
#include "base/security.hpp"
#include "base/socket_type.hpp"
#include "base/trusted_proxies.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace zlink {

using milliseconds = std::chrono::milliseconds;

/// The bits of ZMQ_RECONNECT_STOP.
struct reconnect_stop {
    static constexpr int connection_refused = 1;
    static constexpr int handshake_failed = 2;
    static constexpr int after_disconnect = 4;
    static constexpr int all = 7;
};

/// The changes that a ROUTER receives an empty message for, bits of ZMQ_ROUTER_NOTIFY.
struct router_notify {
    static constexpr int connect = 1;
    static constexpr int disconnect = 2;
    static constexpr int all = 3;
};

/// A listener's demand for client certificates, ZLINK_TLS_CLIENT_CERTIFICATES.
struct tls_client_certificates {
    static constexpr int none = 0;
    static constexpr int asked = 1; ///< A peer without one is accepted.
    static constexpr int required = 2;
};

/// Defaults of a STREAM, whose peers are untrusted and may vanish without notice.
struct stream_default {
    static constexpr std::int64_t message_bytes_max = std::int64_t{16} * 1024 * 1024;
    static constexpr int keepalive = 1;
    static constexpr int keepalive_idle = 60;
};

/// The error text for a STREAM that was configured to authenticate its peers by a mechanism of
/// ZMTP.
constexpr std::string_view lacks_security_text =
    "a ZLINK_STREAM has neither CURVE nor PLAIN nor ZAP; because an option asked for one of them "
    "it "
    "refuses all connections; use ZLINK_TLS_CLIENT_CERTIFICATES to authenticate peers";

/// The options that an application may set on a socket. There is no other source of settings. A
/// connection keeps the options that its socket had when it was bound or connected; options of the
/// socket itself take effect at once. The names and meanings are those of zmq_setsockopt(3).
struct socket_options {
    socket_type type = socket_type::pair;

    // Queues: messages per peer and direction; 0: no limit.
    int send_hwm = 1000;
    int recv_hwm = 1000;
    std::int64_t message_bytes_max = -1; ///< Largest message accepted from a peer; < 0: no limit.

    // Waiting, in milliseconds; -1: for ever.
    int linger = -1;
    int recv_timeout = -1;
    int send_timeout = -1;

    // Connections.
    std::uint64_t affinity = 0;     ///< I/O threads that may be used, by bit; 0: all.
    std::string routing_id;         ///< At most 255 bytes.
    std::string connect_routing_id; ///< For the next connect only.
    bool immediate = false;         ///< Queue only to peers that are connected.
    int reconnect_interval = 100;   ///< Milliseconds; -1: never.
    int reconnect_interval_max = 0; ///< Milliseconds; 0: always reconnect_interval.
    int handshake_interval = 30000; ///< Milliseconds; 0: no limit.
    int connect_timeout = 0;        ///< Milliseconds; 0: the system's.
    int heartbeat_interval = 0;     ///< Milliseconds; 0: none.
    int heartbeat_ttl = 0;          ///< Milliseconds; 0: none.
    int heartbeat_timeout = -1;     ///< Milliseconds; -1: heartbeat_interval.
    int backlog = 100;

    // The kernel's sockets; -1: its default.
    int send_buffer_bytes = -1;
    int recv_buffer_bytes = -1;
    int type_of_service = 0;
    int priority = 0;
    bool ipv6 = false;
    int keepalive = -1;
    int keepalive_count = -1;
    int keepalive_idle = -1;     ///< Seconds.
    int keepalive_interval = -1; ///< Seconds.
    int tcp_retransmit_max = 0;  ///< Milliseconds; 0: the system's.
    std::string device;          ///< Network interface; empty: any.
    int use_descriptor = -1;     ///< One that listens, for the next bind only; -1: none.
    bool reuse_port = false;     ///< Listening: others may listen at the same port.

    // Listeners.
    int connections_max = 0;             ///< At a time; 0: no limit.
    int connections_per_address_max = 0; ///< Of one address; 0: no limit.
    int http_request_rate = 0;           ///< Per second, of one connection; 0: no limit.
    bool proxy_protocol = false;         ///< A proxy sends the client's address first.
    std::string trusted_text;            ///< Of `trusted`, as it was given.
    trusted_proxies trusted;             ///< Their HTTP requests name the client's address.

    // Peers that may connect; empty: all.
    std::vector<network> tcp_accept_filters;
    std::vector<pid_t> ipc_filter_pids;
    std::vector<uid_t> ipc_filter_uids;
    std::vector<gid_t> ipc_filter_gids;

    int reconnect_stop = 0; ///< Bits of zlink::reconnect_stop.

    // The route of outgoing connections.
    std::string socks_proxy;    ///< "host:port" of a SOCKS5 proxy; empty: none.
    std::string socks_username; ///< Empty: no authentication to the proxy.
    secret_text socks_password;

    std::string name; ///< For metrics.

    // Patterns.
    bool conflate = false;
    bool invert_matching = false;
    bool xpub_verbose = false;
    bool xpub_verboser = false;
    bool xpub_no_drop = false;
    bool xpub_manual = false;
    bool xpub_manual_last_value = false;
    bool only_first_subscribe = false;
    std::string xpub_welcome;
    bool probe_router = false;
    bool router_mandatory = false;
    bool router_handover = false;
    bool req_correlate = false;
    bool req_relaxed = false;
    bool raw = false; ///< Peers send bytes, not frames: RAW_STREAM, and ROUTER with ZMQ_ROUTER_RAW.
    bool stream_notify = true;
    bool stream_events = true;
    // libzmq's draft options.
    std::string hello_message;      ///< Sent first over each connection; empty: none, as below.
    std::string disconnect_message; ///< Received in place of a peer that has gone.
    std::string hiccup_message;     ///< Received when a connection is lost that is made again.
    int router_notify = 0;          ///< Bits of zlink::router_notify.
    bool xsub_verbose_unsubscribe = false;
    int busy_poll = 0; ///< Microseconds, SO_BUSY_POLL. 0: the system's default.
    std::vector<std::pair<std::string, std::string>> metadata; ///< Properties for peers.

    int full_close_code = 0; ///< Of WebSocket close frames, for peers that are full; 0: they stay.

    // ws and wss: comma-separated lists.
    std::string web_origins;      ///< Pages that may connect; empty: all.
    std::string web_subprotocols; ///< The preferred one first; empty: none.

    // permessage-deflate, of a STREAM over ws and wss.
    bool web_deflate = false;
    int web_deflate_bytes_min = 256;  ///< Shorter messages are not compressed.
    int web_deflate_level = 6;        ///< Of zlib.
    int web_deflate_window = 15;      ///< Logarithm of the bytes.
    bool web_deflate_context = false; ///< Messages may refer to those before them.

    // Kept for getsockopt: the transports they belong to are not part of this library, or they
    // have no effect.
    int rate = 100;
    int recovery_interval = 10000;
    int multicast_max_tpdu = 1500;
    int in_batch_bytes = 8192;
    int out_batch_bytes = 8192;
    bool loopback_fast_path = false;

    // Of multicast over udp.
    int multicast_hops = 1;
    bool multicast_loop = true; ///< Sockets of the same machine receive it, too.

    // Mechanisms.
    security_mechanism mechanism = security_mechanism::null;
    bool as_server = false; ///< Of `mechanism`.
    std::string plain_username;
    secret_text plain_password;
    curve_public_key curve_public{};
    curve_secret_key curve_secret;
    curve_public_key curve_server{}; ///< The server's public key, for a client.
    // TLS, for endpoints that have it. Files are read at bind and connect.
    std::string tls_certificate; ///< Our chain, PEM, our own certificate first; empty: none.
    std::string tls_key;         ///< PEM; empty: it is in the file of the chain.
    secret_text tls_key_password;
    std::string tls_ca;              ///< PEM file or hashed folder; empty: the system's.
    bool tls_verify = true;          ///< Dialling: the peer's certificate and name are verified.
    std::string tls_hostname;        ///< The expected name; empty: the endpoint's host.
    int tls_client_certificates = 0; ///< Listening: a tls_client_certificates.
    int tls_min_version = 12;        ///< 12 or 13.
    std::string tls_ciphers; ///< Of TLS 1.2, in the syntax of ciphers(1); empty: the library's.
    std::string tls_ciphersuites; ///< Of TLS 1.3.
    std::string tls_alpn;         ///< Names, separated by commas, the preferred one first.
    bool tls_session_resumption = true;

    /// A mechanism, or ZAP, was requested where there is none: the application may assume that no
    /// peer connects without it.
    bool lacks_security = false;

    std::string zap_domain;
    bool zap_enforce_domain = false; ///< A domain without a ZAP handler accepts no peer.

    /// Whether only the newest is kept of the messages that wait to be sent to a peer, or were
    /// received from one.
    bool conflates_sent() const noexcept {
        return conflate && may_conflate_sent() && type != socket_type::xpub;
    }
    /// Whether a socket of this type can conflate the messages of each peer: it prepends nothing to
    /// a message.
    bool may_conflate_sent() const noexcept {
        return type == socket_type::push || type == socket_type::pub || type == socket_type::xpub ||
               type == socket_type::dealer;
    }
    bool conflates_received() const noexcept {
        return conflate && (type == socket_type::pull || type == socket_type::sub ||
                            type == socket_type::dealer);
    }

    /// Whether a pipe lives only as long as its connection, also for outgoing connections.
    bool has_pipe_per_connection() const noexcept {
        return immediate || type == socket_type::stream;
    }

    /// Whether it tells its peers which messages it wants: a new connection is told again.
    bool subscribes() const noexcept {
        return type == socket_type::sub || type == socket_type::xsub || type == socket_type::dish;
    }

    /// Whether a message has receivers of its own: room for one is no room for another.
    bool has_room_by_message() const noexcept {
        return type == socket_type::router || type == socket_type::raw_stream ||
               type == socket_type::stream || type == socket_type::server ||
               type == socket_type::peer || type == socket_type::pub || type == socket_type::xpub ||
               type == socket_type::radio;
    }

    /// The types that libzmq has these messages for.
    bool says_hello() const noexcept {
        return !hello_message.empty() && !raw &&
               (type == socket_type::dealer || type == socket_type::router ||
                type == socket_type::client || type == socket_type::server ||
                type == socket_type::peer);
    }
    bool hears_disconnects() const noexcept {
        return !disconnect_message.empty() &&
               (type == socket_type::router || type == socket_type::server ||
                type == socket_type::peer);
    }
    bool hears_hiccups() const noexcept {
        return !hiccup_message.empty() &&
               (type == socket_type::dealer || type == socket_type::client ||
                type == socket_type::peer);
    }

    /// Whether its peers do not speak ZMTP.
    bool has_foreign_peers() const noexcept { return raw || type == socket_type::stream; }

    bool is_server_of(security_mechanism asked) const noexcept {
        return as_server && mechanism == asked;
    }
};

} // namespace zlink
