// SPDX-License-Identifier: MPL-2.0
//
// A request with a timeout: a coroutine waits for the answer or the timer, whichever comes first.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <iostream>
#include <optional>
#include <zlink/asio.hpp>

namespace net = boost::asio;
using namespace std::chrono_literals;
using net::use_awaitable;
using zlink::throws;

static net::awaitable<std::optional<zlink::message>> ask(zlink::asio::req_socket& client,
                                                         const char* question) {
    using namespace net::experimental::awaitable_operators;
    net::steady_timer timer{co_await net::this_coro::executor, 200ms};
    co_await client.async_send(zlink::message{question}, use_awaitable);
    auto first = co_await (client.async_receive(use_awaitable) || timer.async_wait(use_awaitable));
    if (first.index() == 1) {
        co_return std::nullopt; // The receive was cancelled, and has taken nothing.
    }
    co_return std::move(std::get<0>(first));
}

int main() {
    zlink::context owner;
    net::io_context loop;
    zlink::asio::router_socket server{loop, owner};
    zlink::asio::req_socket client{loop, owner};
    client->set(zlink::option::req_relaxed, true, throws); // It may ask again.
    client->set(zlink::option::req_correlate, true, throws);
    client->set(zlink::option::linger, 0ms, throws);
    server->bind("tcp://127.0.0.1:*", throws);
    client->connect(server->last_endpoint(throws), throws);
    bool is_right = false;
    net::co_spawn(
        loop,
        [&]() -> net::awaitable<void> {
            const bool was_late = !co_await ask(client, "to nobody");
            server->recv_multipart(throws); // Too late; is not answered.
            net::co_spawn(
                loop,
                [&]() -> net::awaitable<void> {
                    server->send(co_await server.async_receive_multipart(use_awaitable), throws);
                },
                [](std::exception_ptr) {});
            const auto answer = co_await ask(client, "echo");
            is_right = was_late && answer && *answer == "echo";
        },
        [](std::exception_ptr) {});
    loop.run();
    std::cout << (is_right ? "late, then answered\n" : "wrong\n");
    return is_right ? 0 : 1;
}
