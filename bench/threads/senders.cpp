// SPDX-License-Identifier: MPL-2.0
//
// Threads that send on one PUSH, to a PULL in another process, as fast as they can.
//
//   senders TRANSPORT THREADS GUARD BYTES SECONDS
//
//   TRANSPORT  tcp or ipc
//   GUARD      none: only for one thread; mutex: a mutex of the program around each call; option:
//              ZMQ_THREAD_SAFE, which only zlink has
//
// Prints the messages per second that arrived.
#include <zmq.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

[[noreturn]] void die(const char* what) {
    std::fprintf(stderr, "senders: %s: %s\n", what, zmq_strerror(zmq_errno()));
    std::exit(1);
}

void set(void* socket, int option, int value) {
    if (zmq_setsockopt(socket, option, &value, sizeof value) != 0) {
        die("zmq_setsockopt");
    }
}

/// Receives until an empty message, and prints the rate of all but the first tenth of the time.
void receive(int to_parent, const std::string& endpoint, double seconds) {
    void* const context = zmq_ctx_new();
    void* const pull = zmq_socket(context, ZMQ_PULL);
    if (zmq_bind(pull, endpoint.c_str()) != 0) {
        die("zmq_bind");
    }
    char bound[256];
    std::size_t size = sizeof bound;
    zmq_getsockopt(pull, ZMQ_LAST_ENDPOINT, bound, &size);
    if (::write(to_parent, bound, size) < 0) {
        die("write");
    }
    zmq_msg_t got;
    zmq_msg_init(&got);
    zmq_msg_recv(&got, pull, 0);
    const auto begin = clock_type::now() + std::chrono::duration<double>(seconds / 10);
    const auto end = begin + std::chrono::duration<double>(seconds * 0.8);
    std::uint64_t count = 0;
    std::uint64_t at_begin = 0;
    std::uint64_t at_end = 0;
    while (zmq_msg_recv(&got, pull, 0) > 0) {
        if ((++count & 255U) == 0) {
            const auto now = clock_type::now();
            if (now < begin) {
                at_begin = count;
            } else if (now < end) {
                at_end = count;
            }
        }
    }
    std::printf("%.0f\n", static_cast<double>(at_end - at_begin) / (seconds * 0.8));
    zmq_msg_close(&got);
    zmq_close(pull);
    zmq_ctx_term(context);
}

void send(const std::string& endpoint, int threads, std::string_view guard, std::size_t bytes,
          double seconds) {
    void* const context = zmq_ctx_new();
    void* const push = zmq_socket(context, ZMQ_PUSH);
    if (guard == "option") {
        set(push, ZMQ_THREAD_SAFE, 1);
    }
    if (zmq_connect(push, endpoint.c_str()) != 0) {
        die("zmq_connect");
    }
    std::mutex mutex;
    std::atomic<bool> ends{false};
    const std::vector<char> payload(bytes, 'x');
    const auto run = [&] {
        zmq_msg_t sent;
        while (!ends.load(std::memory_order_relaxed)) {
            zmq_msg_init_size(&sent, bytes);
            std::memcpy(zmq_msg_data(&sent), payload.data(), bytes);
            std::unique_lock lock{mutex, std::defer_lock};
            if (guard == "mutex") {
                lock.lock();
            }
            if (zmq_msg_send(&sent, push, 0) < 0) {
                die("zmq_msg_send");
            }
        }
    };
    std::vector<std::thread> all;
    for (int thread = 0; thread < threads; ++thread) {
        all.emplace_back(run);
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    ends = true;
    for (std::thread& each : all) {
        each.join();
    }
    zmq_send(push, "", 0, 0);
    zmq_close(push);
    zmq_ctx_term(context);
}

} // namespace

int main(int argc, char** argv) {
    const bool is_guarded =
        argc == 6 && (std::string_view{argv[3]} != "none" || std::atoi(argv[2]) == 1);
    if (!is_guarded) {
        std::fputs(
            "usage: senders tcp|ipc THREADS none|mutex|option BYTES SECONDS; none is for one "
            "thread\n",
            stderr);
        return 2;
    }
    const std::string endpoint = std::string_view{argv[1]} == "ipc"
                                     ? "ipc://@senders-" + std::to_string(::getpid())
                                     : "tcp://127.0.0.1:*";
    int ends[2];
    if (::pipe(ends) != 0) {
        die("pipe");
    }
    const double seconds = std::atof(argv[5]);
    const pid_t child = ::fork();
    if (child == 0) {
        receive(ends[1], endpoint, seconds);
        return 0;
    }
    char bound[256] = {};
    if (::read(ends[0], bound, sizeof bound - 1) <= 0) {
        die("the receiver did not start");
    }
    send(bound, std::atoi(argv[2]), argv[3], static_cast<std::size_t>(std::atoi(argv[4])), seconds);
    int status = 0;
    ::waitpid(child, &status, 0);
    return status == 0 ? 0 : 1;
}
