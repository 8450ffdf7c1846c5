// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "../stream/arguments.hpp"
#include "board.hpp"
#include "cast.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace app_bench {

/// The options that every workload takes.
struct run_settings {
    double seconds = 3;
    double warmup_seconds = 0.5;
    unsigned limit_seconds = 0; // 0: derived from the duration of the run.
    std::string transport = "tcp";
    int io_threads = 1;

    [[nodiscard]] bool is_inproc() const { return transport == "inproc"; }
};

/// Reads the command line, including the workload's own options, and sets the time limit of this
/// process.
void decode(run_settings& run, int argument_count, char** arguments,
            std::vector<stream_bench::option> own_options);

/// CPU time and memory that the processes of a workload used, from the system's accounting.
struct usage {
    double cpu_seconds = 0;  ///< Exact.
    double user_seconds = 0; ///< This and the next are counted in ticks.
    double system_seconds = 0;
    std::uint64_t voluntary_switches = 0;
    std::uint64_t involuntary_switches = 0;
};

struct measurement {
    double seconds = 0;
    std::uint64_t done = 0;
    std::uint64_t wakeups = 0;
    usage used;
};

/// Runs the load, opens the window, closes it, and stops the load.
measurement measure(const run_settings& run, board& shared, const cast& parts);

/// Ends the process with an error message unless as much was done as was sent: the rest was lost.
void check_complete(std::uint64_t done, std::uint64_t sent);

/// Prints the line of a run that has passed its own check.
void print_result(const measurement& measured, const board& shared);

} // namespace app_bench
