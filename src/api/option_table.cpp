// SPDX-License-Identifier: MPL-2.0
#include "api/option_table.hpp"

#include "api/drafts.hpp"
#include "api/option_words.hpp"
#include "api/security_options.hpp"
#include "api/socket_types.hpp"
#include "base/endpoint.hpp"
#include "base/error_text.hpp"
#include "base/limits.hpp"
#include "base/network.hpp"
#include "base/socket_options.hpp"
#include "socket/context.hpp"
#include "socket/stream_socket.hpp"
#include "wire/field_text.hpp"
#include "wire/websocket/close.hpp"
#include "wire/websocket/upgrade.hpp"
#include "zlink.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace zlink::api {

namespace {

/// Sets of socket types, by bit.
constexpr unsigned only(std::initializer_list<socket_type> types) {
    unsigned bits = 0;
    for (const socket_type each : types) {
        bits |= 1U << static_cast<unsigned>(each);
    }
    return bits;
}
constexpr unsigned any_type = ~0U;
constexpr unsigned routers = only({socket_type::rep, socket_type::router});
constexpr unsigned publishers = only({socket_type::pub, socket_type::xpub});
constexpr unsigned multicasters = only({socket_type::pub, socket_type::xpub, socket_type::radio});
constexpr unsigned subscription_passers =
    only({socket_type::pub, socket_type::xpub, socket_type::xsub});
constexpr unsigned streams = only({socket_type::stream});
constexpr unsigned probers =
    only({socket_type::req, socket_type::rep, socket_type::dealer, socket_type::router});

enum class access : std::uint8_t { read_write, write_only };

using field = std::variant<int socket_options::*, bool socket_options::*,
                           std::uint64_t socket_options::*, std::int64_t socket_options::*,
                           std::string socket_options::*, secret_text socket_options::*>;

// For numbers the whole range of their type; for flags 0 and 1.
constexpr std::int64_t own_least = INT64_MIN;
constexpr std::int64_t own_most = INT64_MAX;

/// One option that is a field of socket_options.
struct entry {
    int option;
    field where;
    access may = access::read_write;
    unsigned settable_on = any_type;
    std::int64_t least = own_least; ///< Numbers: the smallest value. Texts: the fewest bytes.
    std::int64_t most = own_most;   ///< Numbers: the largest value. Texts: the most bytes.
    bool is_text = false;           ///< Texts: read back with a zero byte.
    int step = 1;                   ///< Numbers: rounded towards 0 to a multiple.
    bool null_clears = false;       ///< Texts: a null pointer makes it empty, whatever `least`.
};

using options = socket_options;

/// Options that libzmq has only with its draft API.
constexpr std::array draft_options{ZLINK_ROUTER_NOTIFY,   ZLINK_IN_BATCH_SIZE,
                                   ZLINK_OUT_BATCH_SIZE,  ZLINK_HELLO_MSG,
                                   ZLINK_DISCONNECT_MSG,  ZLINK_HICCUP_MSG,
                                   ZLINK_SO_BUSY_POLL,    ZLINK_XSUB_VERBOSE_UNSUBSCRIBE,
                                   ZLINK_WSS_KEY_PEM,     ZLINK_WSS_CERT_PEM,
                                   ZLINK_WSS_TRUST_PEM,   ZLINK_WSS_HOSTNAME,
                                   ZLINK_WSS_TRUST_SYSTEM};

/// Whether this build does not have the option.
bool is_absent(int option) noexcept {
    return !has_drafts &&
           std::find(draft_options.begin(), draft_options.end(), option) != draft_options.end();
}

constexpr std::size_t secret_bytes_max = 255;

/// For the path of a file, the system's PATH_MAX without the zero byte, and for other long texts.
constexpr int path_bytes_max = 4095;

/// For the contents of a PEM file in place of its path.
constexpr int pem_bytes_max = 65535;

/// For the name of an interface, the system's IFNAMSIZ.
constexpr int interface_bytes_max = 16;

constexpr std::array table{
    entry{ZLINK_AFFINITY, &options::affinity},
    entry{ZLINK_ROUTING_ID, &options::routing_id, access::read_write, any_type, 1, 255},
    entry{ZLINK_RATE, &options::rate, access::read_write, any_type, 1},
    entry{ZLINK_RECOVERY_IVL, &options::recovery_interval, access::read_write, any_type, 0},
    entry{ZLINK_SNDBUF, &options::send_buffer_bytes, access::read_write, any_type, -1},
    entry{ZLINK_RCVBUF, &options::recv_buffer_bytes, access::read_write, any_type, -1},
    entry{ZLINK_LINGER, &options::linger, access::read_write, any_type, -1},
    entry{ZLINK_RECONNECT_IVL, &options::reconnect_interval, access::read_write, any_type, -1},
    entry{ZLINK_RECONNECT_IVL_MAX, &options::reconnect_interval_max, access::read_write, any_type,
          0},
    entry{ZLINK_BACKLOG, &options::backlog, access::read_write, any_type, 0},
    entry{ZLINK_MAXMSGSIZE, &options::message_bytes_max},
    entry{ZLINK_SNDHWM, &options::send_hwm, access::read_write, any_type, 0},
    entry{ZLINK_RCVHWM, &options::recv_hwm, access::read_write, any_type, 0},
    entry{ZLINK_MULTICAST_HOPS, &options::multicast_hops, access::read_write, any_type, 1},
    entry{ZLINK_MULTICAST_MAXTPDU, &options::multicast_max_tpdu, access::read_write, any_type, 1},
    entry{ZLINK_RCVTIMEO, &options::recv_timeout, access::read_write, any_type, -1},
    entry{ZLINK_SNDTIMEO, &options::send_timeout, access::read_write, any_type, -1},
    entry{ZLINK_ROUTER_MANDATORY, &options::router_mandatory, access::write_only, routers, 0,
          INT_MAX},
    entry{ZLINK_TCP_KEEPALIVE, &options::keepalive, access::read_write, any_type, -1, 1},
    entry{ZLINK_TCP_KEEPALIVE_CNT, &options::keepalive_count, access::read_write, any_type, -1},
    entry{ZLINK_TCP_KEEPALIVE_IDLE, &options::keepalive_idle, access::read_write, any_type, -1},
    entry{ZLINK_TCP_KEEPALIVE_INTVL, &options::keepalive_interval, access::read_write, any_type,
          -1},
    entry{ZLINK_TCP_MAXRT, &options::tcp_retransmit_max, access::read_write, any_type, 0},
    entry{ZLINK_IMMEDIATE, &options::immediate},
    entry{ZLINK_CONFLATE, &options::conflate},
    entry{ZLINK_XPUB_VERBOSE, &options::xpub_verbose, access::write_only, publishers, 0, INT_MAX},
    entry{ZLINK_XPUB_VERBOSER, &options::xpub_verboser, access::write_only, publishers, 0, INT_MAX},
    entry{ZLINK_XPUB_WELCOME_MSG, &options::xpub_welcome, access::write_only, publishers, 0},
    entry{ZLINK_XPUB_NODROP, &options::xpub_no_drop, access::write_only, multicasters, 0, INT_MAX},
    entry{ZLINK_XPUB_MANUAL, &options::xpub_manual, access::write_only, publishers, 0, INT_MAX},
    entry{ZLINK_XPUB_MANUAL_LAST_VALUE, &options::xpub_manual_last_value, access::write_only,
          publishers, 0, INT_MAX},
    entry{ZLINK_ONLY_FIRST_SUBSCRIBE, &options::only_first_subscribe, access::write_only,
          subscription_passers, 0, INT_MAX},
    entry{ZLINK_IPV6, &options::ipv6},
    entry{ZLINK_PROBE_ROUTER, &options::probe_router, access::write_only, probers, 0, INT_MAX},
    entry{ZLINK_REQ_CORRELATE, &options::req_correlate, access::write_only,
          only({socket_type::req}), 0, INT_MAX},
    entry{ZLINK_REQ_RELAXED, &options::req_relaxed, access::write_only, only({socket_type::req}), 0,
          INT_MAX},
    entry{ZLINK_ROUTER_HANDOVER, &options::router_handover, access::write_only, routers, 0,
          INT_MAX},
    entry{ZLINK_TOS, &options::type_of_service, access::read_write, any_type, 0},
    entry{ZLINK_CONNECT_ROUTING_ID, &options::connect_routing_id, access::write_only,
          only({socket_type::rep, socket_type::router, socket_type::raw_stream}), 1, 255},
    entry{ZLINK_ROUTER_RAW, &options::raw, access::write_only,
          only({socket_type::router, socket_type::rep}), 0, INT_MAX},
    entry{ZLINK_STREAM_NOTIFY, &options::stream_notify, access::write_only,
          only({socket_type::raw_stream})},
    entry{ZLINK_STREAM_EVENTS, &options::stream_events, access::read_write, streams},
    entry{ZLINK_SOCKET_NAME, &options::name, access::read_write, any_type, 0, 255, true},
    entry{ZLINK_WS_ORIGINS, &options::web_origins, access::read_write, any_type, 0, 65535, true},
    entry{ZLINK_WS_SUBPROTOCOLS, &options::web_subprotocols, access::read_write, any_type, 0, 4095,
          true},
    entry{ZLINK_WS_DEFLATE, &options::web_deflate, access::read_write, streams},
    entry{ZLINK_WS_DEFLATE_MIN, &options::web_deflate_bytes_min, access::read_write, streams, 0},
    entry{ZLINK_WS_DEFLATE_LEVEL, &options::web_deflate_level, access::read_write, streams, 1, 9},
    entry{ZLINK_WS_DEFLATE_WINDOW, &options::web_deflate_window, access::read_write, streams, 9,
          15},
    entry{ZLINK_WS_DEFLATE_CONTEXT, &options::web_deflate_context, access::read_write, streams},
    entry{ZLINK_MAX_CONNECTIONS, &options::connections_max, access::read_write, any_type, 0},
    entry{ZLINK_MAX_CONNECTIONS_PER_ADDRESS, &options::connections_per_address_max,
          access::read_write, any_type, 0},
    entry{ZLINK_HTTP_REQUEST_RATE, &options::http_request_rate, access::read_write, streams, 0,
          1000000},
    entry{ZLINK_PROXY_PROTOCOL, &options::proxy_protocol},
    entry{ZLINK_TRUSTED_PROXIES, &options::trusted_text, access::read_write, any_type, 0,
          pem_bytes_max, true},
    entry{ZLINK_REUSE_PORT, &options::reuse_port},
    entry{ZLINK_HANDSHAKE_IVL, &options::handshake_interval, access::read_write, any_type, 0},
    entry{ZLINK_INVERT_MATCHING, &options::invert_matching, access::read_write, any_type, INT_MIN,
          INT_MAX},
    entry{ZLINK_HEARTBEAT_IVL, &options::heartbeat_interval, access::read_write, any_type, 0},
    // The largest value of the 16 bits on the wire, in tenths of a second.
    entry{ZLINK_HEARTBEAT_TTL, &options::heartbeat_ttl, access::read_write, any_type, -99,
          UINT16_MAX * 100 + 99, false, 100},
    entry{ZLINK_HEARTBEAT_TIMEOUT, &options::heartbeat_timeout, access::read_write, any_type, 0},
    entry{ZLINK_CONNECT_TIMEOUT, &options::connect_timeout, access::read_write, any_type, 0},
    entry{ZLINK_SOCKS_PROXY, &options::socks_proxy, access::read_write, any_type, 1, INT_MAX, true,
          1, true},
    entry{ZLINK_SOCKS_USERNAME, &options::socks_username, access::read_write, any_type, 0, 255,
          true},
    entry{ZLINK_SOCKS_PASSWORD, &options::socks_password, access::read_write, any_type, 0, 255,
          true},
    entry{ZLINK_USE_FD, &options::use_descriptor, access::read_write, any_type, -1},
    entry{ZLINK_RECONNECT_STOP, &options::reconnect_stop},
    entry{ZLINK_PRIORITY, &options::priority, access::read_write, any_type, 0},
    entry{ZLINK_ZAP_DOMAIN, &options::zap_domain, access::read_write, any_type, 1, 255, true},
    entry{ZLINK_TLS_CERTIFICATE, &options::tls_certificate, access::read_write, any_type, 0,
          pem_bytes_max, true},
    entry{ZLINK_TLS_KEY, &options::tls_key, access::read_write, any_type, 0, pem_bytes_max, true},
    entry{ZLINK_TLS_CA, &options::tls_ca, access::read_write, any_type, 0, pem_bytes_max, true},
    entry{ZLINK_WSS_KEY_PEM, &options::tls_key, access::write_only, any_type, 0, pem_bytes_max,
          true},
    entry{ZLINK_WSS_CERT_PEM, &options::tls_certificate, access::write_only, any_type, 0,
          pem_bytes_max, true},
    entry{ZLINK_WSS_TRUST_PEM, &options::tls_ca, access::write_only, any_type, 0, pem_bytes_max,
          true},
    entry{ZLINK_WSS_HOSTNAME, &options::tls_hostname, access::write_only, any_type, 0, 255, true},
    entry{ZLINK_TLS_VERIFY, &options::tls_verify},
    entry{ZLINK_TLS_HOSTNAME, &options::tls_hostname, access::read_write, any_type, 0, 255, true},
    entry{ZLINK_TLS_CLIENT_CERTIFICATES, &options::tls_client_certificates, access::read_write,
          any_type, 0, 2},
    entry{ZLINK_TLS_MIN_VERSION, &options::tls_min_version, access::read_write, any_type, 12, 13},
    entry{ZLINK_TLS_CIPHERS, &options::tls_ciphers, access::read_write, any_type, 0, path_bytes_max,
          true},
    entry{ZLINK_TLS_CIPHERSUITES, &options::tls_ciphersuites, access::read_write, any_type, 0,
          path_bytes_max, true},
    entry{ZLINK_TLS_ALPN, &options::tls_alpn, access::read_write, any_type, 0, 255, true},
    entry{ZLINK_TLS_SESSION_RESUMPTION, &options::tls_session_resumption},
    entry{ZLINK_BINDTODEVICE, &options::device, access::read_write, any_type, 1,
          interface_bytes_max, true, 1, true},
    entry{ZLINK_LOOPBACK_FASTPATH, &options::loopback_fast_path, access::read_write, any_type,
          INT_MIN, INT_MAX},
    entry{ZLINK_MULTICAST_LOOP, &options::multicast_loop, access::read_write, any_type, INT_MIN,
          INT_MAX},
    entry{ZLINK_ROUTER_NOTIFY, &options::router_notify, access::read_write,
          only({socket_type::router}), 0, router_notify::all},
    entry{ZLINK_IN_BATCH_SIZE, &options::in_batch_bytes, access::read_write, any_type, 1},
    entry{ZLINK_OUT_BATCH_SIZE, &options::out_batch_bytes, access::read_write, any_type, 1},
    entry{ZLINK_HELLO_MSG, &options::hello_message, access::write_only, any_type, 0},
    entry{ZLINK_DISCONNECT_MSG, &options::disconnect_message, access::write_only, any_type, 0},
    entry{ZLINK_HICCUP_MSG, &options::hiccup_message, access::write_only, any_type, 0},
    entry{ZLINK_SO_BUSY_POLL, &options::busy_poll, access::read_write, any_type, 0},
    entry{ZLINK_XSUB_VERBOSE_UNSUBSCRIBE, &options::xsub_verbose_unsubscribe, access::write_only,
          only({socket_type::xsub}), 0, INT_MAX},
};

/// Options without effect on a STREAM: its peers do not speak ZMTP, have no security mechanism, and
/// each has a pipe of its own, in which no message is replaced. Setting one fails, since the caller
/// would expect an effect, such as authentication of peers.
constexpr std::array unused_by_streams{ZLINK_ROUTING_ID,         ZLINK_RATE,
                                       ZLINK_RECOVERY_IVL,       ZLINK_MULTICAST_HOPS,
                                       ZLINK_MULTICAST_MAXTPDU,  ZLINK_IMMEDIATE,
                                       ZLINK_CONFLATE,           ZLINK_INVERT_MATCHING,
                                       ZLINK_HEARTBEAT_TTL,      ZLINK_ZAP_DOMAIN,
                                       ZLINK_ZAP_ENFORCE_DOMAIN, ZLINK_PLAIN_SERVER,
                                       ZLINK_PLAIN_USERNAME,     ZLINK_PLAIN_PASSWORD,
                                       ZLINK_CURVE_SERVER,       ZLINK_CURVE_PUBLICKEY,
                                       ZLINK_CURVE_SECRETKEY,    ZLINK_CURVE_SERVERKEY,
                                       ZLINK_LOOPBACK_FASTPATH,  ZLINK_MULTICAST_LOOP,
                                       ZLINK_METADATA,           ZLINK_HELLO_MSG,
                                       ZLINK_DISCONNECT_MSG,     ZLINK_HICCUP_MSG};

bool is_unused_by_streams(int option) noexcept {
    return std::find(unused_by_streams.begin(), unused_by_streams.end(), option) !=
           unused_by_streams.end();
}

const entry* find_entry(int option) noexcept {
    const auto found = std::find_if(table.begin(), table.end(),
                                    [&](const entry& each) { return each.option == option; });
    return found == table.end() ? nullptr : &*found;
}

/// Reads a number of type T, of which `size` must be the size.
template<class T>
result<T> number(int option, const void* value, std::size_t size) {
    T read;
    if (size != sizeof read) {
        return refuse_size(option, sizeof read, size);
    }
    if (value == nullptr) {
        return refuse_null(option);
    }
    std::memcpy(&read, value, sizeof read);
    return read;
}

template<class T>
result<T> number_within(int option, std::int64_t least, std::int64_t most, const void* value,
                        std::size_t size) {
    const result<T> given = number<T>(option, value, size);
    if (given && (*given < least || *given > most)) {
        return refuse_range(option, *given, least, most);
    }
    return given;
}

result<void> assign(const entry& at, int& target, const void* value, std::size_t size) {
    const result<int> given = number_within<int>(at.option, at.least, at.most, value, size);
    if (!given) {
        return given.error();
    }
    target = *given - *given % at.step;
    return {};
}

result<void> assign(const entry& at, bool& target, const void* value, std::size_t size) {
    const std::int64_t least = at.least == own_least ? 0 : at.least;
    const std::int64_t most = at.most == own_most ? 1 : at.most;
    const result<int> given = number_within<int>(at.option, least, most, value, size);
    if (!given) {
        return given.error();
    }
    target = *given != 0;
    return {};
}

result<void> assign(const entry& at, std::uint64_t& target, const void* value, std::size_t size) {
    const result<std::uint64_t> given = number<std::uint64_t>(at.option, value, size);
    if (!given) {
        return given.error();
    }
    target = *given;
    return {};
}

result<void> assign(const entry& at, std::int64_t& target, const void* value, std::size_t size) {
    const result<std::int64_t> given =
        number_within<std::int64_t>(at.option, at.least, at.most, value, size);
    if (!given) {
        return given.error();
    }
    target = *given;
    return {};
}

/// @param target  A std::string or secret_text.
template<class Text>
result<void> assign(const entry& at, Text& target, const void* value, std::size_t size) {
    const bool clears = at.null_clears && value == nullptr && size == 0;
    const auto bytes = static_cast<std::int64_t>(std::min<std::size_t>(size, INT64_MAX));
    if (!clears && (bytes < at.least || bytes > at.most)) {
        return refuse_length(at.option, size, at.least, at.most);
    }
    if (value == nullptr && size != 0) {
        return refuse_null(at.option);
    }
    target.assign(std::string_view{static_cast<const char*>(value), size});
    return {};
}

result<int> events(socket::socket& asked) {
    const auto now = asked.ready();
    if (!now) {
        return now.error();
    }
    if (asked.shared() != nullptr) {
        asked.shared()->note_looked();
    }
    return (now->can_recv ? ZLINK_POLLIN : 0) | (now->can_send ? ZLINK_POLLOUT : 0);
}

/// @error no_thread  No thread does the I/O of a STREAM while the caller waits on the descriptor.
result<int> descriptor(socket::socket& source) {
    if (source.type() == socket_type::stream && !source.owner().has_reactor()) {
        set_error_text("ZLINK_FD: with ZLINK_IO_THREADS 0 only blocking calls read from the peers "
                       "of a ZLINK_STREAM, so the descriptor would never become readable; "
                       "zlink_ctx_fd lets an event loop do it");
        return errc::no_thread;
    }
    return source.descriptor();
}

/// Reads options that describe the current state; the room may be larger than the value, as in
/// libzmq.
std::optional<result<void>> read_state(socket::socket& source, int option, const room& to) {
    switch (option) {
    case ZLINK_RCVMORE:
        return to.give_within(int{source.receives_more()});
    case ZLINK_FD: {
        const result<int> opened = descriptor(source);
        return opened ? to.give_within(*opened) : opened.error();
    }
    case ZLINK_EVENTS: {
        const result<int> now = events(source);
        return now ? to.give_within(*now) : now.error();
    }
    case ZLINK_THREAD_SAFE:
        return to.give_within(int{source.shared() != nullptr});
    case ZLINK_LAST_ENDPOINT:
        return to.give_text(source.last_endpoint(), true);
    case ZLINK_TOPICS_COUNT:
        if (const result<void> processed = source.process_mail(); !processed) {
            return processed;
        }
        if (const auto count = source.rules().topic_count()) {
            return to.give_within(static_cast<int>(std::min<std::size_t>(*count, INT_MAX)));
        }
        return {};
    default:
        return {};
    }
}

/// Reads options that are not fields of socket_options, or another view of one.
result<void> read_other(socket::socket& source, int option, const room& to) {
    if (const auto read = read_state(source, option, to)) {
        return *read;
    }
    switch (option) {
    case ZLINK_TYPE:
        return to.give_number(type_for_c(source.options().type));
    case ZLINK_DROPPED:
        if (const result<void> processed = source.process_mail(); !processed) {
            return processed.error();
        }
        return to.give_number(source.dropped_count());
    case ZLINK_WS_DEFLATED:
        return to.give_number(source.as_stream() != nullptr
                                  ? source.as_stream()->rules().deflated_count()
                                  : std::uint64_t{0});
    case ZLINK_STREAM_FULL_CLOSE:
        return to.give_number(source.options().full_close_code);
    case ZLINK_IPV4ONLY:
        return to.give_number(int{!source.options().ipv6});
    default:
        return is_security_option(option) ? read_security_option(source.options(), option, to)
                                          : result<void>{refuse_reading(option)};
    }
}

template<class T>
result<void> add_filter(int option, std::vector<T>& filters, T added) {
    if (filters.size() >= limits::accept_filters_max) {
        return refuse(option, "the socket already has the maximum number of these filters");
    }
    filters.push_back(added);
    return {};
}

/// Adds a number to a list, or clears the list if no value is given.
template<class T>
result<void> add_to(int option, std::vector<T>& filters, const void* value, std::size_t size) {
    static_assert(sizeof(T) == sizeof(int));
    if (value == nullptr && size == 0) {
        filters.clear();
        return {};
    }
    const result<int> given = number<int>(option, value, size);
    if (!given) {
        return given.error();
    }
    return add_filter(option, filters, static_cast<T>(*given));
}

result<void> add_network(socket_options& target, const void* value, std::size_t size) {
    if (value == nullptr && size == 0) {
        target.tcp_accept_filters.clear();
        return {};
    }
    constexpr int option = ZLINK_TCP_ACCEPT_FILTER;
    if (value == nullptr) {
        return refuse_null(option);
    }
    if (size == 0 || size > host_bytes_max) {
        return refuse_length(option, size, 1, host_bytes_max);
    }
    const std::string_view text{static_cast<const char*>(value), size};
    const result<network> given = decode_network(text, target.ipv6);
    if (!given) {
        return refuse(option, "\"" + std::string{text} + "\" is neither ADDRESS nor ADDRESS/BITS" +
                                  (target.ipv6 ? "" : " (IPv6 requires ZLINK_IPV6)"));
    }
    return add_filter(option, target.tcp_accept_filters, *given);
}

result<void> set_secret(secret_text& target, const void* value, std::size_t size) {
    if (size > secret_bytes_max) {
        return refuse_length(ZLINK_TLS_KEY_PASSWORD, size, 0, secret_bytes_max);
    }
    if (value == nullptr && size != 0) {
        return refuse_null(ZLINK_TLS_KEY_PASSWORD);
    }
    target.assign({static_cast<const char*>(value), size});
    return {};
}

result<void> set_full_close(socket_options& target, const void* value, std::size_t size) {
    const result<int> given = number<int>(ZLINK_STREAM_FULL_CLOSE, value, size);
    const bool is_code =
        given && *given > 0 && *given <= 4999 &&
        wire::websocket::may_be_sent(static_cast<wire::websocket::close_code>(*given));
    if (target.type != socket_type::stream) {
        return refuse(ZLINK_STREAM_FULL_CLOSE, "not an option of this type of socket");
    }
    if (!given) {
        return given.error();
    }
    if (*given != 0 && !is_code) {
        return refuse(ZLINK_STREAM_FULL_CLOSE, "a close frame must not have this code");
    }
    target.full_close_code = *given;
    return {};
}

result<void> change_subscription(socket::socket& target, int option, const void* value,
                                 std::size_t size) {
    if (value == nullptr && size != 0) {
        return refuse_null(option);
    }
    const result<void> changed = target.rules().change_subscription(
        {static_cast<const std::byte*>(value), size}, option == ZLINK_SUBSCRIBE);
    if (!changed && changed.error() == errc::invalid_argument) {
        return refuse(option, target.options().type == socket_type::xpub
                                  ? "on an XPUB this requires ZLINK_XPUB_MANUAL"
                                  : "not an option of this type of socket");
    }
    return changed;
}

/// Adds a property that peers receive with the handshake: "X-NAME:VALUE". As in libzmq, the first
/// one of a name counts.
result<void> add_metadata(socket_options& target, const void* value, std::size_t size) {
    constexpr int option = ZLINK_METADATA;
    constexpr std::size_t name_bytes_max = 255; // Of the wire.
    if (value == nullptr) {
        return refuse_null(option);
    }
    const std::string_view text{static_cast<const char*>(value), size};
    const std::size_t colon = text.find(':');
    if (!text.starts_with("X-") || colon == std::string_view::npos || colon > name_bytes_max ||
        colon + 1 == text.size()) {
        return refuse(option, "it is X-NAME:VALUE, with a name of at most 255 bytes and a value");
    }
    std::size_t bytes = size;
    for (const auto& [name, content] : target.metadata) {
        bytes += name.size() + content.size();
        if (name == text.substr(0, colon)) {
            return {};
        }
    }
    if (target.metadata.size() == limits::own_properties_max ||
        bytes > limits::own_properties_bytes_max) {
        return refuse(option, "a socket has at most 128 properties, of 32768 bytes");
    }
    target.metadata.emplace_back(text.substr(0, colon), text.substr(colon + 1));
    return {};
}

/// The system's authorities are trusted unless others are named.
result<void> trust_system(socket_options& target, const void* value, std::size_t size) {
    constexpr int option = ZLINK_WSS_TRUST_SYSTEM;
    if (is_absent(option)) {
        return refuse_setting(option);
    }
    const result<int> given = number_within<int>(option, 0, 1, value, size);
    if (!given) {
        return given.error();
    }
    if (*given != 0) {
        target.tls_ca.clear();
    }
    return {};
}

/// Other threads may rely on it once it is set.
result<void> set_thread_safe(socket::socket& target, const void* value, std::size_t size) {
    const result<int> given = number_within<int>(ZLINK_THREAD_SAFE, 0, 1, value, size);
    if (!given) {
        return given.error();
    }
    if (*given == 0 && target.shared() != nullptr) {
        return refuse(ZLINK_THREAD_SAFE, "a socket that several threads may use stays so");
    }
    if (*given != 0) {
        target.share_among_threads();
    }
    return {};
}

result<void> set_other(socket::socket& target, int option, const void* value, std::size_t size) {
    switch (option) {
    case ZLINK_THREAD_SAFE:
        return set_thread_safe(target, value, size);
    case ZLINK_METADATA:
        return add_metadata(target.options(), value, size);
    case ZLINK_WSS_TRUST_SYSTEM:
        return trust_system(target.options(), value, size);
    case ZLINK_SUBSCRIBE:
    case ZLINK_UNSUBSCRIBE:
        return change_subscription(target, option, value, size);
    case ZLINK_STREAM_FULL_CLOSE:
        return set_full_close(target.options(), value, size);
    case ZLINK_TLS_KEY_PASSWORD:
        return set_secret(target.options().tls_key_password, value, size);
    case ZLINK_TLS_RELOAD:
        return size == 0 ? target.reload_certificates() : refuse_length(option, size, 0, 0);
    case ZLINK_TCP_ACCEPT_FILTER:
        return add_network(target.options(), value, size);
    case ZLINK_IPC_FILTER_PID:
        return add_to(option, target.options().ipc_filter_pids, value, size);
    case ZLINK_IPC_FILTER_UID:
        return add_to(option, target.options().ipc_filter_uids, value, size);
    case ZLINK_IPC_FILTER_GID:
        return add_to(option, target.options().ipc_filter_gids, value, size);
    case ZLINK_IPV4ONLY: {
        const result<int> given = number_within<int>(option, 0, 1, value, size);
        if (!given) {
            return given.error();
        }
        target.options().ipv6 = *given == 0;
        return {};
    }
    default:
        return is_security_option(option)
                   ? set_security_option(target.options(), option, value, size)
                   : result<void>{refuse_setting(option)};
    }
}

/// Refuses origins that no page can have.
result<void> check_origins(const void* value, std::size_t size) {
    std::string_view rest{static_cast<const char*>(value), value != nullptr ? size : 0};
    while (!rest.empty()) {
        const std::string_view each = wire::take_element(rest, ',');
        if (!each.empty() && !wire::websocket::is_origin_pattern(each)) {
            return refuse(ZLINK_WS_ORIGINS,
                          "\"" + std::string{each} +
                              "\" can never match: an origin is SCHEME://HOST or "
                              "SCHEME://HOST:PORT, without a path and without the scheme's own "
                              "port; there are also *.HOST, SCHEME://*.HOST, null and *");
        }
    }
    return {};
}

/// Decodes the list before its text is stored.
result<void> set_trusted_proxies(socket_options& target, const void* value, std::size_t size) {
    if (value == nullptr || size > pem_bytes_max) {
        return {}; // Refused, or cleared, where the text is stored.
    }
    const std::string_view list{static_cast<const char*>(value), size};
    std::string_view wrong;
    result<trusted_proxies> decoded = decode_trusted_proxies(list, wrong);
    if (!decoded) {
        return refuse(ZLINK_TRUSTED_PROXIES,
                      "\"" + std::string{wrong} + "\" is none of ADDRESS, ADDRESS/BITS and unix");
    }
    if (decoded->networks.size() > limits::accept_filters_max) {
        return refuse(ZLINK_TRUSTED_PROXIES, "more addresses than a socket may have");
    }
    target.trusted = std::move(*decoded);
    return {};
}

/// Applies further effects of a field that was set.
void follow(socket::socket& target, int option) {
    socket_options& changed = target.options();
    switch (option) {
    case ZLINK_SNDHWM:
    case ZLINK_RCVHWM:
        return target.on_high_water_marks_changed();
    case ZLINK_SOCKET_NAME:
        return target.meter().set_name(changed.name);
    case ZLINK_TRUSTED_PROXIES:
        if (changed.trusted_text.empty()) {
            changed.trusted = {};
        }
        return;
    // The one of these that is set last decides which subscriptions are passed on, as in libzmq.
    case ZLINK_XPUB_VERBOSE:
        changed.xpub_verboser = false;
        return;
    case ZLINK_XPUB_VERBOSER:
        changed.xpub_verbose = changed.xpub_verboser;
        return;
    case ZLINK_XPUB_MANUAL_LAST_VALUE:
        changed.xpub_manual = changed.xpub_manual_last_value;
        return;
    default:
        return;
    }
}

} // namespace

