// SPDX-License-Identifier: MPL-2.0

#pragma once

#include "settings.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>

#include <sys/resource.h>
#include <unistd.h>

namespace bench {

using monotonic = std::chrono::steady_clock;
using seconds_f = std::chrono::duration<double>;

// The clock is read once per clock_interval_bytes of bodies, at the latest after the largest, and
// at the earliest after the smallest number of messages: on some machines one reading costs as much
// as a message by reference.
inline constexpr std::size_t clock_interval_bytes = 65536;
inline constexpr std::size_t clock_interval_messages_max = 256;
inline constexpr std::size_t clock_interval_messages_by_reference = 16;

// CPU time and context switches of a process, from the system's accounting.
struct usage {
    double user_seconds = 0;
    double system_seconds = 0;
    long voluntary_switches = 0;
    long involuntary_switches = 0;
};

inline usage read_usage() {
    rusage raw{};
    getrusage(RUSAGE_SELF, &raw);
    const auto in_seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return {in_seconds(raw.ru_utime), in_seconds(raw.ru_stime), raw.ru_nvcsw, raw.ru_nivcsw};
}

inline usage operator-(const usage& later, const usage& earlier) {
    return {later.user_seconds - earlier.user_seconds,
            later.system_seconds - earlier.system_seconds,
            later.voluntary_switches - earlier.voluntary_switches,
            later.involuntary_switches - earlier.involuntary_switches};
}

inline long resident_kib() {
    long pages_total = 0;
    long pages_resident = 0;
    if (std::FILE* statm = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(statm, "%ld %ld", &pages_total, &pages_resident) != 2) {
            pages_resident = 0;
        }
        std::fclose(statm);
    }
    return pages_resident * (sysconf(_SC_PAGESIZE) / 1024);
}

// The measured part of a run: it opens when the warm-up is over and closes when the measured time
// has passed or the run ends, whichever is first.
class window {
public:
    explicit window(const settings& run)
        : warmup_{run.message_count != 0 ? 0.0 : run.warmup_seconds},
          length_{run.message_count != 0 ? std::numeric_limits<double>::infinity() : run.seconds},
          interval_{std::clamp<std::size_t>(
              clock_interval_bytes / run.body_bytes,
              run.api == api_kind::ref ? clock_interval_messages_by_reference : 1,
              clock_interval_messages_max)} {}

    // Counts one message; reads the clock at the first one and then once per interval.
    // @return Whether it read the clock.
    bool on_message() {
        ++message_count_;
        if (--until_check_ != 0) {
            return false;
        }
        until_check_ = interval_;
        check();
        return true;
    }

    void close() {
        if (state_ == state::open) {
            end_ = monotonic::now();
            end_usage_ = read_usage();
            end_count_ = message_count_;
            state_ = state::closed;
        }
    }

    [[nodiscard]] bool is_closed() const { return state_ == state::closed; }
    [[nodiscard]] monotonic::time_point last_check() const { return last_check_; }
    [[nodiscard]] monotonic::time_point start() const { return start_; }
    [[nodiscard]] std::uint64_t total_count() const { return message_count_; }
    [[nodiscard]] std::uint64_t count() const { return end_count_ - begin_count_; }
    [[nodiscard]] double seconds() const { return seconds_f(end_ - begin_).count(); }
    [[nodiscard]] double rate() const {
        return seconds() > 0 ? static_cast<double>(count()) / seconds() : 0;
    }
    [[nodiscard]] usage used() const { return end_usage_ - begin_usage_; }

private:
    enum class state { idle, warming, open, closed };

    void check() {
        last_check_ = monotonic::now();
        if (state_ == state::idle) {
            start_ = last_check_;
            state_ = state::warming;
        }
        if (state_ == state::warming && last_check_ - start_ >= warmup_) {
            begin_ = last_check_;
            begin_usage_ = read_usage();
            begin_count_ = message_count_;
            state_ = state::open;
        } else if (state_ == state::open && last_check_ - begin_ >= length_) {
            close();
        }
    }

    seconds_f warmup_;
    seconds_f length_;
    std::size_t interval_;
    std::size_t until_check_ = 1;
    state state_ = state::idle;
    std::uint64_t message_count_ = 0;
    std::uint64_t begin_count_ = 0;
    std::uint64_t end_count_ = 0;
    monotonic::time_point start_{};
    monotonic::time_point begin_{};
    monotonic::time_point end_{};
    monotonic::time_point last_check_{};
    usage begin_usage_;
    usage end_usage_;
};

} // namespace bench
