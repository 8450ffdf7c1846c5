// SPDX-License-Identifier: MPL-2.0
//
// A STREAM socket on the C API that serves the files of a folder and echoes WebSocket messages at
// /echo, both on one I/O thread.

#include "../stream/arguments.hpp"

#include <array>
#include <cstdint>
#include <string>

#include <zlink.h>

namespace {

using stream_bench::reject;

void check(int status, const char* doing) {
    if (status != 0) {
        reject(std::string{doing} + ": " + zlink_strerror(zlink_errno()));
    }
}

// Receives the waiting messages and sends them back until a call fails with an error that no peer
// causes.
[[noreturn]] void echo(void* socket) {
    std::array<zlink_stream_message_t, 256> batch{};
    for (;;) {
        const int count = zlink_stream_recv_batch(socket, batch.data(), batch.size(), 0);
        if (count < 0) {
            reject(std::string{"receiving: "} + zlink_strerror(zlink_errno()));
        }
        for (int done = 0; done < count;) {
            const int sent = zlink_stream_send_batch(socket, &batch[static_cast<std::size_t>(done)],
                                                     static_cast<std::size_t>(count - done), 0);
            if (sent < 0 && zlink_errno() != EHOSTUNREACH) {
                reject(std::string{"sending: "} + zlink_strerror(zlink_errno()));
            }
            done += sent > 0 ? sent : 1; // A peer that has gone gets nothing.
        }
    }
}

} // namespace

int main(int argument_count, char** arguments) {
    std::uint16_t port = 0;
    std::string folder;
    unsigned limit_seconds = 0;
    stream_bench::decode_options(
        argument_count, arguments,
        {stream_bench::number_option("--port", "where to listen on 127.0.0.1", port),
         stream_bench::text_option("--folder", "whose files to serve", folder),
         stream_bench::number_option(
             "--limit", "end with status 3 after so many seconds (0: never)", limit_seconds)});
    if (port == 0 || folder.empty()) {
        reject("--port and --folder are needed");
    }
    stream_bench::limit_time(limit_seconds);
    void* const context = zlink_ctx_new();
    check(zlink_ctx_set(context, ZLINK_IO_THREADS, 1), "zlink_ctx_set");
    void* const socket = zlink_socket(context, ZLINK_STREAM);
    if (socket == nullptr) {
        reject("zlink_socket failed");
    }
    const int off = 0;
    check(zlink_setsockopt(socket, ZLINK_STREAM_EVENTS, &off, sizeof off), "ZLINK_STREAM_EVENTS");
    check(zlink_setsockopt(socket, ZLINK_LINGER, &off, sizeof off), "ZLINK_LINGER");
    check(zlink_http_serve(socket, "/", folder.c_str(), nullptr), "zlink_http_serve");
    const std::string endpoint = "http://127.0.0.1:" + std::to_string(port) + "/echo";
    check(zlink_bind(socket, endpoint.c_str()), "zlink_bind");
    std::printf("{\"event\": \"ready\"}\n");
    std::fflush(stdout);
    echo(socket);
}
