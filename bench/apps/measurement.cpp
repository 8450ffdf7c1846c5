// SPDX-License-Identifier: MPL-2.0
#include "measurement.hpp"

#include <zmq.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include <dlfcn.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

namespace app_bench {
namespace {

// Added to the duration of a run for connecting, draining and closing.
constexpr unsigned time_limit_slack_seconds = 30;

const board* shown_by_alarm = nullptr;

void on_alarm(int) {
    static constexpr const char* texts[] = {"starting", "warming up", "measuring", "draining"};
    const auto where =
        static_cast<std::size_t>(shown_by_alarm ? shown_by_alarm->now() : phase::starting);
    char text[80];
    const int length = std::snprintf(text, sizeof text, "%s: time limit passed while %s\n",
                                     program_invocation_short_name, texts[where]);
    [[maybe_unused]] const ssize_t written =
        write(STDERR_FILENO, text, static_cast<std::size_t>(length));
    _exit(stream_bench::exit_timeout);
}

double cpu_seconds_of(pid_t process) {
    clockid_t clock{};
    timespec time{};
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) {
        stream_bench::reject("a process of the workload is gone");
    }
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Fields 14 and 15 of /proc/PID/stat; the second field is a name that may contain blanks.
void add_ticks(usage& used, const std::string& folder) {
    std::ifstream file(folder + "/stat");
    std::string line;
    std::getline(file, line);
    unsigned long user = 0;
    unsigned long system = 0;
    std::sscanf(line.c_str() + line.rfind(')') + 1,
                " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
    const auto ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
    used.user_seconds += static_cast<double>(user) / ticks_per_second;
    used.system_seconds += static_cast<double>(system) / ticks_per_second;
}

void add_switches(usage& used, const std::string& folder) {
    std::ifstream file(folder + "/status");
    for (std::string line; std::getline(file, line);) {
        unsigned long long count = 0;
        if (std::sscanf(line.c_str(), "voluntary_ctxt_switches: %llu", &count) == 1) {
            used.voluntary_switches += count;
        } else if (std::sscanf(line.c_str(), "nonvoluntary_ctxt_switches: %llu", &count) == 1) {
            used.involuntary_switches += count;
        }
    }
}

usage read_usage(const std::vector<pid_t>& processes) {
    usage used;
    for (const pid_t process : processes) {
        used.cpu_seconds += cpu_seconds_of(process);
        const std::string folder = "/proc/" + std::to_string(process);
        add_ticks(used, folder);
        std::error_code gone;
        for (const auto& thread : std::filesystem::directory_iterator(folder + "/task", gone)) {
            add_switches(used, thread.path().string());
        }
    }
    return used;
}

usage operator-(const usage& later, const usage& earlier) {
    return {later.cpu_seconds - earlier.cpu_seconds, later.user_seconds - earlier.user_seconds,
            later.system_seconds - earlier.system_seconds,
            later.voluntary_switches - earlier.voluntary_switches,
            later.involuntary_switches - earlier.involuntary_switches};
}

void pass(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

double seconds_between(monotonic::time_point start, monotonic::time_point end) {
    return std::chrono::duration<double>(end - start).count();
}

} // namespace

void decode(run_settings& run, int argument_count, char** arguments,
            std::vector<stream_bench::option> own_options) {
    using stream_bench::number_option;
    own_options.insert(
        own_options.end(),
        {number_option("--seconds", "measured time (3)", run.seconds),
         number_option("--warmup", "seconds before it (0.5)", run.warmup_seconds),
         number_option("--limit", "end with status 3 after so many seconds (run length + 30)",
                       run.limit_seconds),
         stream_bench::text_option("--transport", "tcp, ipc, inproc (tcp)", run.transport),
         number_option("--io-threads", "of each context", run.io_threads)});
    stream_bench::decode_options(argument_count, arguments, own_options);
    if (run.transport != "tcp" && run.transport != "ipc" && !run.is_inproc()) {
        stream_bench::reject("no transport " + run.transport);
    }
    if (run.limit_seconds == 0) {
        run.limit_seconds =
            static_cast<unsigned>(run.seconds + run.warmup_seconds) + time_limit_slack_seconds;
    }
    stream_bench::raise_descriptor_limit();
    signal(SIGALRM, on_alarm);
    alarm(run.limit_seconds);
}

measurement measure(const run_settings& run, board& shared, const cast& parts) {
    shown_by_alarm = &shared;
    const std::vector<pid_t> processes = parts.processes();
    shared.advance(phase::warming);
    pass(run.warmup_seconds);
    const usage used_before = read_usage(processes);
    const std::uint64_t done_before = shared.done();
    const std::uint64_t wakeups_before = shared.wakeups();
    const auto start = monotonic::now();
    shared.advance(phase::measuring);
    pass(run.seconds);
    measurement result;
    result.done = shared.done() - done_before;
    result.wakeups = shared.wakeups() - wakeups_before;
    result.seconds = seconds_between(start, monotonic::now());
    result.used = read_usage(processes) - used_before;
    shared.advance(phase::stopping);
    return result;
}

void check_complete(std::uint64_t done, std::uint64_t sent) {
    if (done != sent) {
        stream_bench::reject(std::to_string(done) + " of " + std::to_string(sent) + " came");
    }
}

void print_result(const measurement& measured, const board& shared) {
    if (measured.done == 0) {
        stream_bench::reject("nothing came within the window");
    }
    Dl_info library{};
    dladdr(reinterpret_cast<void*>(&zmq_version), &library);
    const auto done = static_cast<double>(measured.done);
    const usage& used = measured.used;
    std::printf("{\"event\": \"result\", \"library\": \"%s\", \"seconds\": %.6f, \"done\": %llu, "
                "\"total\": %llu, \"rate\": %.2f, \"cpu_us_per_message\": %.6f, "
                "\"user_seconds\": %.2f, \"system_seconds\": %.2f, \"voluntary_switches\": %llu, "
                "\"involuntary_switches\": %llu, \"switches_per_message\": %.6f",
                library.dli_fname != nullptr ? library.dli_fname : "", measured.seconds,
                static_cast<unsigned long long>(measured.done),
                static_cast<unsigned long long>(shared.done()), done / measured.seconds,
                used.cpu_seconds * 1e6 / done, used.user_seconds, used.system_seconds,
                static_cast<unsigned long long>(used.voluntary_switches),
                static_cast<unsigned long long>(used.involuntary_switches),
                static_cast<double>(used.voluntary_switches + used.involuntary_switches) / done);
    const stream_bench::histogram round_trips = shared.round_trips();
    if (round_trips.total() != 0) {
        std::printf(", \"p50_us\": %.2f, \"p99_us\": %.2f",
                    static_cast<double>(round_trips.percentile(0.5)) / 1000,
                    static_cast<double>(round_trips.percentile(0.99)) / 1000);
    }
    if (measured.wakeups != 0) {
        std::printf(", \"wakeups_per_message\": %.4f",
                    static_cast<double>(measured.wakeups) / done);
    }
    std::printf("}\n");
    std::fflush(stdout);
}

} // namespace app_bench