result<void> set_option(socket::socket& target, int option, const void* value, std::size_t size) {
    set_error_text({});
    if (target.is_terminated()) {
        return errc::terminated;
    }
    if (target.type() == socket_type::stream && is_unused_by_streams(option)) {
        const bool is_security = is_security_option(option) || option == ZLINK_ZAP_DOMAIN;
        target.options().lacks_security |= is_security;
        return refuse(option,
                      is_security ? lacks_security_text : "has no effect on a ZLINK_STREAM");
    }
    const entry* const at = find_entry(option);
    if (at == nullptr || is_absent(option)) {
        return set_other(target, option, value, size);
    }
    const auto type_bit = 1U << static_cast<unsigned>(target.options().type);
    if ((at->settable_on & type_bit) == 0) {
        return refuse(option, "not an option of this type of socket");
    }
    if (option == ZLINK_WS_ORIGINS) {
        if (const result<void> checked = check_origins(value, size); !checked) {
            return checked;
        }
    }
    if (option == ZLINK_TRUSTED_PROXIES) {
        if (const result<void> decoded = set_trusted_proxies(target.options(), value, size);
            !decoded) {
            return decoded;
        }
    }
    const result<void> set = std::visit(
        [&](auto member) { return assign(*at, target.options().*member, value, size); }, at->where);
    if (set) {
        follow(target, option);
    }
    return set;
}

result<void> read_option(socket::socket& source, int option, void* value, std::size_t* size) {
    if (source.is_terminated()) {
        return errc::terminated;
    }
    if (value == nullptr || size == nullptr) {
        return refuse_null(option);
    }
    const room to{option, value, size};
    const entry* const at = find_entry(option);
    if (at == nullptr || is_absent(option)) {
        return read_other(source, option, to);
    }
    if (at->may == access::write_only) {
        return refuse_reading(option);
    }
    return std::visit(
        [&](auto member) {
            const auto& current = source.options().*member;
            if constexpr (std::is_same_v<decltype(current), const std::string&>) {
                return to.give_text(current, at->is_text);
            } else if constexpr (std::is_same_v<decltype(current), const secret_text&>) {
                return to.give_text(current.text(), at->is_text);
            } else if constexpr (std::is_same_v<decltype(current), const bool&>) {
                return to.give_number(int{current});
            } else {
                return to.give_number(current);
            }
        },
        at->where);
}

} // namespace zlink::api
