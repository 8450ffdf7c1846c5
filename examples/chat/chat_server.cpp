// SPDX-License-Identifier: MPL-2.0
//
// A chat for browsers: each message goes to all users. chat.html is its page.
//
//     chat_server [ENDPOINT]     ws://127.0.0.1:8082/chat if none is given
//
// On SIGTERM and SIGINT it closes all connections and ends.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <iostream>
#include <string>
#include <unordered_map>
#include <zlink/asio.hpp>

namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;
using zlink::throws;

class chat {
public:
    chat(net::io_context& loop, zlink::context& owner, const std::string& endpoint)
        : socket_(loop, owner) {
        socket_->set(zlink::option::maxmsgsize, 1000, throws);
        socket_->set(zlink::option::stream_full_close, 4000, throws); // For one that reads slowly.
        socket_->bind(endpoint, throws);
    }

    net::awaitable<void> run() {
        while (true) {
            zlink::stream_event event = co_await socket_.async_receive(net::use_awaitable);
            std::visit([this](auto& what) { take(what); }, event);
        }
    }

    /// Whether all have disconnected by themselves.
    bool end() {
        socket_.cancel();
        return socket_->drain(3s).has_value();
    }

private:
    void take(const zlink::connected& came) {
        names_[came.peer] = "guest " + std::to_string(++connection_count_);
        say(names_[came.peer] + " has joined");
    }
    void take(const zlink::disconnected& gone) {
        const auto left = names_.extract(gone.peer);
        say(left.mapped() + " has left: " + std::to_string(static_cast<int>(gone.code)) + " " +
            gone.reason);
    }
    void take(const zlink::received& said) {
        if (said.content.is_text()) {
            say(names_[said.peer] + ": " + std::string(said.content.text()));
        } else {
            static_cast<void>(socket_->close_peer(said.peer, zlink::close_code{1003}, "text only"));
        }
    }
    void take(const zlink::requested&) {} // Only with http.

    /// Sends `text` to all, without waiting for any of them.
    void say(const std::string& text) {
        std::vector<zlink::peer_id> all;
        for (const auto& [id, name] : names_) {
            all.push_back(id);
        }
        static_cast<void>(socket_->send_many(all, zlink::message{text}, zlink::flags::text));
        std::cout << text << std::endl;
    }

    zlink::asio::stream_socket socket_;
    unsigned connection_count_ = 0;
    std::unordered_map<zlink::peer_id, std::string> names_;
};

} // namespace

int main(int argc, char** argv) try {
    zlink::context owner;
    net::io_context loop;
    chat room{loop, owner, argc > 1 ? argv[1] : "ws://127.0.0.1:8082/chat"};
    net::co_spawn(loop, room.run(), [](std::exception_ptr) {});
    net::signal_set signals{loop, SIGINT, SIGTERM};
    signals.async_wait([&](auto, int) {
        std::cout << (room.end() ? "all have gone" : "some had to be disconnected") << '\n';
        loop.stop();
    });
    loop.run();
} catch (const std::exception& failed) {
    std::cerr << failed.what() << '\n';
    return 1;
}
