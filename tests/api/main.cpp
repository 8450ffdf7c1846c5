// SPDX-License-Identifier: MPL-2.0
#define DOCTEST_CONFIG_IMPLEMENT
#include "payloads.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <iostream>
#include <random>
#include <unistd.h>

namespace {

/// Aborts a run in which a call never returned, to leave a core or a stack trace.
constexpr unsigned longest_run_seconds = 580;

} // namespace

int main(int argc, char** argv) {
    std::signal(SIGALRM, [](int) { std::abort(); });
    ::alarm(longest_run_seconds);
    doctest::Context run;
    const unsigned seed = std::random_device{}() % 1'000'000;
    run.setOption("rand-seed", static_cast<int>(seed));
    run.applyCommandLine(argc, argv);
    const int failed = run.run();
    if (const auto used = api_test::payload_seed(); failed != 0 && used) {
        std::cout << "sizes of payloads were chosen with --rand-seed=" << *used << std::endl;
    }
    return failed;
}
