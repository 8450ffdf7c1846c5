// SPDX-License-Identifier: MPL-2.0
//
// A socket in an io_context of Boost.Asio, beside one of its timers.
#include <boost/asio.hpp>
#include <zlink.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string_view>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// Calls a function for each message that a socket receives, on the thread that runs the
/// io_context.
class receiver {
public:
    receiver(asio::io_context& owner, void* socket, std::function<void(const char*, int)> handler)
        : socket_{socket}, descriptor_{owner, descriptor_of(socket)}, handler_{std::move(handler)} {
        take_all();
    }
    // The descriptor belongs to the socket and must not be closed here.
    ~receiver() { descriptor_.release(); }

private:
    static int descriptor_of(void* socket) {
        zlink_fd_t descriptor;
        std::size_t bytes = sizeof descriptor;
        zlink_getsockopt(socket, ZLINK_FD, &descriptor, &bytes);
        return descriptor;
    }

    /// Readiness is reported once per change, so all messages are received before waiting again.
    void take_all() {
        char text[64];
        int bytes;
        while ((bytes = zlink_recv(socket_, text, sizeof text, ZLINK_DONTWAIT)) >= 0) {
            handler_(text, bytes);
        }
        descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                               [this](boost::system::error_code failure) {
                                   if (!failure) {
                                       take_all();
                                   }
                               });
    }

    void* socket_;
    asio::posix::stream_descriptor descriptor_;
    std::function<void(const char*, int)> handler_;
};

/// Returns the number of messages received.
int exchange(void* pull, void* push) {
    asio::io_context loop;
    int received = 0;
    receiver messages{loop, pull, [&](const char* text, int bytes) {
                          std::printf("%.*s\n", bytes, text);
                          if (++received == 3) {
                              loop.stop();
                          }
                      }};
    asio::steady_timer timer{loop, 10ms};
    timer.async_wait([&](boost::system::error_code) {
        for (const std::string_view text : {"one", "two", "three"}) {
            zlink_send(push, text.data(), text.size(), 0);
        }
    });
    loop.run();
    return received;
}

} // namespace

int main() {
    void* const context = zlink_ctx_new();
    void* const pull = zlink_socket(context, ZLINK_PULL);
    void* const push = zlink_socket(context, ZLINK_PUSH);
    if (zlink_bind(pull, "inproc://asio") != 0 || zlink_connect(push, "inproc://asio") != 0) {
        return 1;
    }
    const int received = exchange(pull, push);
    zlink_close(push);
    zlink_close(pull);
    zlink_ctx_term(context);
    return received == 3 ? 0 : 1;
}
