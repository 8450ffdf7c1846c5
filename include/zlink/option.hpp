// SPDX-License-Identifier: MPL-2.0
//
// The options of sockets, for socket.set() and socket.get(). Written by
// scripts/make_option_header.py; docs/options.md has ranges and defaults.
#pragma once

#include <zlink/context.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace zlink {

/// The types of sockets that have an option, as bits.
namespace detail {

constexpr unsigned bit_of(pattern type) noexcept {
    return type == pattern::stream ? 1U << 31U : 1U << static_cast<unsigned>(type);
}
constexpr unsigned every_pattern = ~0U;
constexpr unsigned all_but_stream = ~bit_of(pattern::stream);
template<class... Types>
constexpr unsigned only(Types... types) noexcept {
    return (bit_of(types) | ...);
}

/// Bytes that are not a text.
struct octets {};

/// An option of a socket.
/// @tparam Value  bool, int, std::int64_t, std::uint64_t, std::chrono::milliseconds or seconds,
///                std::string, or octets, which are read as std::string and set from any bytes.
template<int Number, class Value, bool IsRead, bool IsWritten, unsigned Patterns = every_pattern>
struct socket_option {};

} // namespace detail

namespace option {

/// Bit n allows I/O thread n. 0: all.
inline constexpr detail::socket_option<ZLINK_AFFINITY, std::uint64_t, true, true> affinity{};
/// Largest number waiting to be accepted.
inline constexpr detail::socket_option<ZLINK_BACKLOG, int, true, true> backlog{};
/// Network interface to use.
inline constexpr detail::socket_option<ZLINK_BINDTODEVICE, std::string, true, true> bindtodevice{};
/// Keep only the newest message from and for each peer, and only its last frame; with PUSH, PULL,
/// PUB, SUB and DEALER.
inline constexpr detail::socket_option<ZLINK_CONFLATE, bool, true, true, detail::all_but_stream>
    conflate{};
/// Name for the peer of the next zlink_connect.
inline constexpr detail::socket_option<ZLINK_CONNECT_ROUTING_ID, detail::octets, false, true,
                                       detail::only(pattern::rep, pattern::router,
                                                    pattern::raw_stream)>
    connect_routing_id{};
/// Timeout of connecting. 0: the system's default.
inline constexpr detail::socket_option<ZLINK_CONNECT_TIMEOUT, std::chrono::milliseconds, true, true>
    connect_timeout{};
/// This socket's public key, 32 bytes or 40 characters of Z85.
inline constexpr detail::socket_option<ZLINK_CURVE_PUBLICKEY, detail::octets, true, true,
                                       detail::all_but_stream>
    curve_publickey{};
/// This socket's secret key.
inline constexpr detail::socket_option<ZLINK_CURVE_SECRETKEY, detail::octets, true, true,
                                       detail::all_but_stream>
    curve_secretkey{};
/// Act as the CURVE server.
inline constexpr detail::socket_option<ZLINK_CURVE_SERVER, bool, true, true, detail::all_but_stream>
    curve_server{};
/// The server's public key.
inline constexpr detail::socket_option<ZLINK_CURVE_SERVERKEY, detail::octets, true, true,
                                       detail::all_but_stream>
    curve_serverkey{};
/// Number dropped so far, which libzmq does not report. It counts messages that a publisher or
/// ROUTER dropped because the peer was full, that a ROUTER or REP dropped because the peer was
/// unknown or had disconnected, that were queued for a peer that disconnected, that had arrived
/// over a connection that zlink_disconnect closed, that ZLINK_CONFLATE replaced, and that had
/// several frames where the type allows one. Only the metrics count dropped datagrams.
inline constexpr detail::socket_option<ZLINK_DROPPED, std::uint64_t, true, false> dropped{};
/// ZLINK_POLLIN | ZLINK_POLLOUT, for calls that would not block.
inline constexpr detail::socket_option<ZLINK_EVENTS, int, true, false> events{};
/// Descriptor that becomes readable when ZLINK_EVENTS may have changed; edge-triggered. Without I/O
/// threads it does so only while another caller drives, or after zlink_ctx_fd in zlink_ctx_run;
/// before zlink_ctx_fd reading the option of a STREAM fails with EMTHREAD.
inline constexpr detail::socket_option<ZLINK_FD, int, true, false> fd{};
/// Timeout of the handshake. 0: no limit.
inline constexpr detail::socket_option<ZLINK_HANDSHAKE_IVL, std::chrono::milliseconds, true, true>
    handshake_ivl{};
/// Interval of ZMTP or WebSocket pings. 0: none.
inline constexpr detail::socket_option<ZLINK_HEARTBEAT_IVL, std::chrono::milliseconds, true, true>
    heartbeat_ivl{};
/// Silence after which this socket closes the connection. -1: ZLINK_HEARTBEAT_IVL.
inline constexpr detail::socket_option<ZLINK_HEARTBEAT_TIMEOUT, std::chrono::milliseconds, true,
                                       true>
    heartbeat_timeout{};
/// Silence after which the peer may close the connection. 0: none.
inline constexpr detail::socket_option<ZLINK_HEARTBEAT_TTL, std::chrono::milliseconds, true, true,
                                       detail::all_but_stream>
    heartbeat_ttl{};
/// Largest number on one connection to an endpoint with http or https, on average over 10 s. A
/// further one is answered with 429, and the connection closed. With ZLINK_TRUSTED_PROXIES each
/// client behind a proxy has this limit, too. 0: no limit.
inline constexpr detail::socket_option<ZLINK_HTTP_REQUEST_RATE, int, true, true,
                                       detail::only(pattern::stream)>
    http_request_rate{};
/// Queue messages only for established connections.
inline constexpr detail::socket_option<ZLINK_IMMEDIATE, bool, true, true, detail::all_but_stream>
    immediate{};
/// Deliver messages that match no subscription.
inline constexpr detail::socket_option<ZLINK_INVERT_MATCHING, bool, true, true,
                                       detail::all_but_stream>
    invert_matching{};
/// Accept ipc peers of this group.
inline constexpr detail::socket_option<ZLINK_IPC_FILTER_GID, int, false, true> ipc_filter_gid{};
/// Accept ipc peers of this process.
inline constexpr detail::socket_option<ZLINK_IPC_FILTER_PID, int, false, true> ipc_filter_pid{};
/// Accept ipc peers of this user.
inline constexpr detail::socket_option<ZLINK_IPC_FILTER_UID, int, false, true> ipc_filter_uid{};
/// The opposite of ZLINK_IPV6.
inline constexpr detail::socket_option<ZLINK_IPV4ONLY, bool, true, true> ipv4only{};
/// IPv6 and IPv4 instead of IPv4 only.
inline constexpr detail::socket_option<ZLINK_IPV6, bool, true, true> ipv6{};
/// The endpoint bound or connected last, with wildcards resolved.
inline constexpr detail::socket_option<ZLINK_LAST_ENDPOINT, std::string, true, false>
    last_endpoint{};
/// How long a closed socket goes on sending queued messages; of that, peers of a STREAM have at
/// most 5 s to disconnect. SUB and XSUB: 0. -1: no limit.
inline constexpr detail::socket_option<ZLINK_LINGER, std::chrono::milliseconds, true, true>
    linger{};
/// No effect, as in libzmq except on Windows.
inline constexpr detail::socket_option<ZLINK_LOOPBACK_FASTPATH, bool, true, true,
                                       detail::all_but_stream>
    loopback_fastpath{};
/// Largest frame accepted. Default of a STREAM: 16777216. -1: no limit.
inline constexpr detail::socket_option<ZLINK_MAXMSGSIZE, std::int64_t, true, true> maxmsgsize{};
/// Largest number open at a time; a further one is closed at once, and monitors report
/// ZLINK_EVENT_ACCEPT_FAILED with EUSERS. With http and https a further one instead replaces the
/// connection that has waited longest for a request, if any waits. 0: no limit.
inline constexpr detail::socket_option<ZLINK_MAX_CONNECTIONS, int, true, true> max_connections{};
/// Largest number from one address; a further one is treated as with ZLINK_MAX_CONNECTIONS, with
/// EDQUOT. IPv6 addresses with the same first 64 bits count as one; an IPv4 address in one
/// (::ffff:/96) counts as the IPv4 address. Peers over ipc have no address. 0: no limit.
inline constexpr detail::socket_option<ZLINK_MAX_CONNECTIONS_PER_ADDRESS, int, true, true>
    max_connections_per_address{};
/// ZLINK_NULL, ZLINK_PLAIN or ZLINK_CURVE, as other options select. 0: ZLINK_NULL.
inline constexpr detail::socket_option<ZLINK_MECHANISM, int, true, false> mechanism{};
/// "X-NAME:VALUE", a property that peers of later connections read with zlink_msg_gets. If a name
/// is set several times, the first value counts; at most 128 properties.
inline constexpr detail::socket_option<ZLINK_METADATA, detail::octets, false, true,
                                       detail::all_but_stream>
    metadata{};
/// Multicast.
inline constexpr detail::socket_option<ZLINK_MULTICAST_HOPS, int, true, true,
                                       detail::all_but_stream>
    multicast_hops{};
/// Multicast datagrams reach sockets of the same machine, too.
inline constexpr detail::socket_option<ZLINK_MULTICAST_LOOP, bool, true, true,
                                       detail::all_but_stream>
    multicast_loop{};
/// Multicast.
inline constexpr detail::socket_option<ZLINK_MULTICAST_MAXTPDU, int, true, true,
                                       detail::all_but_stream>
    multicast_maxtpdu{};
/// Frames of a multipart message are subscriptions only if its first frame is one.
inline constexpr detail::socket_option<ZLINK_ONLY_FIRST_SUBSCRIBE, bool, false, true,
                                       detail::only(pattern::pub, pattern::xpub, pattern::xsub)>
    only_first_subscribe{};
/// The PLAIN client's password.
inline constexpr detail::socket_option<ZLINK_PLAIN_PASSWORD, std::string, true, true,
                                       detail::all_but_stream>
    plain_password{};
/// Act as the PLAIN server.
inline constexpr detail::socket_option<ZLINK_PLAIN_SERVER, bool, true, true, detail::all_but_stream>
    plain_server{};
/// Act as a PLAIN client of that name.
inline constexpr detail::socket_option<ZLINK_PLAIN_USERNAME, std::string, true, true,
                                       detail::all_but_stream>
    plain_username{};
/// SO_PRIORITY. 0: the system's default.
inline constexpr detail::socket_option<ZLINK_PRIORITY, int, true, true> priority{};
/// Send each new peer an empty message, for ROUTER peers.
inline constexpr detail::socket_option<ZLINK_PROBE_ROUTER, bool, false, true,
                                       detail::only(pattern::req, pattern::rep, pattern::dealer,
                                                    pattern::router)>
    probe_router{};
/// Connections come through a proxy, which first sends its client's address (PROXY protocol 1 or 2,
/// at most 4096 bytes). That is used as the peer's address everywhere, also for
/// ZLINK_MAX_CONNECTIONS_PER_ADDRESS; ZLINK_TCP_ACCEPT_FILTER checks the proxy's. A peer that sends
/// something else, or nothing within ZLINK_HANDSHAKE_IVL, is disconnected:
/// ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL with EAGAIN, EPROTO, EMSGSIZE or EDQUOT.
inline constexpr detail::socket_option<ZLINK_PROXY_PROTOCOL, bool, true, true> proxy_protocol{};
/// Multicast.
inline constexpr detail::socket_option<ZLINK_RATE, int, true, true, detail::all_but_stream> rate{};
/// SO_RCVBUF. -1: the system's default.
inline constexpr detail::socket_option<ZLINK_RCVBUF, int, true, true> rcvbuf{};
/// Largest number queued from a peer. 0: no limit.
inline constexpr detail::socket_option<ZLINK_RCVHWM, int, true, true> rcvhwm{};
/// More frames follow the frame received last.
inline constexpr detail::socket_option<ZLINK_RCVMORE, bool, true, false> rcvmore{};
/// Timeout of receiving. -1: no limit.
inline constexpr detail::socket_option<ZLINK_RCVTIMEO, std::chrono::milliseconds, true, true>
    rcvtimeo{};
/// Delay before reconnecting. -1: never reconnect.
inline constexpr detail::socket_option<ZLINK_RECONNECT_IVL, std::chrono::milliseconds, true, true>
    reconnect_ivl{};
/// The delay doubles up to this value. 0: it is constant.
inline constexpr detail::socket_option<ZLINK_RECONNECT_IVL_MAX, std::chrono::milliseconds, true,
                                       true>
    reconnect_ivl_max{};
/// ZLINK_RECONNECT_STOP_*, or-ed: when not to reconnect. 0: always reconnect.
inline constexpr detail::socket_option<ZLINK_RECONNECT_STOP, int, true, true> reconnect_stop{};
/// Multicast.
inline constexpr detail::socket_option<ZLINK_RECOVERY_IVL, std::chrono::milliseconds, true, true,
                                       detail::all_but_stream>
    recovery_ivl{};
/// Match replies to requests.
inline constexpr detail::socket_option<ZLINK_REQ_CORRELATE, bool, false, true,
                                       detail::only(pattern::req)>
    req_correlate{};
/// A new request may replace an unanswered one.
inline constexpr detail::socket_option<ZLINK_REQ_RELAXED, bool, false, true,
                                       detail::only(pattern::req)>
    req_relaxed{};
/// Several sockets, also of several processes, may be bound to one tcp port if all of them set
/// this; the system distributes connections among them (SO_REUSEPORT).
inline constexpr detail::socket_option<ZLINK_REUSE_PORT, bool, true, true> reuse_port{};
/// A new peer takes over a name that is in use.
inline constexpr detail::socket_option<ZLINK_ROUTER_HANDOVER, bool, false, true,
                                       detail::only(pattern::rep, pattern::router)>
    router_handover{};
/// Sending to an unknown peer fails with EHOSTUNREACH.
inline constexpr detail::socket_option<ZLINK_ROUTER_MANDATORY, bool, false, true,
                                       detail::only(pattern::rep, pattern::router)>
    router_mandatory{};
/// Peers do not speak ZMTP.
inline constexpr detail::socket_option<ZLINK_ROUTER_RAW, bool, false, true,
                                       detail::only(pattern::router, pattern::rep)>
    router_raw{};
/// The name under which a ROUTER peer knows this socket.
inline constexpr detail::socket_option<ZLINK_ROUTING_ID, detail::octets, true, true,
                                       detail::all_but_stream>
    routing_id{};
/// SO_SNDBUF. -1: the system's default.
inline constexpr detail::socket_option<ZLINK_SNDBUF, int, true, true> sndbuf{};
/// Largest number queued for a peer. 0: no limit.
inline constexpr detail::socket_option<ZLINK_SNDHWM, int, true, true> sndhwm{};
/// Timeout of sending. -1: no limit.
inline constexpr detail::socket_option<ZLINK_SNDTIMEO, std::chrono::milliseconds, true, true>
    sndtimeo{};
/// A name of the socket, which is a label of its metrics (zlink_metrics). Unset: none.
inline constexpr detail::socket_option<ZLINK_SOCKET_NAME, std::string, true, true> socket_name{};
/// Password at the SOCKS5 proxy.
inline constexpr detail::socket_option<ZLINK_SOCKS_PASSWORD, std::string, true, true>
    socks_password{};
/// "host:port" of a SOCKS5 proxy for connections over tcp, tls, ws and wss; the proxy resolves
/// their host names. TLS is end-to-end, with the peer behind the proxy.
inline constexpr detail::socket_option<ZLINK_SOCKS_PROXY, std::string, true, true> socks_proxy{};
/// User name at the SOCKS5 proxy. Unset: no authentication.
inline constexpr detail::socket_option<ZLINK_SOCKS_USERNAME, std::string, true, true>
    socks_username{};
/// A message of three frames reports each connect and disconnect.
inline constexpr detail::socket_option<ZLINK_STREAM_EVENTS, bool, true, true,
                                       detail::only(pattern::stream)>
    stream_events{};
/// Close code, 1000 or above, as zlink_stream_close takes it. A call that would fail with EAGAIN
/// because the peer has ZLINK_SNDHWM messages queued disconnects that peer at once, as
/// zlink_stream_abort does with this code, and fails with EHOSTUNREACH. zlink_stream_send_many,
/// which never blocks, does so with each full peer. 0: full peers stay connected.
inline constexpr detail::socket_option<ZLINK_STREAM_FULL_CLOSE, int, true, true,
                                       detail::only(pattern::stream)>
    stream_full_close{};
/// An empty frame reports each connect and disconnect.
inline constexpr detail::socket_option<ZLINK_STREAM_NOTIFY, bool, false, true,
                                       detail::only(pattern::raw_stream)>
    stream_notify{};
/// Receive messages that begin with it.
inline constexpr detail::socket_option<ZLINK_SUBSCRIBE, detail::octets, false, true,
                                       detail::only(pattern::sub)>
    subscribe{};
/// Accept tcp peers from this network; may be set several times. NULL: from all.
inline constexpr detail::socket_option<ZLINK_TCP_ACCEPT_FILTER, std::string, false, true>
    tcp_accept_filter{};
/// SO_KEEPALIVE. Default of a STREAM: 1. -1: the system's default.
inline constexpr detail::socket_option<ZLINK_TCP_KEEPALIVE, int, true, true> tcp_keepalive{};
/// TCP_KEEPCNT. -1: the system's default.
inline constexpr detail::socket_option<ZLINK_TCP_KEEPALIVE_CNT, int, true, true>
    tcp_keepalive_cnt{};
/// TCP_KEEPIDLE. Default of a STREAM: 60. -1: the system's default.
inline constexpr detail::socket_option<ZLINK_TCP_KEEPALIVE_IDLE, std::chrono::seconds, true, true>
    tcp_keepalive_idle{};
/// TCP_KEEPINTVL. -1: the system's default.
inline constexpr detail::socket_option<ZLINK_TCP_KEEPALIVE_INTVL, std::chrono::seconds, true, true>
    tcp_keepalive_intvl{};
/// TCP_USER_TIMEOUT. 0: the system's default.
inline constexpr detail::socket_option<ZLINK_TCP_MAXRT, std::chrono::milliseconds, true, true>
    tcp_maxrt{};
/// Several threads may use the socket at the same time; cannot be unset. 1 for the draft types.
inline constexpr detail::socket_option<ZLINK_THREAD_SAFE, bool, true, true> thread_safe{};
/// Protocol names to negotiate, separated by commas, the preferred one first. A client that offers
/// only others is refused. Unset: its offer is ignored.
inline constexpr detail::socket_option<ZLINK_TLS_ALPN, std::string, true, true> tls_alpn{};
/// PEM file, or its contents, or folder of files named by openssl-rehash(1), with the trusted
/// authorities. Unset: the system's.
inline constexpr detail::socket_option<ZLINK_TLS_CA, std::string, true, true> tls_ca{};
/// PEM file with this side's certificate, followed by the certificates of the chain up to its
/// authority; or its contents, with a line `-----BEGIN CERTIFICATE-----`.
inline constexpr detail::socket_option<ZLINK_TLS_CERTIFICATE, std::string, true, true>
    tls_certificate{};
/// Ciphers of TLS 1.2 as in openssl-ciphers(1). Unset: AES-GCM and ChaCha20-Poly1305 with ECDHE.
inline constexpr detail::socket_option<ZLINK_TLS_CIPHERS, std::string, true, true> tls_ciphers{};
/// Cipher suites of TLS 1.3. Unset: all three with AES-GCM or ChaCha20-Poly1305.
inline constexpr detail::socket_option<ZLINK_TLS_CIPHERSUITES, std::string, true, true>
    tls_ciphersuites{};
/// Whether peers that connect must have a certificate. 1: one is requested, 2: required; it must be
/// from an authority in ZLINK_TLS_CA. 0: none is requested.
inline constexpr detail::socket_option<ZLINK_TLS_CLIENT_CERTIFICATES, int, true, true>
    tls_client_certificates{};
/// The name or address that the peer's certificate must have among its alternative names when this
/// socket connects; a common name does not count. A name, not an address, is also sent to the peer
/// (SNI), without a dot at its end. A name with letters beyond ASCII is given as "xn--...". Unset:
/// the endpoint's host.
inline constexpr detail::socket_option<ZLINK_TLS_HOSTNAME, std::string, true, true> tls_hostname{};
/// PEM file with this side's key, or its contents. Unset: it is in the file of
/// ZLINK_TLS_CERTIFICATE.
inline constexpr detail::socket_option<ZLINK_TLS_KEY, std::string, true, true> tls_key{};
/// The password of an encrypted key.
inline constexpr detail::socket_option<ZLINK_TLS_KEY_PASSWORD, std::string, false, true>
    tls_key_password{};
/// Oldest TLS version allowed: 12 (1.2) or 13 (1.3).
inline constexpr detail::socket_option<ZLINK_TLS_MIN_VERSION, int, true, true> tls_min_version{};
/// Takes no value; setting it reads the files of all bound endpoints again, from the paths in these
/// options. Connected peers stay. If a file is wrong nothing changes.
inline constexpr detail::socket_option<ZLINK_TLS_RELOAD, detail::octets, false, true> tls_reload{};
/// A connection may resume an earlier TLS session, with a shorter handshake.
inline constexpr detail::socket_option<ZLINK_TLS_SESSION_RESUMPTION, bool, true, true>
    tls_session_resumption{};
/// A peer that this socket connects to must have a certificate for its name from a trusted
/// authority. With 0 the peer is not authenticated.
inline constexpr detail::socket_option<ZLINK_TLS_VERIFY, bool, true, true> tls_verify{};
/// Number of topics subscribed to; for a publisher, by its peers.
inline constexpr detail::socket_option<ZLINK_TOPICS_COUNT, int, true, false,
                                       detail::only(pattern::pub, pattern::sub, pattern::xpub,
                                                    pattern::xsub)>
    topics_count{};
/// IP type of service.
inline constexpr detail::socket_option<ZLINK_TOS, int, true, true> tos{};
/// Addresses of proxies, separated by commas: `10.0.0.7`, `2001:db8::/32`, `unix` for those over
/// ipc. In a request from one of them (http, ws, and with TLS), the fields X-Forwarded-For and
/// Forwarded (RFC 7239) name the client: it is the last address in them that is not in this list.
/// This address replaces the proxy's: for a WebSocket peer everywhere, for other requests in
/// zlink_http_record_t and for ZLINK_HTTP_REQUEST_RATE. ZLINK_MAX_CONNECTIONS_PER_ADDRESS counts
/// the peers behind a proxy, and not the proxy's own connections. Fields that are malformed or
/// contradict each other are ignored. A request that the application receives has X-Forwarded-For
/// with this address alone, and X-Forwarded-Proto, or neither. Any other text gives EINVAL. Unset:
/// no peer is trusted.
inline constexpr detail::socket_option<ZLINK_TRUSTED_PROXIES, std::string, true, true>
    trusted_proxies{};
/// The socket's type.
inline constexpr detail::socket_option<ZLINK_TYPE, int, true, false> type{};
/// Removes one such subscription.
inline constexpr detail::socket_option<ZLINK_UNSUBSCRIBE, detail::octets, false, true,
                                       detail::only(pattern::sub)>
    unsubscribe{};
/// A listening descriptor that the next bind takes over. -1: none.
inline constexpr detail::socket_option<ZLINK_USE_FD, int, true, true> use_fd{};
/// Messages may be compressed if the peer supports it. The connecting side offers it, the bound
/// side accepts. The sending thread compresses. If ZLINK_MAXMSGSIZE is -1, a peer whose message
/// inflates to more than 64 MiB is disconnected with 1009.
inline constexpr detail::socket_option<ZLINK_WS_DEFLATE, bool, true, true,
                                       detail::only(pattern::stream)>
    ws_deflate{};
/// Number of compressions so far; a zlink_stream_send_many counts once for each window size among
/// its peers.
inline constexpr detail::socket_option<ZLINK_WS_DEFLATED, std::uint64_t, true, false,
                                       detail::only(pattern::stream)>
    ws_deflated{};
/// A message may refer to earlier ones, if the peer allows it too. Short messages get much smaller,
/// but each connection takes up to 384 KiB more from the first compressed message it sends on, and
/// up to 96 KiB from the first it receives. With 0 neither side may keep state between messages: a
/// client that ignores the answer `client_no_context_takeover` is disconnected with 1007 at its
/// first message that refers to an earlier one. zlink_stream_send_many always compresses a payload
/// once for all peers; the next message then starts without context.
inline constexpr detail::socket_option<ZLINK_WS_DEFLATE_CONTEXT, bool, true, true,
                                       detail::only(pattern::stream)>
    ws_deflate_context{};
/// Zlib's level, from 1 (fast) to 9 (small).
inline constexpr detail::socket_option<ZLINK_WS_DEFLATE_LEVEL, int, true, true,
                                       detail::only(pattern::stream)>
    ws_deflate_level{};
/// Shorter messages are not compressed.
inline constexpr detail::socket_option<ZLINK_WS_DEFLATE_MIN, int, true, true,
                                       detail::only(pattern::stream)>
    ws_deflate_min{};
/// Base-2 logarithm of the compression window in bytes, in both directions; for the peer's messages
/// if it agrees. A smaller window takes less memory.
inline constexpr detail::socket_option<ZLINK_WS_DEFLATE_WINDOW, int, true, true,
                                       detail::only(pattern::stream)>
    ws_deflate_window{};
/// Origins of pages that may connect, separated by commas: `https://example.org`, without a path
/// and the scheme's own port; `*.example.org` for its subdomains with any scheme and port,
/// `https://*.example.org` with this scheme; `null` for a page without an origin of its own; `*`
/// for all, also `null`. A text that cannot be the origin of a page gives EINVAL. A client that
/// sends no origin may always connect. Unset: all. Applies to every socket type.
inline constexpr detail::socket_option<ZLINK_WS_ORIGINS, std::string, true, true> ws_origins{};
/// Subprotocols of a STREAM, separated by commas, the preferred one first. A server selects the
/// first of them that the client offers, or none. Other socket types have those of ZWS 2.0; a
/// STREAM refuses clients that offer only these.
inline constexpr detail::socket_option<ZLINK_WS_SUBPROTOCOLS, std::string, true, true>
    ws_subprotocols{};
/// Subscriptions take effect when the application sets ZLINK_SUBSCRIBE and ZLINK_UNSUBSCRIBE, for
/// the peer that it received from last.
inline constexpr detail::socket_option<ZLINK_XPUB_MANUAL, bool, false, true,
                                       detail::only(pattern::pub, pattern::xpub)>
    xpub_manual{};
/// As ZLINK_XPUB_MANUAL; also, the first message sent after receiving a subscription or other
/// message from a peer goes to that peer only.
inline constexpr detail::socket_option<ZLINK_XPUB_MANUAL_LAST_VALUE, bool, false, true,
                                       detail::only(pattern::pub, pattern::xpub)>
    xpub_manual_last_value{};
/// Block or fail with EAGAIN instead of dropping.
inline constexpr detail::socket_option<ZLINK_XPUB_NODROP, bool, false, true,
                                       detail::only(pattern::pub, pattern::xpub,
                                                    detail::drafts::radio)>
    xpub_nodrop{};
/// Pass on repeated subscriptions.
inline constexpr detail::socket_option<ZLINK_XPUB_VERBOSE, bool, false, true,
                                       detail::only(pattern::pub, pattern::xpub)>
    xpub_verbose{};
/// Pass on repeated unsubscriptions too.
inline constexpr detail::socket_option<ZLINK_XPUB_VERBOSER, bool, false, true,
                                       detail::only(pattern::pub, pattern::xpub)>
    xpub_verboser{};
/// Sent to each new subscriber.
inline constexpr detail::socket_option<ZLINK_XPUB_WELCOME_MSG, detail::octets, false, true,
                                       detail::only(pattern::pub, pattern::xpub)>
    xpub_welcome_msg{};
/// Domain under which peers are authenticated.
inline constexpr detail::socket_option<ZLINK_ZAP_DOMAIN, std::string, true, true,
                                       detail::all_but_stream>
    zap_domain{};
/// With a domain but no ZAP handler, refuse all peers.
inline constexpr detail::socket_option<ZLINK_ZAP_ENFORCE_DOMAIN, bool, true, true,
                                       detail::all_but_stream>
    zap_enforce_domain{};
#ifdef ZLINK_BUILD_DRAFT_API
/// A message that is received as the last one of a peer that had connected to this socket; at most
/// 1000 unread ones, as for ZLINK_ROUTER_NOTIFY. Empty: none.
inline constexpr detail::socket_option<ZLINK_DISCONNECT_MSG, detail::octets, false, true,
                                       detail::only(pattern::router, detail::drafts::server,
                                                    detail::drafts::peer)>
    disconnect_msg{};
/// A message that is sent first over each connection. Empty: none.
inline constexpr detail::socket_option<ZLINK_HELLO_MSG, detail::octets, false, true,
                                       detail::only(pattern::dealer, pattern::router,
                                                    detail::drafts::client, detail::drafts::server,
                                                    detail::drafts::peer)>
    hello_msg{};
/// A message that is received when a connection is lost that this socket re-establishes. Empty:
/// none.
inline constexpr detail::socket_option<ZLINK_HICCUP_MSG, detail::octets, false, true,
                                       detail::only(pattern::dealer, detail::drafts::client,
                                                    detail::drafts::peer)>
    hiccup_msg{};
/// No effect.
inline constexpr detail::socket_option<ZLINK_IN_BATCH_SIZE, int, true, true> in_batch_size{};
/// No effect.
inline constexpr detail::socket_option<ZLINK_OUT_BATCH_SIZE, int, true, true> out_batch_size{};
/// ZLINK_NOTIFY_*, or-ed: receive the routing id and an empty message when a peer connects or
/// disconnects, except over inproc. 0: do not. While the notices of 1000 ended connections have not
/// been received, no more connections are accepted.
inline constexpr detail::socket_option<ZLINK_ROUTER_NOTIFY, int, true, true,
                                       detail::only(pattern::router)>
    router_notify{};
/// How long the system may poll the network for a connection, SO_BUSY_POLL; in zmq.h it is
/// ZMQ_BUSY_POLL. 0: the system's default.
inline constexpr detail::socket_option<ZLINK_SO_BUSY_POLL, int, true, true> so_busy_poll{};
/// The contents for ZLINK_TLS_CERTIFICATE.
inline constexpr detail::socket_option<ZLINK_WSS_CERT_PEM, std::string, false, true> wss_cert_pem{};
/// The same as ZLINK_TLS_HOSTNAME.
inline constexpr detail::socket_option<ZLINK_WSS_HOSTNAME, std::string, false, true> wss_hostname{};
/// The contents for ZLINK_TLS_KEY.
inline constexpr detail::socket_option<ZLINK_WSS_KEY_PEM, std::string, false, true> wss_key_pem{};
/// The contents for ZLINK_TLS_CA.
inline constexpr detail::socket_option<ZLINK_WSS_TRUST_PEM, std::string, false, true>
    wss_trust_pem{};
/// 1 unsets ZLINK_TLS_CA, so that the system's authorities are trusted.
inline constexpr detail::socket_option<ZLINK_WSS_TRUST_SYSTEM, bool, false, true>
    wss_trust_system{};
/// Pass on every unsubscription, not only the last one of a topic.
inline constexpr detail::socket_option<ZLINK_XSUB_VERBOSE_UNSUBSCRIBE, bool, false, true,
                                       detail::only(pattern::xsub)>
    xsub_verbose_unsubscribe{};
#endif

} // namespace option

} // namespace zlink
