// SPDX-License-Identifier: MPL-2.0
//
// The load generator of the STREAM scenarios: one program for every server that is measured, on
// plain epoll and OpenSSL. Prints one JSON line; exits with 0 if the run passed, with 1 if it did
// not. With --paced it reports when it is connected, keeps its connections between runs, and makes
// one run, with a JSON line, for each line on standard input.

#include "load_worker.hpp"

#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include <sys/resource.h>

namespace {

using namespace stream_bench;

constexpr double incomplete_ratio_max = 0.01;

double own_cpu_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto in_seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return in_seconds(used.ru_utime) + in_seconds(used.ru_stime);
}

// User and system time of another process, in the kernel's ticks of 10 ms.
double cpu_seconds_of(int process) {
    const std::string path = "/proc/" + std::to_string(process) + "/stat";
    std::FILE* const file = process > 0 ? std::fopen(path.c_str(), "r") : nullptr;
    if (file == nullptr) {
        return 0;
    }
    // The program's name, in parentheses, may contain anything but a second closing parenthesis.
    unsigned long user_ticks = 0;
    unsigned long system_ticks = 0;
    const int found =
        std::fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                    &user_ticks, &system_ticks);
    std::fclose(file);
    const double ticks = found == 2 ? static_cast<double>(user_ticks + system_ticks) : 0;
    return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

class cpu_meter final : public window_observer {
public:
    explicit cpu_meter(int server_pid) : server_pid_{server_pid} {}

    void on_window_open() override {
        client_seconds = -own_cpu_seconds();
        server_seconds = -cpu_seconds_of(server_pid_);
    }
    void on_window_closed() override {
        client_seconds += own_cpu_seconds();
        server_seconds += cpu_seconds_of(server_pid_);
    }

    double client_seconds = 0;
    double server_seconds = 0;

private:
    int server_pid_;
};

SSL_CTX* make_tls_context() {
    SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
    if (context == nullptr) {
        reject("SSL_CTX_new failed");
    }
    // Certificates are not verified: the servers make theirs for the run. Ten thousand connections
    // release their record buffers when idle.
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, 64 * 1024);
    return context;
}

bool has_passed(const load_settings& run, const load_counts& counts, double incomplete_ratio) {
    const bool is_connected = counts.connect_success == run.ccu && counts.connection_lost == 0;
    if (run.kind == scenario::connect_only) {
        return is_connected;
    }
    return is_connected && counts.received_measuring > 0 &&
           incomplete_ratio <= incomplete_ratio_max && counts.drain_timeout == 0 &&
           counts.gating_violation == 0;
}

double per_echo_us(double seconds, const load_counts& counts) {
    return counts.window_echoes > 0 ? seconds * 1e6 / static_cast<double>(counts.window_echoes) : 0;
}

// Quoted text; the names that are passed here need no escaping.
void print_text(const char* name, const std::string& value) {
    std::printf(", \"%s\": \"%s\"", name, value.c_str());
}

template<class Number>
void print_number(const char* name, Number value) {
    std::printf(", \"%s\": %.12g", name, static_cast<double>(value));
}

