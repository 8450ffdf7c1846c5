// SPDX-License-Identifier: MPL-2.0
//
// A chat for browsers: each message goes to all users. chat.html is its page.
//
//     chat_server [ENDPOINT]     ws://127.0.0.1:8082/chat if none is given
//
// On SIGTERM and SIGINT it closes all connections and ends.
#include <zlink.h>

#include <array>
#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds turn = 100ms; // How long it may take until a signal is noticed.
constexpr std::chrono::milliseconds goodbye = 3s;
constexpr std::int64_t message_bytes_max = 1000;

volatile std::sig_atomic_t must_end = 0;

struct context_end {
    void operator()(void* context) const { zlink_ctx_term(context); }
};
struct socket_end {
    void operator()(void* socket) const { zlink_close(socket); }
};

class chat {
public:
    chat(void* context, const char* endpoint) : socket_{zlink_socket(context, ZLINK_STREAM)} {
        zlink_setsockopt(socket_.get(), ZLINK_MAXMSGSIZE, &message_bytes_max,
                         sizeof message_bytes_max);
        const int code = 4000; // For a browser that reads too slowly.
        zlink_setsockopt(socket_.get(), ZLINK_STREAM_FULL_CLOSE, &code, sizeof code);
        is_open_ = zlink_bind(socket_.get(), endpoint) == 0;
    }

    bool is_open() const { return is_open_; }

    /// Waits for messages and events for one turn, and handles them.
    void run_once() {
        zlink_pollitem_t item{socket_.get(), 0, ZLINK_POLLIN, 0};
        if (zlink_poll(&item, 1, turn.count()) <= 0) {
            return;
        }
        std::array<zlink_stream_message_t, 64> batch;
        const int count = zlink_stream_recv_batch(socket_.get(), batch.data(), batch.size(), 0);
        for (int index = 0; index < count; ++index) {
            take(batch[static_cast<std::size_t>(index)]);
        }
    }

    /// Whether all have disconnected by themselves.
    bool end() { return zlink_socket_drain(socket_.get(), static_cast<int>(goodbye.count())) == 0; }

private:
    using routing_id = std::string;

    void take(const zlink_stream_message_t& received) {
        const routing_id id(std::begin(received.routing_id), std::end(received.routing_id));
        const std::string_view text{static_cast<const char*>(received.data), received.size};
        if (received.flags & ZLINK_PEER_CAME) {
            const std::string name = "guest " + std::to_string(++connection_count_);
            names_.emplace(id, name);
            say(name + " has joined");
        } else if (received.flags & ZLINK_PEER_WENT) {
            const auto gone = names_.extract(id);
            say(gone.mapped() + " has left: " + std::string{text});
        } else if (received.flags & ZLINK_SNDTEXT) {
            say(names_.at(id) + ": " + std::string{text});
        } else {
            zlink_stream_close(socket_.get(), id.data(), 1003, "text only");
        }
    }

    /// Sends `text` to all, without waiting for any of them.
    void say(std::string_view text) {
        std::string ids;
        for (const auto& [id, name] : names_) {
            ids += id;
        }
        zlink_msg_t message;
        if (zlink_msg_init_size(&message, text.size()) == 0) {
            text.copy(static_cast<char*>(zlink_msg_data(&message)), text.size());
            zlink_stream_send_many(socket_.get(), ids.data(), names_.size(), &message,
                                   ZLINK_SNDTEXT);
            zlink_msg_close(&message);
        }
        std::cout << text << std::endl;
    }

    std::unique_ptr<void, socket_end> socket_;
    bool is_open_ = false;
    unsigned connection_count_ = 0;
    std::unordered_map<routing_id, std::string> names_;
};

} // namespace

int main(int argc, char** argv) {
    std::signal(SIGTERM, [](int) { must_end = 1; });
    std::signal(SIGINT, [](int) { must_end = 1; });
    const std::unique_ptr<void, context_end> context{zlink_ctx_new()};
    chat room{context.get(), argc > 1 ? argv[1] : "ws://127.0.0.1:8082/chat"};
    if (!room.is_open()) {
        std::cerr << zlink_error_text() << '\n';
        return 1;
    }
    while (!must_end) {
        room.run_once();
    }
    std::cout << (room.end() ? "all have gone" : "some had to be disconnected") << '\n';
}
