// SPDX-License-Identifier: MPL-2.0
//
// The settings of a run of pattern_bench, its command line, and how a process of it fails.

#pragma once

#include <zmq.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>

#include <unistd.h>

namespace bench {

// Added to the duration of a run for starting, draining and closing.
inline constexpr unsigned time_limit_slack_seconds = 20;
inline constexpr int exit_failure = 2;
inline constexpr int exit_timeout = 3;

enum class api_kind { buffer, msg, ref, frames };
enum class mechanism { null, plain, curve };

struct pattern {
    const char* name;
    int sender_type;
    int receiver_type;
    bool sender_addresses;   // The sender puts a routing id before each message.
    bool receiver_addressed; // The receiver gets a routing id before each message.
    bool sender_binds;
    bool polls;
    bool echoes;
};

inline constexpr pattern patterns[] = {
    {"pair", ZMQ_PAIR, ZMQ_PAIR, false, false, false, false, false},
    {"push_pull", ZMQ_PUSH, ZMQ_PULL, false, false, false, false, false},
    {"dealer_dealer", ZMQ_DEALER, ZMQ_DEALER, false, false, false, false, false},
    {"dealer_router", ZMQ_DEALER, ZMQ_ROUTER, false, true, false, false, false},
    {"pub_sub", ZMQ_XPUB, ZMQ_SUB, false, false, true, false, false},
    {"router_router", ZMQ_ROUTER, ZMQ_ROUTER, true, true, false, false, false},
    {"router_router_poll", ZMQ_ROUTER, ZMQ_ROUTER, true, true, false, true, false},
    {"req_rep", ZMQ_REQ, ZMQ_REP, false, false, false, false, true},
    {"dealer_router_latency", ZMQ_DEALER, ZMQ_ROUTER, false, true, false, false, true},
};

struct settings {
    std::string role;
    const pattern* shape = nullptr;
    std::string endpoint;
    std::size_t body_bytes = 64;
    double seconds = 3.0;
    double warmup_seconds = 0.5;
    std::uint64_t message_count = 0; // 0: the run is limited by time.
    int peer_count = 1;
    int io_threads = 1;
    api_kind api = api_kind::buffer;
    mechanism security = mechanism::null;
    bool verifies_bodies = false;
    bool paced = false;
    std::chrono::microseconds pause{0};
    int round_count = 1;
    unsigned time_limit_seconds = 0; // 0: derived from the duration of the run.
};

// The current step of a process, for its error message.
inline std::atomic<const char*> stage{"starting"};

// Ends the process: a library that hangs must not hang the benchmark.
inline void on_alarm(int) {
    constexpr char text[] = "pattern_bench: time limit passed while ";
    const char* where = stage.load();
    [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    written = write(STDERR_FILENO, where, std::strlen(where));
    written = write(STDERR_FILENO, "\n", 1);
    _exit(exit_timeout);
}

[[noreturn]] inline void fail(const char* what) {
    const int error = zmq_errno();
    std::fprintf(stderr, "pattern_bench: %s failed while %s: %s\n", what, stage.load(),
                 zmq_strerror(error));
    std::fflush(stderr);
    _exit(exit_failure);
}

[[noreturn]] inline void reject(const std::string& complaint) {
    std::fprintf(stderr, "pattern_bench: %s\n", complaint.c_str());
    std::fflush(stderr);
    _exit(exit_failure);
}

// The two numbers that every message starts with.
struct header {
    std::uint64_t sequence;
    std::uint64_t total;
};

inline constexpr char usage_text[] =
    "usage: pattern_bench sender|receiver|both --pattern NAME --transport ENDPOINT [options]\n"
    "  --pattern NAME     pair, push_pull, dealer_dealer, dealer_router, pub_sub, router_router,\n"
    "                     router_router_poll; round trips: req_rep, dealer_router_latency\n"
    "  --transport E      an endpoint, e.g. tcp://127.0.0.1:21000; inproc needs the role 'both'\n"
    "  --size N           bytes of a message, at least 16 (64)\n"
    "  --seconds S        measured time (3)\n"
    "  --warmup S         time before it (0.5)\n"
    "  --count N          send N messages instead of measuring by time\n"
    "  --rounds N         that many rounds, each with a context of its own (1)\n"
    "  --paced            per round, the connecting side waits for a line on standard input "
    "before\n"
    "                     it starts, and the sender for one before it closes\n"
    "  --pause US         the requester sleeps for so many microseconds between round trips (0)\n"
    "  --peers N          subscribers of pub_sub (1)\n"
    "  --io-threads N     ZMQ_IO_THREADS (1); 0 is for libraries whose caller drives I/O\n"
    "  --zlink-io-threads N  the same\n"
    "  --api NAME         buffer: zmq_send, zmq_recv; msg: zmq_msg_init_size; ref: "
    "zmq_msg_init_data;\n"
    "                     frames: msg, behind a frame of 8 bytes\n"
    "  --mechanism NAME   null, plain, curve (null)\n"
    "  --verify           compare every byte\n"
    "  --limit S          end with an error after S seconds per round (run length + 20)\n"
    "The binding side (the sender of pub_sub, else the receiver) prints a ready line when it is\n"
    "bound. Exit status: 0, 2 for a failure or loss, 3 when the time limit passed.\n";

inline settings decode_arguments(int argument_count, char** arguments) {
    settings run;
    if (argument_count < 2) {
        reject(usage_text);
    }
    run.role = arguments[1];
    if (run.role != "sender" && run.role != "receiver" && run.role != "both") {
        reject(usage_text);
    }
    for (int i = 2; i < argument_count; ++i) {
        const std::string option = arguments[i];
        if (option == "--verify") {
            run.verifies_bodies = true;
            continue;
        }
        if (option == "--paced") {
            run.paced = true;
            continue;
        }
        if (++i == argument_count) {
            reject(option + " needs a value\n" + usage_text);
        }
        const std::string value = arguments[i];
        if (option == "--pattern") {
            const auto* found =
                std::find_if(std::begin(patterns), std::end(patterns),
                             [&](const pattern& candidate) { return value == candidate.name; });
            if (found == std::end(patterns)) {
                reject("there is no pattern " + value);
            }
            run.shape = found;
        } else if (option == "--transport") {
            run.endpoint = value;
        } else if (option == "--size") {
            run.body_bytes = std::strtoull(value.c_str(), nullptr, 10);
        } else if (option == "--seconds") {
            run.seconds = std::strtod(value.c_str(), nullptr);
        } else if (option == "--warmup") {
            run.warmup_seconds = std::strtod(value.c_str(), nullptr);
        } else if (option == "--count") {
            run.message_count = std::strtoull(value.c_str(), nullptr, 10);
        } else if (option == "--rounds") {
            run.round_count = std::atoi(value.c_str());
        } else if (option == "--pause") {
            run.pause = std::chrono::microseconds{std::atoi(value.c_str())};
        } else if (option == "--peers") {
            run.peer_count = std::atoi(value.c_str());
        } else if (option == "--io-threads" || option == "--zlink-io-threads") {
            run.io_threads = std::atoi(value.c_str());
        } else if (option == "--limit") {
            run.time_limit_seconds = static_cast<unsigned>(std::atoi(value.c_str()));
        } else if (option == "--api" && value == "buffer") {
            run.api = api_kind::buffer;
        } else if (option == "--api" && value == "msg") {
            run.api = api_kind::msg;
        } else if (option == "--api" && value == "ref") {
            run.api = api_kind::ref;
        } else if (option == "--api" && value == "frames") {
            run.api = api_kind::frames;
        } else if (option == "--mechanism" && value == "null") {
            run.security = mechanism::null;
        } else if (option == "--mechanism" && value == "plain") {
            run.security = mechanism::plain;
        } else if (option == "--mechanism" && value == "curve") {
            run.security = mechanism::curve;
        } else {
            reject("unknown: " + option + " " + value + "\n" + usage_text);
        }
    }
    const bool is_inproc = run.endpoint.starts_with("inproc:");
    if (run.shape == nullptr || run.endpoint.empty() || is_inproc != (run.role == "both") ||
        run.body_bytes < sizeof(header) || run.peer_count < 1 || run.round_count < 1 ||
        run.pause.count() < 0 || (run.pause.count() > 0 && !run.shape->echoes)) {
        reject(usage_text);
    }
    if (run.time_limit_seconds == 0) {
        run.time_limit_seconds =
            static_cast<unsigned>(run.warmup_seconds + run.seconds) + time_limit_slack_seconds;
    }
    return run;
}

} // namespace bench
