// SPDX-License-Identifier: MPL-2.0
//
// The echo server on zlink's STREAM socket, through the C API: one thread receives messages and
// sends each back to the peer that it came from. `--io-threads 0` lets that thread drive the I/O,
// too.

#include "server_settings.hpp"

#include <cerrno>
#include <string>
#include <vector>

#include <zlink.h>

namespace {

using namespace stream_bench;

constexpr std::size_t routing_id_bytes = 4;

[[noreturn]] void fail_zlink(const char* what) {
    reject(std::string{what} + ": " + zlink_strerror(zlink_errno()));
}

void set_number(void* socket, int option, int value) {
    if (zlink_setsockopt(socket, option, &value, sizeof value) != 0) {
        fail_zlink("zlink_setsockopt");
    }
}

void set_text(void* socket, int option, const std::string& value) {
    if (zlink_setsockopt(socket, option, value.data(), value.size()) != 0) {
        fail_zlink("zlink_setsockopt");
    }
}

void* open_server(void* context, const server_settings& settings) {
    void* const socket = zlink_socket(context, ZLINK_STREAM);
    if (socket == nullptr) {
        fail_zlink("zlink_socket");
    }
    set_number(socket, ZLINK_STREAM_EVENTS, 0);
    set_number(socket, ZLINK_BACKLOG, settings.backlog);
    set_number(socket, ZLINK_SNDHWM, settings.hwm);
    set_number(socket, ZLINK_RCVHWM, settings.hwm);
    set_number(socket, ZLINK_LINGER, 0);
    if (settings.sockets.send_buffer_bytes > 0) {
        set_number(socket, ZLINK_SNDBUF, settings.sockets.send_buffer_bytes);
    }
    if (settings.sockets.recv_buffer_bytes > 0) {
        set_number(socket, ZLINK_RCVBUF, settings.sockets.recv_buffer_bytes);
    }
    if (settings.is_secure()) {
        set_text(socket, ZLINK_TLS_CERTIFICATE, settings.certificate);
        set_text(socket, ZLINK_TLS_KEY, settings.key);
    }
    const std::string endpoint =
        settings.transport + "://127.0.0.1:" + std::to_string(settings.port);
    if (zlink_bind(socket, (endpoint + (settings.is_websocket() ? "/" : "")).c_str()) != 0) {
        fail_zlink("zlink_bind");
    }
    return socket;
}

// What is received and sent back, as zlink's messages: no large payload is copied here.
class message_frame {
public:
    message_frame() { zlink_msg_init(&message_); }
    message_frame(const message_frame&) = delete;
    message_frame& operator=(const message_frame&) = delete;
    ~message_frame() { zlink_msg_close(&message_); }

    int recv(void* socket, void* routing_id) {
        return zlink_stream_msg_recv(&message_, socket, routing_id, 0);
    }
    int send(void* socket, const void* routing_id) {
        return zlink_stream_msg_send(&message_, socket, routing_id, 0);
    }

private:
    zlink_msg_t message_;
};

// The same in memory of this program.
class buffer_frame {
public:
    explicit buffer_frame(std::size_t bytes_max) : octets_(bytes_max) {}

    int recv(void* socket, void* routing_id) {
        const int size = zlink_stream_recv(socket, routing_id, octets_.data(), octets_.size(), 0);
        size_ = static_cast<std::size_t>(size);
        if (size > 0 && size_ > octets_.size()) {
            reject("a message exceeds --max-message");
        }
        return size;
    }
    int send(void* socket, const void* routing_id) {
        return zlink_stream_send(socket, routing_id, octets_.data(), size_, 0);
    }

private:
    std::vector<unsigned char> octets_;
    std::size_t size_ = 0;
};

// Receives and sends back until a call fails in a way that is no peer's.
template<class Frame>
[[noreturn]] void echo(void* socket, Frame& payload) {
    unsigned char routing_id[routing_id_bytes];
    for (;;) {
        if (payload.recv(socket, routing_id) < 0) {
            fail_zlink("receiving");
        }
        if (payload.send(socket, routing_id) < 0 && zlink_errno() != EHOSTUNREACH) {
            fail_zlink("sending");
        }
    }
}

} // namespace

int main(int argument_count, char** arguments) {
    const server_settings settings =
        decode_server_settings(argument_count, arguments, {"tcp", "tls", "ws", "wss"});
    void* const context = zlink_ctx_new();
    if (zlink_ctx_set(context, ZLINK_IO_THREADS, settings.io_threads) != 0) {
        fail_zlink("zlink_ctx_set");
    }
    void* const socket = open_server(context, settings);
    report_ready(settings);
    if (settings.copies_messages) {
        buffer_frame payload{settings.message_bytes_max};
        echo(socket, payload);
    }
    message_frame payload;
    echo(socket, payload);
}
