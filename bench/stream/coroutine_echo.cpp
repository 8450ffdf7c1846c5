// SPDX-License-Identifier: MPL-2.0
//
// The echo server of zlink_echo.cpp through the C++ interface, as a coroutine with Boost.Asio. With
// `--io-threads 0` the io_context of the program does the I/O of zlink, too.

#include "server_settings.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include <zlink/asio.hpp>

namespace {

using namespace stream_bench;
namespace net = boost::asio;
namespace option = zlink::option;
using zlink::throws;

using stream_socket = net::use_awaitable_t<>::as_default_on_t<
    zlink::asio::basic_socket<zlink::stream_socket, net::io_context::executor_type>>;

void configure(zlink::stream_socket& socket, const server_settings& settings) {
    socket.set(option::stream_events, false, throws);
    socket.set(option::backlog, settings.backlog, throws);
    socket.set(option::sndhwm, settings.hwm, throws);
    socket.set(option::rcvhwm, settings.hwm, throws);
    socket.set(option::linger, std::chrono::milliseconds{0}, throws);
    if (settings.sockets.send_buffer_bytes > 0) {
        socket.set(option::sndbuf, settings.sockets.send_buffer_bytes, throws);
    }
    if (settings.sockets.recv_buffer_bytes > 0) {
        socket.set(option::rcvbuf, settings.sockets.recv_buffer_bytes, throws);
    }
    if (settings.is_secure()) {
        socket.set(option::tls_certificate, settings.certificate, throws);
        socket.set(option::tls_key, settings.key, throws);
    }
    const std::string endpoint =
        settings.transport + "://127.0.0.1:" + std::to_string(settings.port);
    socket.bind(endpoint + (settings.is_websocket() ? "/" : ""), throws);
}

net::awaitable<void> echo_batches(stream_socket& socket) {
    std::vector<zlink::stream_message> room(256);
    for (;;) {
        std::span<const zlink::stream_message> batch = co_await socket.async_receive_batch(room);
        while (!batch.empty()) {
            const auto sent = socket->send_batch(batch);
            if (!sent && sent.error() != std::errc::host_unreachable) {
                reject("sending: " + sent.error().message());
            }
            batch = batch.subspan(sent ? *sent : 1); // A peer that has gone gets nothing.
        }
    }
}

// The same, one message at a time.
net::awaitable<void> echo_messages(stream_socket& socket) {
    for (;;) {
        zlink::stream_event event = co_await socket.async_receive();
        auto& got = std::get<zlink::received>(event);
        const auto sent = socket->send(got.peer, std::move(got.content));
        if (!sent && sent.error() != std::errc::host_unreachable) {
            reject("sending: " + sent.error().message());
        }
    }
}

} // namespace

int main(int argument_count, char** arguments) {
    const server_settings settings =
        decode_server_settings(argument_count, arguments, {"tcp", "tls", "ws", "wss"});
    try {
        zlink::context owner{settings.io_threads};
        net::io_context loop{1};
        std::optional<zlink::asio::reactor> drives;
        if (settings.io_threads == 0) {
            drives.emplace(loop, owner);
        }
        stream_socket socket{loop.get_executor(), owner};
        configure(socket.next_layer(), settings);
        report_ready(settings);
        net::co_spawn(loop, settings.takes_messages ? echo_messages(socket) : echo_batches(socket),
                      [](std::exception_ptr failed) { std::rethrow_exception(failed); });
        loop.run();
    } catch (const std::exception& failed) {
        reject(failed.what());
    }
}
