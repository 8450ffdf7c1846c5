// SPDX-License-Identifier: MPL-2.0
//
// An HTTP API beside the files of a folder: notes, and server-sent events of those that are added.
//
//     notes_server [ENDPOINT [FOLDER]]     http://127.0.0.1:8080 and . if none is given
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <iostream>
#include <unordered_set>
#include <zlink/asio.hpp>

namespace net = boost::asio;
using zlink::flags;
using zlink::message;
using zlink::throws;

static net::awaitable<void> serve_notes(zlink::asio::stream_socket& server) {
    const auto as_result = net::as_tuple(net::use_awaitable); // The client may have gone.
    const zlink::http_fields events{{"Content-Type", "text/event-stream"}};
    const zlink::http_fields text{{"Content-Type", "text/plain"}};
    std::string notes;
    std::unordered_set<zlink::peer_id> followers;
    while (true) {
        const zlink::stream_event event = co_await server.async_receive(net::use_awaitable);
        if (const auto* gone = std::get_if<zlink::disconnected>(&event)) {
            followers.erase(gone->peer);
        }
        const auto* asked = std::get_if<zlink::requested>(&event);
        if (asked == nullptr) {
            continue; // A WebSocket peer, which is accepted at the endpoint's path.
        }
        const auto& [peer, request] = *asked;
        if (request.path() == "/api/events") {
            const auto [failed] = co_await server.async_reply(
                peer, 200, events, message{": begins\n\n"}, flags::more, as_result);
            if (!failed) {
                followers.insert(peer);
            }
        } else if (request.method() == "POST") {
            const std::string note(request.text());
            notes += note + "\n";
            for (const zlink::peer_id each : followers) { // One that does not read misses it.
                static_cast<void>(server->reply_part(each, "data: " + note + "\n\n",
                                                     flags::more | flags::dont_wait));
            }
            co_await server.async_reply(peer, 201, {}, message{}, as_result);
        } else {
            co_await server.async_reply(peer, 200, text, message{notes}, as_result);
        }
    }
}

int main(int argc, char** argv) try {
    zlink::context owner{0};
    net::io_context loop;
    zlink::asio::reactor drives{loop, owner};
    zlink::asio::stream_socket server{loop, owner};
    server->serve("/", argc > 2 ? argv[2] : ".", {}, throws);
    server->route("/api/*", zlink::http_route::requests, throws);
    server->bind(argc > 1 ? argv[1] : "http://127.0.0.1:8080", throws);
    net::co_spawn(loop, serve_notes(server), [](std::exception_ptr failed) {
        std::rethrow_exception(failed); // It ends by an exception only.
    });
    loop.run();
} catch (const std::exception& failed) {
    std::cerr << failed.what() << '\n';
    return 1;
}