bool report(const load_settings& run, const load_counts& counts, double connect_seconds,
            const cpu_meter& cpu) {
    const double lost =
        static_cast<double>(counts.sent_measuring) - static_cast<double>(counts.received_measuring);
    const double incomplete_ratio =
        counts.sent_measuring > 0 ? lost / static_cast<double>(counts.sent_measuring) : 0;
    const bool passed = has_passed(run, counts, incomplete_ratio);
    const histogram& times =
        run.kind == scenario::connect_only ? counts.connect_time : counts.latency;
    std::printf("{\"event\": \"result\"");
    print_text("scenario", run.scenario_name);
    print_text("transport", run.transport);
    print_text("server", run.server);
    print_number("ccu", run.ccu);
    print_number("inflight", run.inflight);
    print_number("size", run.body_bytes);
    print_number("connect_success", counts.connect_success);
    print_number("connect_fail", counts.connect_fail);
    print_number("connect_timeout", counts.connect_timeout);
    print_number("sent", counts.sent_measuring);
    print_number("recv", counts.received_measuring);
    print_number("incomplete_ratio", incomplete_ratio);
    print_number("throughput", counts.rate);
    print_number("p50_us", static_cast<double>(times.percentile(0.50)) / 1e3);
    print_number("p95_us", static_cast<double>(times.percentile(0.95)) / 1e3);
    print_number("p99_us", static_cast<double>(times.percentile(0.99)) / 1e3);
    print_number("drain_timeout", counts.drain_timeout);
    print_number("gating_violation", counts.gating_violation);
    std::printf(", \"pass\": %s", passed ? "true" : "false");
    print_number("connect_retries", counts.connect_retries);
    print_number("connect_seconds", connect_seconds);
    print_number("connection_lost", counts.connection_lost);
    print_number("outstanding", counts.outstanding);
    print_number("sent_total", counts.sent_total);
    print_number("recv_total", counts.received_total);
    print_number("window_seconds", counts.window_seconds);
    print_number("window_echoes", counts.window_echoes);
    print_number("latency_samples", counts.latency.total());
    print_number("client_cpu_us_per_echo", per_echo_us(cpu.client_seconds, counts));
    print_number("server_cpu_us_per_echo", per_echo_us(cpu.server_seconds, counts));
    print_number("client_cpu_share",
                 counts.window_seconds > 0 ? cpu.client_seconds / counts.window_seconds : 0);
    print_number("server_cpu_share",
                 counts.window_seconds > 0 ? cpu.server_seconds / counts.window_seconds : 0);
    std::printf("}\n");
    return passed;
}

// Runs this on a thread for each worker.
template<class Worker, class Function>
void on_each(const std::vector<std::unique_ptr<Worker>>& workers, Function function) {
    std::vector<std::thread> threads;
    for (const auto& worker : workers) {
        threads.emplace_back([&] { function(*worker); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

// Waits for a line on standard input, without a limit; false: the input has ended.
bool is_asked_for_more(const load_settings& run) {
    limit_time(0);
    int byte = 0;
    do {
        byte = std::getchar();
    } while (byte != '\n' && byte != EOF);
    limit_time(run.limit_seconds);
    return byte == '\n';
}

template<class Reader>
bool run_load(const load_settings& run) {
    using worker_type = load_worker<Reader>;
    SSL_CTX* const context = run.is_secure() ? make_tls_context() : nullptr;
    const std::size_t worker_count = std::min<std::size_t>(run.worker_count, run.ccu);
    cpu_meter cpu{run.server_pid};
    std::vector<std::unique_ptr<worker_type>> workers;
    for (std::size_t index = 0; index < worker_count; ++index) {
        const std::size_t share = run.ccu / worker_count + (index < run.ccu % worker_count ? 1 : 0);
        workers.push_back(std::make_unique<worker_type>(run, context, share,
                                                        run.connect_concurrency / worker_count,
                                                        index == 0 ? &cpu : nullptr));
    }
    const std::uint64_t start = now_ns();
    on_each(workers, [](worker_type& worker) { worker.open(); });
    const double connect_seconds = static_cast<double>(now_ns() - start) * 1e-9;
    bool passed = true;
    if (run.is_paced) {
        std::printf("{\"event\": \"ready\"}\n");
        std::fflush(stdout);
    }
    while (!run.is_paced || is_asked_for_more(run)) {
        on_each(workers, [](worker_type& worker) { worker.run(); });
        load_counts counts;
        for (const auto& worker : workers) {
            counts.merge(worker->counts());
        }
        passed = report(run, counts, connect_seconds, cpu) && passed;
        std::fflush(stdout);
        if (!run.is_paced) {
            break;
        }
    }
    workers.clear();
    SSL_CTX_free(context);
    return passed;
}

} // namespace

int main(int argument_count, char** arguments) {
    const load_settings run = decode_load_settings(argument_count, arguments);
    const bool passed =
        run.is_websocket() ? run_load<websocket_reader>(run) : run_load<length_reader>(run);
    return passed ? 0 : 1;
}
