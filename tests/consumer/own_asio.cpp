// SPDX-License-Identifier: MPL-2.0
//
// A program that contains a copy of Boost.Asio, compiled with other settings than zlink's own,
// beside a static zlink.
#define BOOST_ASIO_SEPARATE_COMPILATION
#define BOOST_ASIO_DISABLE_EPOLL
#include <boost/asio.hpp>
#include <boost/asio/impl/src.hpp>
#include <zlink.h>

#include <chrono>
#include <cstring>

namespace {

bool exchanges(const char* endpoint) {
    void* const context = zlink_ctx_new();
    void* const server = zlink_socket(context, ZLINK_PAIR);
    void* const client = zlink_socket(context, ZLINK_PAIR);
    char answer[8] = {};
    const bool came = zlink_bind(server, endpoint) == 0 && zlink_connect(client, endpoint) == 0 &&
                      zlink_send(client, "hello", 5, 0) == 5 &&
                      zlink_recv(server, answer, sizeof answer, 0) == 5 &&
                      !std::strcmp(answer, "hello");
    zlink_close(server);
    zlink_close(client);
    return zlink_ctx_term(context) == 0 && came;
}

} // namespace

int main() {
    boost::asio::io_context reactor;
    boost::asio::steady_timer timer{reactor, std::chrono::milliseconds{1}};
    bool has_fired = false;
    timer.async_wait([&](const boost::system::error_code& error) {
        has_fired = !error && exchanges("ipc://@zlink-own-asio");
    });
    reactor.run();
    return has_fired ? 0 : 1;
}
