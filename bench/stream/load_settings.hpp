// SPDX-License-Identifier: MPL-2.0
//
// The settings of a run of the load client; the defaults are the locked profile of the scenarios.

#pragma once

#include "sockets.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace stream_bench {

enum class scenario {
    one_echo,     // s0
    connect_only, // s1
    echo_load,    // s2
};

struct load_settings {
    std::string scenario_name = "s2";
    scenario kind = scenario::echo_load;
    std::string transport = "tcp";
    std::string server = "server"; // A name for the result line.
    std::uint16_t port = 0;
    std::string path = "/";
    std::size_t ccu = 10000;
    std::size_t inflight = 30;
    std::size_t body_bytes = 1024;
    double warmup_seconds = 3;
    double measure_seconds = 10;
    double drain_seconds = 10;
    std::size_t connect_concurrency = 256;
    double connect_timeout_seconds = 10;
    unsigned retry_count = 3;
    unsigned retry_delay_ms = 100;
    socket_settings sockets;
    unsigned worker_count = 1;
    std::size_t batch_messages = 30;
    std::uint64_t latency_sample_rate = 16;
    bool verifies_filling = false;
    bool is_paced = false; // The load runs once for each line on standard input.
    int server_pid = 0;    // 0: unknown, so its CPU time is not reported.
    unsigned limit_seconds = 0;

    [[nodiscard]] bool is_secure() const { return transport == "tls" || transport == "wss"; }
    [[nodiscard]] bool is_websocket() const { return transport == "ws" || transport == "wss"; }
};

inline load_settings decode_load_settings(int argument_count, char** arguments) {
    load_settings run;
    decode_options(
        argument_count, arguments,
        {text_option("--scenario", "s0 one echo, s1 connect only, s2 echo under load (s2)",
                     run.scenario_name),
         text_option("--transport", "tcp, tls, ws, wss (tcp)", run.transport),
         text_option("--server", "the server's name, for the result line", run.server),
         number_option("--port", "the server's, on 127.0.0.1", run.port),
         text_option("--path", "of the WebSocket upgrade (/)", run.path),
         number_option("--ccu", "connections (10000)", run.ccu),
         number_option("--inflight", "messages under way per connection (30)", run.inflight),
         number_option("--size", "bytes of a body, at least 16 (1024)", run.body_bytes),
         number_option("--warmup", "seconds before measuring (3)", run.warmup_seconds),
         number_option("--measure", "seconds (10)", run.measure_seconds),
         number_option("--drain-timeout", "seconds to wait for the last echoes (10)",
                       run.drain_seconds),
         number_option("--connect-concurrency", "connections in the making at a time (256)",
                       run.connect_concurrency),
         number_option("--connect-timeout", "seconds, TLS and the upgrade included (10)",
                       run.connect_timeout_seconds),
         number_option("--retries", "of a failed connect (3)", run.retry_count),
         number_option("--retry-delay", "milliseconds before a retry (100)", run.retry_delay_ms),
         number_option("--sndbuf", "SO_SNDBUF; 0: the system's choice (262144)",
                       run.sockets.send_buffer_bytes),
         number_option("--rcvbuf", "SO_RCVBUF; 0: the system's choice (262144)",
                       run.sockets.recv_buffer_bytes),
         number_option("--workers", "threads of this client (1)", run.worker_count),
         number_option("--batch", "most messages of one send (30)", run.batch_messages),
         number_option("--latency-sample-rate", "one of so many echoes is timed (16)",
                       run.latency_sample_rate),
         number_option("--verify", "1: compare every byte of the echoes (0; s0 always does)",
                       run.verifies_filling),
         number_option("--paced",
                       "1: connect, say so, and run once for each line on standard input (0)",
                       run.is_paced),
         number_option("--server-pid", "whose CPU time to tell", run.server_pid),
         number_option("--limit", "end with status 3 after so many seconds (0: never)",
                       run.limit_seconds)});
    if (run.scenario_name == "s0") {
        run.kind = scenario::one_echo;
        run.ccu = run.inflight = 1;
        run.latency_sample_rate = 1;
        run.verifies_filling = true;
    } else if (run.scenario_name == "s1") {
        run.kind = scenario::connect_only;
    } else if (run.scenario_name != "s2") {
        reject("no scenario " + run.scenario_name);
    }
    if (!run.is_secure() && run.transport != "tcp" && run.transport != "ws") {
        reject("no transport " + run.transport);
    }
    if (run.port == 0 || run.body_bytes < 16 || run.ccu < 1 || run.inflight < 1 ||
        run.worker_count < 1 || run.batch_messages < 1 || run.latency_sample_rate < 1 ||
        run.connect_concurrency < 1) {
        reject("--port is needed, --size is at least 16, and other numbers at least 1");
    }
    raise_descriptor_limit();
    limit_time(run.limit_seconds);
    return run;
}

} // namespace stream_bench
