// SPDX-License-Identifier: MPL-2.0
//
// An echo server for browsers over ws, in coroutines and in one thread: the io_context of the
// program does the I/O of zlink, too.
//
//     echo_server [ENDPOINT]     ws://127.0.0.1:8083/echo if none is given
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <iostream>
#include <zlink/asio.hpp>

namespace net = boost::asio;
using zlink::throws;

static net::awaitable<void> echo(zlink::asio::stream_socket& server) {
    std::array<zlink::stream_message, 256> room;
    while (true) {
        std::span<const zlink::stream_message> batch =
            co_await server.async_receive_batch(room, net::use_awaitable);
        while (!batch.empty()) {
            const auto sent = server->send_batch(batch, zlink::flags::dont_wait);
            // The first one is an event, its peer has gone, or does not read.
            batch = batch.subspan(sent ? *sent : 1);
        }
    }
}

int main(int argc, char** argv) try {
    zlink::context owner{0};
    net::io_context loop;
    zlink::asio::reactor drives{loop, owner};
    zlink::asio::stream_socket server{loop, owner};
    server->bind(argc > 1 ? argv[1] : "ws://127.0.0.1:8083/echo", throws);
    net::co_spawn(loop, echo(server), [](std::exception_ptr) {});
    net::signal_set signals{loop, SIGINT, SIGTERM};
    signals.async_wait([&](auto, int) {
        static_cast<void>(server->drain(std::chrono::seconds{3}));
        loop.stop();
    });
    loop.run();
} catch (const std::exception& failed) {
    std::cerr << failed.what() << '\n';
    return 1;
}
