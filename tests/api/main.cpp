// SPDX-License-Identifier: MPL-2.0
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <csignal>
#include <unistd.h>

namespace {

/// Aborts a run in which a call never returned, to leave a core or a stack trace.
constexpr unsigned longest_run_seconds = 580;

} // namespace

int main(int argc, char** argv) {
    std::signal(SIGALRM, [](int) { std::abort(); });
    ::alarm(longest_run_seconds);
    return doctest::Context(argc, argv).run();
}
