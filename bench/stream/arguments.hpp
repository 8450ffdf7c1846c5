// SPDX-License-Identifier: MPL-2.0
//
// The command line of the programs of this folder, and how they end on errors.

#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

namespace stream_bench {

inline constexpr int exit_failure = 2;
inline constexpr int exit_timeout = 3;

[[noreturn]] inline void reject(const std::string& complaint) {
    std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, complaint.c_str());
    std::fflush(stderr);
    _exit(exit_failure);
}

[[noreturn]] inline void fail(const char* what) {
    reject(std::string{what} + ": " + std::strerror(errno));
}

struct option {
    const char* name;
    const char* help;
    std::function<void(const std::string&)> set;
};

inline double to_number(const std::string& text) {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || number < 0) {
        reject("not a number: " + text);
    }
    return number;
}

template<class Number>
option number_option(const char* name, const char* help, Number& target) {
    return {name, help,
            [&target](const std::string& text) { target = static_cast<Number>(to_number(text)); }};
}

inline option text_option(const char* name, const char* help, std::string& target) {
    return {name, help, [&target](const std::string& text) { target = text; }};
}

/// Reads `--name value` pairs; anything else ends the process, `--help` with the list of options.
inline void decode_options(int argument_count, char** arguments,
                           const std::vector<option>& options) {
    for (int index = 1; index < argument_count; ++index) {
        const std::string name = arguments[index];
        if (name == "--help") {
            for (const option& known : options) {
                std::printf("  %-24s %s\n", known.name, known.help);
            }
            std::exit(0);
        }
        const option* found = nullptr;
        for (const option& known : options) {
            found = name == known.name ? &known : found;
        }
        if (found == nullptr || ++index == argument_count) {
            reject("unknown option or no value: " + name + " (--help lists them)");
        }
        found->set(arguments[index]);
    }
}

inline void on_limit(int) {
    constexpr char text[] = "the time limit passed\n";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    _exit(exit_timeout);
}

/// Raises the process's limit on open descriptors to the most that the system allows.
inline void raise_descriptor_limit() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/// Ends the process with a distinct exit status after so many seconds; 0 means never.
inline void limit_time(unsigned seconds) {
    signal(SIGALRM, on_limit);
    alarm(seconds);
}

} // namespace stream_bench
