// SPDX-License-Identifier: MPL-2.0
//
// The echo server on zlink's STREAM socket, through the C API: one thread receives messages and
// sends each back to its peer, a batch at a time. With `--io-threads 0` that thread runs the I/O,
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

// Receives the waiting messages and sends them back until a call fails with an error that no peer
// causes.
[[noreturn]] void echo_batches(void* socket) {
    std::vector<zlink_stream_message_t> batch(256);
    for (;;) {
        const int count = zlink_stream_recv_batch(socket, batch.data(), batch.size(), 0);
        if (count < 0) {
            fail_zlink("receiving");
        }
        for (int done = 0; done < count;) {
            const int sent = zlink_stream_send_batch(socket, &batch[static_cast<std::size_t>(done)],
                                                     static_cast<std::size_t>(count - done), 0);
            if (sent < 0 && zlink_errno() != EHOSTUNREACH) {
                fail_zlink("sending");
            }
            done += sent > 0 ? sent : 1; // A peer that has gone gets nothing.
        }
    }
}

// The same, one message per call.
[[noreturn]] void echo_messages(void* socket) {
    unsigned char routing_id[routing_id_bytes];
    zlink_msg_t message;
    zlink_msg_init(&message);
    for (;;) {
        if (zlink_stream_msg_recv(&message, socket, routing_id, 0) < 0) {
            fail_zlink("receiving");
        }
        if (zlink_stream_msg_send(&message, socket, routing_id, 0) < 0 &&
            zlink_errno() != EHOSTUNREACH) {
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
    if (settings.takes_messages) {
        echo_messages(socket);
    }
    echo_batches(socket);
}
