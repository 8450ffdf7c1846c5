// SPDX-License-Identifier: MPL-2.0
#include "serve.hpp"

#include "access_log.hpp"
#include "signals.hpp"
#include "zlink.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace zlink_tool {

namespace {

/// The name of the socket that serves files, in the metrics.
constexpr const char* files_name = "files";

// Exit statuses.
constexpr int failed_status = 1;
constexpr int usage_status = 2;

/// A name in the library's texts, and the option that the user wrote for it.
struct written_option {
    std::string_view name;
    std::string_view option;
};
constexpr std::array written_options{
    written_option{"ZLINK_IO_THREADS", "--threads"},
    written_option{"ZLINK_TLS_CERTIFICATE", "--tls-cert"},
    written_option{"ZLINK_TLS_KEY", "--tls-key"},
    written_option{"ZLINK_LINGER", "--grace"},
    written_option{"ZLINK_MAX_CONNECTIONS", "--max-connections"},
    written_option{"ZLINK_MAX_CONNECTIONS_PER_ADDRESS", "--max-connections-per-address"},
    written_option{"ZLINK_PROXY_PROTOCOL", "--proxy-protocol"},
    written_option{"ZLINK_TRUSTED_PROXIES", "--trusted-proxy"},
    written_option{"cache_control", "--cache"},
    written_option{"cors_origin", "--cors"},
    written_option{"index", "--index"},
};

bool is_of_name(char each) noexcept {
    return std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '_';
}

/// A text of the library, with the options of the command line in place of the library's; what is
/// in quotes stays as it is.
std::string as_written(std::string_view text) {
    std::string made;
    bool is_quoted = false;
    while (!text.empty()) {
        const auto end = std::ranges::find_if_not(text, is_of_name);
        std::string_view word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
        const std::size_t bytes = std::max<std::size_t>(word.size(), 1);
        is_quoted ^= text.front() == '"';
        const auto* const found = std::ranges::find(written_options, word, &written_option::name);
        // The names of members are words, too: they are meant where the text begins with them.
        const bool is_option = found != written_options.end() && !is_quoted &&
                               (made.empty() || word.starts_with("ZLINK_"));
        made += is_option ? found->option : text.substr(0, bytes);
        text.remove_prefix(bytes);
    }
    return made;
}

/// Prints the reason of the last failure.
/// @return The exit status: that of wrong usage if the library refused an argument, and not what is
///         in a file.
int fail(const std::string& doing) {
    const int error = errno;
    const std::string text = zlink_error_text();
    std::fprintf(stderr, "zlink: %s: %s\n", doing.c_str(),
                 text.empty() ? zlink_strerror(error) : as_written(text).c_str());
    return error == EINVAL && !text.starts_with("ZLINK_TLS_") ? usage_status : failed_status;
}

int refuse_usage(const std::string& option, const std::string& value, const char* why) {
    std::fprintf(stderr, "zlink: %s %s: %s\n", option.c_str(), value.c_str(), why);
    return usage_status;
}

struct closes_socket {
    void operator()(void* socket) const noexcept { zlink_close(socket); }
};
struct ends_context {
    void operator()(void* context) const noexcept {
        while (zlink_ctx_term(context) != 0 && zlink_errno() == EINTR) {
        }
    }
};
using socket_ptr = std::unique_ptr<void, closes_socket>;
using context_ptr = std::unique_ptr<void, ends_context>;

bool set_text(void* socket, int option, const std::string& value) {
    return zlink_setsockopt(socket, option, value.data(), value.size()) == 0;
}

/// With commas between the parts.
std::string joined(const std::vector<std::string>& parts) {
    std::string list;
    for (const std::string& each : parts) {
        list += (list.empty() ? "" : ",") + each;
    }
    return list;
}

/// "/video/=/srv/video".
std::pair<std::string, std::string> split_root(const std::string& root) {
    const std::size_t equals = root.find('=');
    std::string prefix = root.substr(0, equals);
    if (!prefix.ends_with('/')) {
        prefix += '/';
    }
    return {prefix, root.substr(equals + 1)};
}

int add_folders(void* socket, const serve_arguments& asked) {
    zlink_http_folder_t how{};
    how.struct_size = sizeof how;
    how.index = asked.index.c_str();
    how.cors_origin = asked.cors.empty() ? nullptr : asked.cors.c_str();
    how.cache_control = asked.cache.empty() ? nullptr : asked.cache.c_str();
    how.lists = asked.lists;
    how.uncompressed = asked.uncompressed;
    how.portable_etags = asked.portable_etags;
    std::vector<std::pair<std::string, std::string>> all{{"/", asked.folder}};
    for (const std::string& each : asked.roots) {
        if (each.find('=') == std::string::npos) {
            return refuse_usage("--root", each, "it has to be /PREFIX/=DIR");
        }
        all.push_back(split_root(each));
    }
    for (const auto& [prefix, folder] : all) {
        if (zlink_http_serve(socket, prefix.c_str(), folder.c_str(), &how) != 0) {
            return fail(folder);
        }
    }
    return 0;
}

/// @return Where the socket was bound last.
std::string print_endpoint(const char* doing, void* socket) {
    std::array<char, 512> endpoint{};
    std::size_t bytes = endpoint.size();
    zlink_getsockopt(socket, ZLINK_LAST_ENDPOINT, endpoint.data(), &bytes);
    std::printf("%s at %s\n", doing, endpoint.data());
    return endpoint.data();
}

/// @param bound  Where it is bound, then.
int bind_all(void* socket, const serve_arguments& asked, std::vector<std::string>& bound) {
    if (asked.certificate.empty() && !asked.key.empty()) {
        return refuse_usage("--tls-key", asked.key, "it needs --tls-cert");
    }
    if (!asked.certificate.empty() &&
        !(set_text(socket, ZLINK_TLS_CERTIFICATE, asked.certificate) &&
          (asked.key.empty() || set_text(socket, ZLINK_TLS_KEY, asked.key)))) {
        return fail("the certificate");
    }
    for (const std::string& each : asked.endpoints) {
        if (!each.starts_with("http://") && !each.starts_with("https://")) {
            return refuse_usage("--listen", each, "it has to begin with http:// or https://");
        }
        if (each.starts_with("https://") && asked.certificate.empty()) {
            return refuse_usage("--listen", each, "https needs --tls-cert");
        }
        if (zlink_bind(socket, each.c_str()) != 0) {
            return fail("--listen"); // The text names the endpoint.
        }
        bound.push_back(print_endpoint("serving", socket));
    }
    std::fflush(stdout);
    return 0;
}

/// Files are served without this program; it only turns WebSocket peers away.
void turn_peers_away(void* socket) {
    std::array<unsigned char, 4> id{};
    std::array<char, 1> ignored{};
    while (zlink_stream_recv(socket, id.data(), ignored.data(), ignored.size(), ZLINK_DONTWAIT) >=
           0) {
        int more = 0;
        std::size_t bytes = sizeof more;
        while (zlink_getsockopt(socket, ZLINK_RCVMORE, &more, &bytes) == 0 && more != 0) {
            zlink_recv(socket, ignored.data(), ignored.size(), ZLINK_DONTWAIT);
        }
        zlink_stream_close(socket, id.data(), 1008, "there is nothing but files here");
    }
}

void write_log(const zlink_http_record_t* record, void* log) {
    static_cast<access_log*>(log)->add(*record);
}

/// The metrics of the context, and what the access log counts.
std::string metrics_text(void* context, const access_log* log) {
    zlink_msg_t text;
    zlink_msg_init(&text);
    std::string made;
    if (zlink_metrics_text(context, 0, &text) == 0) {
        made.assign(static_cast<const char*>(zlink_msg_data(&text)), zlink_msg_size(&text));
    }
    zlink_msg_close(&text);
    return made +
           "# HELP zlink_http_dropped_log_lines_total Lines that the access log did not take.\n"
           "# TYPE zlink_http_dropped_log_lines_total counter\n"
           "zlink_http_dropped_log_lines_total " +
           std::to_string(log != nullptr ? log->dropped_count() : 0) + "\n";
}

/// Answers the requests for /metrics and /healthz.
/// @param drains  No further clients are wanted.
void answer_admin(void* context, void* socket, const access_log* log, bool drains) {
    zlink_msg_t received;
    zlink_msg_init(&received);
    std::array<unsigned char, 4> client{};
    while (zlink_stream_msg_recv(&received, socket, client.data(), ZLINK_DONTWAIT) >= 0) {
        zlink_http_request_t asked{};
        asked.struct_size = sizeof asked;
        if (zlink_msg_get(&received, ZLINK_HTTP_REQUEST) != 1 ||
            zlink_http_request(zlink_msg_data(&received), zlink_msg_size(&received), &asked) != 0) {
            while (zlink_msg_more(&received) == 1 &&
                   zlink_msg_recv(&received, socket, ZLINK_DONTWAIT) >= 0) {
            }
            continue;
        }
        const std::string_view method{asked.method, asked.method_size};
        const std::string_view path{asked.path, asked.path_size};
        int status = 200;
        std::string fields = "Content-Type: text/plain; version=0.0.4; charset=utf-8\n"
                             "Cache-Control: no-store";
        std::string content;
        if (path != "/metrics" && path != "/healthz") {
            status = 404;
        } else if (method != "GET" && method != "HEAD") {
            status = 405;
            fields += "\nAllow: GET, HEAD";
        } else {
            const bool is_health = path == "/healthz";
            status = is_health && drains ? 503 : 200;
            content = !is_health ? metrics_text(context, log) : drains ? "draining\n" : "ok\n";
        }
        zlink_http_reply(socket, client.data(), status, fields.c_str(), content.data(),
                         content.size(), ZLINK_DONTWAIT);
    }
    zlink_msg_close(&received);
}

/// The sockets of a server, in the order in which they are polled.
struct sockets {
    void* context;
    void* files;
    void* admin; ///< Null without --admin.
    bool drains; ///< No further clients are wanted.
};

/// Whether all connections have ended over which files are sent.
bool is_drained(void* context) {
    double open_count = 0;
    const auto add = [](const zlink_metric_t* each, void* hint) {
        const auto is_files = [](const zlink_metric_label_t& label) {
            return std::string_view{label.name} == "name" &&
                   std::string_view{label.value} == files_name;
        };
        if (std::string_view{each->name} == "zlink_socket_connections" &&
            std::any_of(each->labels, each->labels + each->label_count, is_files)) {
            *static_cast<double*>(hint) += each->value;
        }
    };
    return zlink_metrics(context, 0, add, &open_count) < 0 || open_count == 0;
}

/// Waits for something to do, and does it.
/// @param timeout_ms  -1: for as long as it takes.
/// @return Whether it could wait.
bool turn(const sockets& all, const signals& told, const access_log* log, long timeout_ms) {
    std::array<zlink_pollitem_t, 3> items{};
    int count = 0;
    items[static_cast<std::size_t>(count++)].fd = told.descriptor();
    items[static_cast<std::size_t>(count++)].socket = all.files;
    if (all.admin != nullptr) {
        items[static_cast<std::size_t>(count++)].socket = all.admin;
    }
    for (zlink_pollitem_t& each : items) {
        each.events = ZLINK_POLLIN;
    }
    if (zlink_poll(items.data(), count, timeout_ms) < 0 && errno != EINTR) {
        fail("waiting");
        return false;
    }
    turn_peers_away(all.files);
    if (all.admin != nullptr) {
        answer_admin(all.context, all.admin, log, all.drains);
    }
    return true;
}

/// Accepts no more connections, and answers at --admin until no answer with a file is under way.
/// The library ends those that take longer than --grace.
void drain(sockets all, const std::vector<std::string>& bound, const signals& told,
           access_log* log) {
    constexpr long look_ms = 50;
    all.drains = true;
    for (const std::string& each : bound) {
        zlink_unbind(all.files, each.c_str());
    }
    while (!is_drained(all.context) && turn(all, told, log, look_ms)) {
        if (told.take() == SIGHUP && log != nullptr) {
            log->reopen();
        }
    }
}

using clock = std::chrono::steady_clock;

/// The time left until then, as zlink_poll takes it. @param then  Nothing: for ever.
long timeout_until(const std::optional<clock::time_point>& then) {
    if (!then) {
        return -1;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*then - clock::now());
    return std::max<long>(left.count(), 0);
}

/// @return The exit status.
int run(sockets all, const signals& told, const serve_arguments& asked, access_log* log) {
    std::optional<clock::time_point> end; // Of --drain-delay, once a signal has begun it.
    while (!end || clock::now() < *end) {
        if (!turn(all, told, log, timeout_until(end))) {
            return failed_status;
        }
        switch (told.take()) {
        case SIGINT:
        case SIGTERM:
            if (end) {
                return 0;
            }
            all.drains = true;
            end = clock::now() + std::chrono::seconds{asked.drain_delay_seconds};
            break;
        case SIGHUP:
            if (log != nullptr) {
                log->reopen();
            }
            if (!asked.certificate.empty() &&
                zlink_setsockopt(all.files, ZLINK_TLS_RELOAD, nullptr, 0) != 0) {
                fail("the certificates are unchanged");
            }
            break;
        default:
            break;
        }
    }
    return 0;
}

bool set_number(void* socket, int option, int value) {
    return zlink_setsockopt(socket, option, &value, sizeof value) == 0;
}

/// A further one takes the place of the one that has waited longest for a request.
constexpr int admin_connections_max = 256;

/// Binds the socket of /metrics and /healthz.
/// @return 0, or the exit status.
int open_admin(void* context, const std::string& endpoint, socket_ptr& admin) {
    admin.reset(zlink_socket(context, ZLINK_STREAM));
    if (!endpoint.starts_with("http://")) {
        return refuse_usage("--admin", endpoint, "it has to begin with http://");
    }
    if (!admin || !set_number(admin.get(), ZLINK_LINGER, 0) ||
        !set_number(admin.get(), ZLINK_MAX_CONNECTIONS, admin_connections_max) ||
        !set_text(admin.get(), ZLINK_SOCKET_NAME, "admin") ||
        !set_number(admin.get(), ZLINK_STREAM_EVENTS, 0) ||
        zlink_http_route(admin.get(), "/*", ZLINK_HTTP_REQUESTS) != 0 ||
        zlink_bind(admin.get(), endpoint.c_str()) != 0) {
        return fail("--admin");
    }
    print_endpoint("metrics", admin.get());
    return 0;
}

} // namespace

