// SPDX-License-Identifier: MPL-2.0
//
// zlink/asio.hpp with Asio without Boost: an echo between two coroutines, and an operation that is
// cancelled.
#define ZLINK_ASIO_STANDALONE
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>
#include <cstdio>
#include <zlink/asio.hpp>

using asio::use_awaitable;
using zlink::throws;

int main() {
    zlink::context owner;
    asio::io_context loop;
    zlink::asio::rep_socket server{loop, owner};
    zlink::asio::req_socket client{loop, owner};
    server->bind("tcp://127.0.0.1:*", throws);
    client->connect(server->last_endpoint(throws), throws);
    bool is_answered = false;
    bool is_cancelled = false;
    asio::co_spawn(
        loop,
        [&]() -> asio::awaitable<void> {
            zlink::message asked = co_await server.async_receive(use_awaitable);
            co_await server.async_send(std::move(asked), use_awaitable);
        },
        asio::detached);
    asio::co_spawn(
        loop,
        [&]() -> asio::awaitable<void> {
            co_await client.async_send(zlink::message{"echo"}, use_awaitable);
            is_answered = co_await client.async_receive(use_awaitable) == "echo";
            server.async_receive([&](std::error_code failed, const zlink::message&) {
                is_cancelled = failed == asio::error::operation_aborted;
            });
            server.cancel();
        },
        asio::detached);
    loop.run();
    std::puts(is_answered && is_cancelled ? "answered, and cancelled" : "wrong");
    return is_answered && is_cancelled ? 0 : 1;
}
