// SPDX-License-Identifier: MPL-2.0
#include "serve.hpp"

#include "access_log.hpp"
#include "signals.hpp"
#include "zlink.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace zlink_tool {

namespace {

/// Prints the reason of the last failure.
int fail(const std::string& doing) {
    const int error = errno;
    const std::string text = zlink_error_text();
    std::fprintf(stderr, "zlink: %s: %s\n", doing.c_str(),
                 text.empty() ? zlink_strerror(error) : text.c_str());
    return 1;
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

/// "/video/=/srv/video" or a folder for the prefix "/".
std::pair<std::string, std::string> split_root(const std::string& root) {
    const std::size_t equals = root.find('=');
    std::string prefix = root.substr(0, equals);
    if (!prefix.ends_with('/')) {
        prefix += '/';
    }
    return {prefix, equals == std::string::npos ? "" : root.substr(equals + 1)};
}

int add_folders(void* socket, const serve_arguments& asked) {
    zlink_http_folder_t how{};
    how.struct_size = sizeof how;
    how.index = asked.index.c_str();
    how.cors_origin = asked.cors.empty() ? nullptr : asked.cors.c_str();
    how.cache_control = asked.cache.empty() ? nullptr : asked.cache.c_str();
    how.lists = asked.lists;
    how.uncompressed = asked.uncompressed;
    std::vector<std::pair<std::string, std::string>> all{{"/", asked.folder}};
    std::ranges::transform(asked.roots, std::back_inserter(all), split_root);
    for (const auto& [prefix, folder] : all) {
        if (zlink_http_serve(socket, prefix.c_str(), folder.c_str(), &how) != 0) {
            return fail(folder);
        }
    }
    return 0;
}

void print_endpoint(const char* doing, void* socket) {
    std::array<char, 512> endpoint{};
    std::size_t bytes = endpoint.size();
    zlink_getsockopt(socket, ZLINK_LAST_ENDPOINT, endpoint.data(), &bytes);
    std::printf("%s at %s\n", doing, endpoint.data());
}

int bind_all(void* socket, const serve_arguments& asked) {
    if (!asked.certificate.empty() &&
        !(set_text(socket, ZLINK_TLS_CERTIFICATE, asked.certificate) &&
          (asked.key.empty() || set_text(socket, ZLINK_TLS_KEY, asked.key)))) {
        return fail("the certificate");
    }
    for (const std::string& each : asked.endpoints) {
        if (!each.starts_with("http://") && !each.starts_with("https://")) {
            std::fprintf(stderr, "zlink: --listen %s: it has to begin with http:// or https://\n",
                         each.c_str());
            return 1;
        }
        if (zlink_bind(socket, each.c_str()) != 0) {
            return fail("--listen"); // The text names the endpoint.
        }
        print_endpoint("serving", socket);
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
void answer_admin(void* context, void* socket, const access_log* log) {
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
            content = path == "/healthz" ? "ok\n" : metrics_text(context, log);
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
};

/// @return The exit status.
int run(const sockets& all, const signals& told, const serve_arguments& asked, access_log* log) {
    while (true) {
        std::array<zlink_pollitem_t, 3> items{};
        items[0].socket = all.files;
        items[1].fd = told.descriptor();
        items[2].socket = all.admin;
        for (zlink_pollitem_t& each : items) {
            each.events = ZLINK_POLLIN;
        }
        const int count = all.admin != nullptr ? 3 : 2;
        if (zlink_poll(items.data(), count, -1) < 0 && errno != EINTR) {
            return fail("waiting");
        }
        turn_peers_away(all.files);
        if (all.admin != nullptr) {
            answer_admin(all.context, all.admin, log);
        }
        switch (told.take()) {
        case SIGINT:
        case SIGTERM:
            return 0;
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
}

bool set_number(void* socket, int option, int value) {
    return zlink_setsockopt(socket, option, &value, sizeof value) == 0;
}

/// Binds the socket of /metrics and /healthz.
/// @return 0, or the exit status.
int open_admin(void* context, const std::string& endpoint, socket_ptr& admin) {
    admin.reset(zlink_socket(context, ZLINK_STREAM));
    if (!endpoint.starts_with("http://")) {
        std::fprintf(stderr, "zlink: --admin %s: it has to begin with http://\n", endpoint.c_str());
        return 1;
    }
    if (!admin || !set_number(admin.get(), ZLINK_LINGER, 0) ||
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
            return 1;
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
        !set_text(socket.get(), ZLINK_SOCKET_NAME, "files") ||
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
    if (const int failed = bind_all(socket.get(), asked); failed != 0) {
        return failed;
    }
    return run({context.get(), socket.get(), admin.get()}, told, asked, used_log);
}

} // namespace zlink_tool
