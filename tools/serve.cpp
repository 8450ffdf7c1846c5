// SPDX-License-Identifier: MPL-2.0
#include "serve.hpp"

#include "zlink.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <sys/signalfd.h>
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

/// The signals that end or change the server, as a descriptor.
class signals {
public:
    signals() {
        sigset_t wanted;
        sigemptyset(&wanted);
        for (const int each : {SIGINT, SIGTERM, SIGHUP}) {
            sigaddset(&wanted, each);
        }
        pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
        descriptor_ = ::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    }
    signals(const signals&) = delete;
    signals& operator=(const signals&) = delete;
    ~signals() { ::close(descriptor_); }

    int descriptor() const noexcept { return descriptor_; }

    /// @return 0 if there is none.
    int take() const noexcept {
        signalfd_siginfo next{};
        return ::read(descriptor_, &next, sizeof next) == sizeof next
                   ? static_cast<int>(next.ssi_signo)
                   : 0;
    }

private:
    int descriptor_;
};

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
        std::array<char, 512> endpoint{};
        std::size_t bytes = endpoint.size();
        zlink_getsockopt(socket, ZLINK_LAST_ENDPOINT, endpoint.data(), &bytes);
        std::printf("serving at %s\n", endpoint.data());
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

/// @return The exit status.
int run(void* socket, const signals& told, const serve_arguments& asked) {
    while (true) {
        std::array<zlink_pollitem_t, 2> items{};
        items[0].socket = socket;
        items[0].events = ZLINK_POLLIN;
        items[1].fd = told.descriptor();
        items[1].events = ZLINK_POLLIN;
        if (zlink_poll(items.data(), items.size(), -1) < 0 && errno != EINTR) {
            return fail("waiting");
        }
        turn_peers_away(socket);
        switch (told.take()) {
        case SIGINT:
        case SIGTERM:
            return 0;
        case SIGHUP:
            if (!asked.certificate.empty() &&
                zlink_setsockopt(socket, ZLINK_TLS_RELOAD, nullptr, 0) != 0) {
                fail("the certificates are unchanged");
            }
            break;
        default:
            break;
        }
    }
}

} // namespace

int serve(const serve_arguments& asked) {
    const signals told; // Before threads are started, which inherit the mask.
    const context_ptr context{zlink_ctx_new()};
    if (!context || zlink_ctx_set(context.get(), ZLINK_IO_THREADS, asked.threads) != 0) {
        return fail("--threads");
    }
    const socket_ptr socket{zlink_socket(context.get(), ZLINK_STREAM)};
    if (!socket) {
        return fail("starting");
    }
    const int linger = 0;
    zlink_setsockopt(socket.get(), ZLINK_LINGER, &linger, sizeof linger);
    const int backlog = 4096;
    zlink_setsockopt(socket.get(), ZLINK_BACKLOG, &backlog, sizeof backlog);
    if (const int failed = add_folders(socket.get(), asked); failed != 0) {
        return failed;
    }
    if (const int failed = bind_all(socket.get(), asked); failed != 0) {
        return failed;
    }
    return run(socket.get(), told, asked);
}

} // namespace zlink_tool