int serve(const serve_arguments& asked) {
    constexpr int milliseconds = 1000;
    constexpr int backlog = 4096;
    // Before threads are started, which inherit the mask.
    const signals told{SIGINT, SIGTERM, SIGHUP};
    access_log log{asked.access_log,
                   asked.logs_json ? access_log::format::json : access_log::format::combined};
    access_log* used_log = nullptr;
    if (!asked.access_log.empty()) {
        if (!log.open()) {
            std::fprintf(stderr, "zlink: --access-log %s: %s\n", asked.access_log.c_str(),
                         std::strerror(errno));
            return failed_status;
        }
        used_log = &log;
    }
    const context_ptr context{zlink_ctx_new()}; // Ends before the log, to which it writes.
    if (!context || zlink_ctx_set(context.get(), ZLINK_IO_THREADS, asked.threads) != 0) {
        return fail("--threads");
    }
    if (zlink_ctx_set_text(context.get(), ZLINK_METRICS_ENDPOINT, "local") != 0) { // `zlink top`.
        return fail("the metrics");
    }
    const socket_ptr socket{zlink_socket(context.get(), ZLINK_STREAM)};
    if (!socket || !set_number(socket.get(), ZLINK_LINGER, asked.grace_seconds * milliseconds) ||
        !set_number(socket.get(), ZLINK_BACKLOG, backlog) ||
        !set_number(socket.get(), ZLINK_MAX_CONNECTIONS, asked.max_connections) ||
        !set_number(socket.get(), ZLINK_MAX_CONNECTIONS_PER_ADDRESS,
                    asked.max_connections_per_address) ||
        !set_number(socket.get(), ZLINK_PROXY_PROTOCOL, asked.proxied ? 1 : 0) ||
        !set_text(socket.get(), ZLINK_TRUSTED_PROXIES, joined(asked.trusted_proxies)) ||
        !set_text(socket.get(), ZLINK_SOCKET_NAME, files_name) ||
        (used_log != nullptr && zlink_http_observe(socket.get(), &write_log, used_log) != 0)) {
        return fail("starting");
    }
    if (const int failed = add_folders(socket.get(), asked); failed != 0) {
        return failed;
    }
    socket_ptr admin;
    if (!asked.admin.empty()) {
        if (const int failed = open_admin(context.get(), asked.admin, admin); failed != 0) {
            return failed;
        }
    }
    std::vector<std::string> bound;
    if (const int failed = bind_all(socket.get(), asked, bound); failed != 0) {
        return failed;
    }
    const sockets all{context.get(), socket.get(), admin.get(), false};
    const int status = run(all, told, asked, used_log);
    if (admin) {
        drain(all, bound, told, used_log);
    }
    return status;
}

} // namespace zlink_tool
