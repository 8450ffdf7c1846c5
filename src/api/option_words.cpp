// SPDX-License-Identifier: MPL-2.0
#include "api/option_words.hpp"

#include "base/error_text.hpp"
#include "zlink.h"

#include <algorithm>
#include <array>
#include <climits>
#include <iterator>

namespace zlink::api {

namespace {

/// Bytes of an endpoint that are shown; the rest of the text is left for the reason.
constexpr std::size_t endpoint_shown_max = 200;

struct named_option {
    int option;
    std::string_view name;
};

#define NAMED(option)                                                                              \
    named_option {                                                                                 \
        option, #option                                                                            \
    }

/// Every option of zlink.h, except deprecated names of these.
constexpr named_option names[] = {
    NAMED(ZLINK_AFFINITY),
    NAMED(ZLINK_ROUTING_ID),
    NAMED(ZLINK_SUBSCRIBE),
    NAMED(ZLINK_UNSUBSCRIBE),
    NAMED(ZLINK_RATE),
    NAMED(ZLINK_RECOVERY_IVL),
    NAMED(ZLINK_SNDBUF),
    NAMED(ZLINK_RCVBUF),
    NAMED(ZLINK_RCVMORE),
    NAMED(ZLINK_FD),
    NAMED(ZLINK_EVENTS),
    NAMED(ZLINK_TYPE),
    NAMED(ZLINK_LINGER),
    NAMED(ZLINK_RECONNECT_IVL),
    NAMED(ZLINK_BACKLOG),
    NAMED(ZLINK_RECONNECT_IVL_MAX),
    NAMED(ZLINK_MAXMSGSIZE),
    NAMED(ZLINK_SNDHWM),
    NAMED(ZLINK_RCVHWM),
    NAMED(ZLINK_MULTICAST_HOPS),
    NAMED(ZLINK_RCVTIMEO),
    NAMED(ZLINK_SNDTIMEO),
    NAMED(ZLINK_LAST_ENDPOINT),
    NAMED(ZLINK_ROUTER_MANDATORY),
    NAMED(ZLINK_TCP_KEEPALIVE),
    NAMED(ZLINK_TCP_KEEPALIVE_CNT),
    NAMED(ZLINK_TCP_KEEPALIVE_IDLE),
    NAMED(ZLINK_TCP_KEEPALIVE_INTVL),
    NAMED(ZLINK_IMMEDIATE),
    NAMED(ZLINK_XPUB_VERBOSE),
    NAMED(ZLINK_ROUTER_RAW),
    NAMED(ZLINK_IPV6),
    NAMED(ZLINK_MECHANISM),
    NAMED(ZLINK_PLAIN_SERVER),
    NAMED(ZLINK_PLAIN_USERNAME),
    NAMED(ZLINK_PLAIN_PASSWORD),
    NAMED(ZLINK_CURVE_SERVER),
    NAMED(ZLINK_CURVE_PUBLICKEY),
    NAMED(ZLINK_CURVE_SECRETKEY),
    NAMED(ZLINK_CURVE_SERVERKEY),
    NAMED(ZLINK_PROBE_ROUTER),
    NAMED(ZLINK_REQ_CORRELATE),
    NAMED(ZLINK_REQ_RELAXED),
    NAMED(ZLINK_CONFLATE),
    NAMED(ZLINK_ZAP_DOMAIN),
    NAMED(ZLINK_ROUTER_HANDOVER),
    NAMED(ZLINK_TOS),
    NAMED(ZLINK_CONNECT_ROUTING_ID),
    NAMED(ZLINK_GSSAPI_SERVER),
    NAMED(ZLINK_GSSAPI_PRINCIPAL),
    NAMED(ZLINK_GSSAPI_SERVICE_PRINCIPAL),
    NAMED(ZLINK_GSSAPI_PLAINTEXT),
    NAMED(ZLINK_HANDSHAKE_IVL),
    NAMED(ZLINK_SOCKS_PROXY),
    NAMED(ZLINK_XPUB_NODROP),
    NAMED(ZLINK_XPUB_MANUAL),
    NAMED(ZLINK_XPUB_WELCOME_MSG),
    NAMED(ZLINK_STREAM_NOTIFY),
    NAMED(ZLINK_INVERT_MATCHING),
    NAMED(ZLINK_HEARTBEAT_IVL),
    NAMED(ZLINK_HEARTBEAT_TTL),
    NAMED(ZLINK_HEARTBEAT_TIMEOUT),
    NAMED(ZLINK_XPUB_VERBOSER),
    NAMED(ZLINK_CONNECT_TIMEOUT),
    NAMED(ZLINK_TCP_MAXRT),
    NAMED(ZLINK_THREAD_SAFE),
    NAMED(ZLINK_MULTICAST_MAXTPDU),
    NAMED(ZLINK_VMCI_BUFFER_SIZE),
    NAMED(ZLINK_VMCI_BUFFER_MIN_SIZE),
    NAMED(ZLINK_VMCI_BUFFER_MAX_SIZE),
    NAMED(ZLINK_VMCI_CONNECT_TIMEOUT),
    NAMED(ZLINK_USE_FD),
    NAMED(ZLINK_GSSAPI_PRINCIPAL_NAMETYPE),
    NAMED(ZLINK_GSSAPI_SERVICE_PRINCIPAL_NAMETYPE),
    NAMED(ZLINK_BINDTODEVICE),
    NAMED(ZLINK_ZAP_ENFORCE_DOMAIN),
    NAMED(ZLINK_SOCKS_USERNAME),
    NAMED(ZLINK_SOCKS_PASSWORD),
    NAMED(ZLINK_XPUB_MANUAL_LAST_VALUE),
    NAMED(ZLINK_ONLY_FIRST_SUBSCRIBE),
    NAMED(ZLINK_RECONNECT_STOP),
    NAMED(ZLINK_PRIORITY),
    NAMED(ZLINK_TOPICS_COUNT),
    NAMED(ZLINK_LOOPBACK_FASTPATH),
    NAMED(ZLINK_METADATA),
    NAMED(ZLINK_MULTICAST_LOOP),
    NAMED(ZLINK_ROUTER_NOTIFY),
    NAMED(ZLINK_IN_BATCH_SIZE),
    NAMED(ZLINK_OUT_BATCH_SIZE),
    NAMED(ZLINK_WSS_KEY_PEM),
    NAMED(ZLINK_WSS_CERT_PEM),
    NAMED(ZLINK_WSS_TRUST_PEM),
    NAMED(ZLINK_WSS_HOSTNAME),
    NAMED(ZLINK_WSS_TRUST_SYSTEM),
    NAMED(ZLINK_HELLO_MSG),
    NAMED(ZLINK_DISCONNECT_MSG),
    NAMED(ZLINK_SO_BUSY_POLL),
    NAMED(ZLINK_HICCUP_MSG),
    NAMED(ZLINK_XSUB_VERBOSE_UNSUBSCRIBE),
    NAMED(ZLINK_DROPPED),
    NAMED(ZLINK_SOCKET_NAME),
    NAMED(ZLINK_STREAM_EVENTS),
    NAMED(ZLINK_STREAM_FULL_CLOSE),
    NAMED(ZLINK_WS_ORIGINS),
    NAMED(ZLINK_WS_SUBPROTOCOLS),
    NAMED(ZLINK_WS_DEFLATE),
    NAMED(ZLINK_WS_DEFLATE_MIN),
    NAMED(ZLINK_WS_DEFLATE_LEVEL),
    NAMED(ZLINK_WS_DEFLATE_WINDOW),
    NAMED(ZLINK_WS_DEFLATE_CONTEXT),
    NAMED(ZLINK_WS_DEFLATED),
    NAMED(ZLINK_TLS_CERTIFICATE),
    NAMED(ZLINK_TLS_KEY),
    NAMED(ZLINK_TLS_KEY_PASSWORD),
    NAMED(ZLINK_TLS_CA),
    NAMED(ZLINK_TLS_VERIFY),
    NAMED(ZLINK_TLS_HOSTNAME),
    NAMED(ZLINK_TLS_CLIENT_CERTIFICATES),
    NAMED(ZLINK_TLS_MIN_VERSION),
    NAMED(ZLINK_TLS_CIPHERS),
    NAMED(ZLINK_TLS_CIPHERSUITES),
    NAMED(ZLINK_TLS_ALPN),
    NAMED(ZLINK_TLS_SESSION_RESUMPTION),
    NAMED(ZLINK_TLS_RELOAD),
    NAMED(ZLINK_MAX_CONNECTIONS),
    NAMED(ZLINK_MAX_CONNECTIONS_PER_ADDRESS),
    NAMED(ZLINK_HTTP_REQUEST_RATE),
    NAMED(ZLINK_PROXY_PROTOCOL),
    NAMED(ZLINK_TRUSTED_PROXIES),
    NAMED(ZLINK_REUSE_PORT),
    NAMED(ZLINK_TCP_ACCEPT_FILTER),
    NAMED(ZLINK_IPC_FILTER_PID),
    NAMED(ZLINK_IPC_FILTER_UID),
    NAMED(ZLINK_IPC_FILTER_GID),
    NAMED(ZLINK_IPV4ONLY),
};

#undef NAMED

const named_option* find_name(int option) noexcept {
    const auto* const found = std::find_if(std::begin(names), std::end(names),
                                           [&](const auto& each) { return each.option == option; });
    return found == std::end(names) ? nullptr : found;
}

/// "0 to 9", "1 or more", "up to 9".
std::string range(std::int64_t least, std::int64_t most, std::int64_t most_of_all) {
    if (most >= most_of_all) {
        return std::to_string(least) + " or more";
    }
    return least <= INT_MIN ? "up to " + std::to_string(most)
                            : std::to_string(least) + " to " + std::to_string(most);
}

const char* words(errc error) {
    switch (static_cast<int>(error)) {
    case ETERM:
        return "the context was shut down";
    case ENOTSOCK:
        return "not a socket, or a closed one";
    case EADDRINUSE:
        return "the address is already in use";
    case EADDRNOTAVAIL:
        return "the address is not one of this machine's";
    case ENOENT:
        return "the socket is not bound or connected there";
    default:
        return zlink_strerror(static_cast<int>(error));
    }
}

std::string byte_count_text(std::size_t count) {
    return std::to_string(count) + (count == 1 ? " byte" : " bytes");
}

} // namespace

std::string option_name(int option) {
    const named_option* const found = find_name(option);
    return found != nullptr ? std::string{found->name} : "option " + std::to_string(option);
}

errc refuse(int option, std::string_view why) {
    set_error_text(option_name(option).append(": ").append(why));
    return errc::invalid_argument;
}

errc refuse_size(int option, std::size_t wanted, std::size_t given) {
    return refuse(option, "takes " + byte_count_text(wanted) + ", not " + std::to_string(given));
}

errc refuse_range(int option, std::int64_t given, std::int64_t least, std::int64_t most) {
    return refuse(option,
                  std::to_string(given) + " is out of range (" + range(least, most, INT_MAX) + ")");
}

errc refuse_length(int option, std::size_t given, std::int64_t least, std::int64_t most) {
    return refuse(option,
                  "takes " + range(least, most, INT_MAX) + " bytes, not " + std::to_string(given));
}

errc refuse_null(int option) {
    return refuse(option, "the pointer to the value, or to its size, is null");
}

errc refuse_setting(int option) {
    return refuse(option,
                  find_name(option) != nullptr ? "cannot be set" : "there is no such option");
}

errc refuse_reading(int option) {
    return refuse(option,
                  find_name(option) != nullptr ? "cannot be read" : "there is no such option");
}

void tell_option_failure(int option, errc error) {
    const bool is_explained =
        error == errc::invalid_argument || error == errc::no_thread || option == ZLINK_TLS_RELOAD;
    if (!is_explained || *error_text() == '\0') {
        set_error_text(option_name(option).append(": ").append(words(error)));
    }
}

void tell_failure(std::string_view name, errc error) {
    const std::string why{*error_text() != '\0' ? error_text() : words(error)};
    if (why.starts_with("ZLINK_")) {
        return;
    }
    std::string text{name.substr(0, endpoint_shown_max)};
    text.append(name.size() > endpoint_shown_max ? "...: " : ": ").append(why);
    set_error_text(text);
}

} // namespace zlink::api
