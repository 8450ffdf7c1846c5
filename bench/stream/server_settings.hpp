// SPDX-License-Identifier: MPL-2.0
//
// The command line of all echo servers.

#pragma once

#include "sockets.hpp"

#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <vector>

namespace stream_bench {

struct server_settings {
    std::string transport = "tcp";
    std::uint16_t port = 0;
    int backlog = 32768;
    int hwm = 1'000'000;
    socket_settings sockets;
    int io_threads = 1;
    std::string certificate;
    std::string key;
    bool is_tuned = false;
    bool sends_each_message = false;
    bool takes_messages = false;
    std::size_t message_bytes_max = std::size_t{64} << 20;
    unsigned limit_seconds = 0;

    [[nodiscard]] bool is_secure() const { return transport == "tls" || transport == "wss"; }
    [[nodiscard]] bool is_websocket() const { return transport == "ws" || transport == "wss"; }
};

/// `transports` are those that this server supports.
inline server_settings decode_server_settings(int argument_count, char** arguments,
                                              std::initializer_list<const char*> transports) {
    server_settings settings;
    decode_options(
        argument_count, arguments,
        {text_option("--transport", "tcp, tls, ws or wss, as far as the server has it (tcp)",
                     settings.transport),
         number_option("--port", "where to listen on 127.0.0.1", settings.port),
         number_option("--backlog", "connections waiting to be accepted (32768)", settings.backlog),
         number_option("--hwm", "messages queued per peer and direction (1000000; zlink)",
                       settings.hwm),
         number_option("--sndbuf", "SO_SNDBUF; 0: the system's choice (262144)",
                       settings.sockets.send_buffer_bytes),
         number_option("--rcvbuf", "SO_RCVBUF; 0: the system's choice (262144)",
                       settings.sockets.recv_buffer_bytes),
         number_option("--io-threads", "threads of I/O (1); 0: the calling thread's own (zlink)",
                       settings.io_threads),
         number_option("--max-message", "longest message accepted, in bytes (64 MiB)",
                       settings.message_bytes_max),
         number_option("--tuned", "1: beast with settings for speed (0)", settings.is_tuned),
         number_option("--per-message", "1: asio sends each message by a call of its own (0)",
                       settings.sends_each_message),
         number_option("--messages", "1: zlink by messages, a call for each, not by batches (0)",
                       settings.takes_messages),
         text_option("--certificate", "PEM file; tls and wss", settings.certificate),
         text_option("--key", "PEM file; tls and wss", settings.key),
         number_option("--limit", "end with status 3 after so many seconds (0: never)",
                       settings.limit_seconds)});
    bool is_known = false;
    for (const char* transport : transports) {
        is_known = is_known || settings.transport == transport;
    }
    if (!is_known) {
        reject("no transport " + settings.transport + " here");
    }
    if (settings.port == 0) {
        reject("--port is needed");
    }
    if (settings.is_secure() && (settings.certificate.empty() || settings.key.empty())) {
        reject("--certificate and --key are needed");
    }
    raise_descriptor_limit();
    limit_time(settings.limit_seconds);
    return settings;
}

/// Tells the benchmark's driver that peers may connect.
inline void report_ready(const server_settings& settings) {
    std::printf("{\"event\": \"ready\", \"port\": %u}\n", static_cast<unsigned>(settings.port));
    std::fflush(stdout);
}

} // namespace stream_bench
