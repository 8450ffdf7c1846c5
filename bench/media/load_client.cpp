// SPDX-License-Identifier: MPL-2.0
//
// The load generator of the media experiment: virtual users that request ranges of a file over
// HTTP/1.1. Prints one JSON line; exits with 0 if every request was answered as it has to be, with
// 1 if not. With --make it writes the file that is requested.

#include "load.hpp"

#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include <fcntl.h>

namespace {

using namespace media_bench;

double seconds_of(clockid_t clock) {
    timespec time{};
    return clock_gettime(clock, &time) == 0
               ? static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9
               : 0;
}

/// Measures the CPU time of the server's processes and of this one within the window.
class cpu_meter final : public window_observer {
public:
    explicit cpu_meter(const std::vector<int>& server_processes) {
        for (const int process : server_processes) {
            clockid_t clock = 0;
            if (clock_getcpuclockid(process, &clock) != 0) {
                stream_bench::reject("no such process: " + std::to_string(process));
            }
            clocks_.push_back(clock);
        }
    }

    void on_window_open() override { add(-1); }
    void on_window_closed() override { add(1); }

    double client_seconds = 0;
    double server_seconds = 0;

private:
    void add(double sign) {
        client_seconds += sign * seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        for (const clockid_t clock : clocks_) {
            server_seconds += sign * seconds_of(clock);
        }
    }

    std::vector<clockid_t> clocks_;
};

SSL_CTX* make_tls_context() {
    SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
    // One cipher suite, so that every server encrypts alike. Certificates are not verified: the
    // servers' is made for the run.
    if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") != 1) {
        stream_bench::reject("OpenSSL has no TLS 1.3 with AES-128-GCM");
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, 64 * 1024);
    return context;
}

void make_file(const load_settings& run) {
    const std::string fresh = run.made_file + "." + std::to_string(getpid());
    const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) {
        stream_bench::fail(fresh.c_str());
    }
    std::vector<char> block(std::size_t{1} << 20);
    for (std::uint64_t position = 0; position < run.file_bytes;) {
        const std::size_t bytes = std::min<std::uint64_t>(block.size(), run.file_bytes - position);
        fill_content(block.data(), bytes, position);
        for (std::size_t done = 0; done < bytes;) {
            const ssize_t written = ::write(file, block.data() + done, bytes - done);
            if (written < 0) {
                stream_bench::fail("write");
            }
            done += static_cast<std::size_t>(written);
        }
        position += bytes;
    }
    if (::close(file) != 0 || std::rename(fresh.c_str(), run.made_file.c_str()) != 0) {
        stream_bench::fail(run.made_file.c_str());
    }
}

// Quoted text; the texts that are passed here need no escaping.
void print_text(const char* name, const std::string& value) {
    std::printf(", \"%s\": \"%s\"", name, value.c_str());
}

template<class Number>
void print_number(const char* name, Number value) {
    std::printf(", \"%s\": %.12g", name, static_cast<double>(value));
}

void print_ms(const char* name, std::uint64_t nanoseconds) {
    print_number(name, static_cast<double>(nanoseconds) / 1e6);
}

bool report(const load_counts& counts, const cpu_meter& cpu) {
    const bool passed = counts.failures == 0 && counts.requests > 0;
    const double seconds = counts.window_seconds;
    std::printf("{\"event\": \"result\", \"pass\": %s", passed ? "true" : "false");
    print_number("requests", counts.requests);
    print_number("failures", counts.failures);
    print_number("unfinished", counts.unfinished);
    print_text("first_failure", counts.first_failure);
    print_number("bytes", counts.bytes);
    print_number("seconds", seconds);
    print_number("requests_per_second", static_cast<double>(counts.requests) / seconds);
    print_number("megabytes_per_second", static_cast<double>(counts.bytes) / 1e6 / seconds);
    const double average_ns = counts.requests > 0 ? static_cast<double>(counts.latency_sum_ns) /
                                                        static_cast<double>(counts.requests)
                                                  : 0;
    print_number("avg_ms", average_ns / 1e6);
    print_ms("p50_ms", counts.latency.percentile(0.50));
    print_ms("p95_ms", counts.latency.percentile(0.95));
    print_ms("p99_ms", counts.latency.percentile(0.99));
    print_ms("max_ms", counts.latency_max_ns);
    print_number("requests_total", counts.requests_total);
    print_number("connections", counts.connections);
    print_text("cipher", counts.cipher);
    print_number("server_cpu_seconds", cpu.server_seconds);
    print_number("client_cpu_seconds", cpu.client_seconds);
    std::printf("}\n");
    return passed;
}

} // namespace

int main(int argument_count, char** arguments) {
    const load_settings run = decode_load_settings(argument_count, arguments);
    if (!run.made_file.empty()) {
        make_file(run);
        return 0;
    }
    SSL_CTX* const context = run.is_secure ? make_tls_context() : nullptr;
    cpu_meter cpu{run.server_processes};
    const load_counts counts = load{run, context, cpu}.run();
    const bool passed = report(counts, cpu);
    SSL_CTX_free(context);
    return passed ? 0 : 1;
}
