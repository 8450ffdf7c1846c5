// SPDX-License-Identifier: MPL-2.0
#define DOCTEST_CONFIG_IMPLEMENT
#include "trial.hpp"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <unistd.h>

namespace {

/// Aborts a run in which a call never returned, to leave a core or a stack trace.
constexpr unsigned longest_quick_seconds = 280;
constexpr unsigned longest_full_seconds = 1800;

bool full_form = false;
std::ostringstream told;

/// A line for each test: its result, its duration, and its figures.
struct one_line_each : doctest::IReporter {
    explicit one_line_each(const doctest::ContextOptions& options) : out(*options.cout) {}

    void report_query(const doctest::QueryData&) override {}
    void test_run_start() override {}
    void test_run_end(const doctest::TestRunStats&) override {}
    void test_case_start(const doctest::TestCaseData& begun) override {
        name = begun.m_name;
        told.str({});
    }
    void test_case_reenter(const doctest::TestCaseData&) override {}
    void test_case_end(const doctest::CurrentTestCaseStats& ended) override {
        out << (ended.failure_flags == 0 ? "PASS" : "FAIL") << std::fixed << std::setprecision(1)
            << std::setw(8) << ended.seconds << " s  " << name;
        if (const std::string figures = told.str(); !figures.empty()) {
            out << ": " << figures;
        }
        out << std::endl;
    }
    void test_case_exception(const doctest::TestCaseException&) override {}
    void subcase_start(const doctest::SubcaseSignature&) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData&) override {}
    void log_message(const doctest::MessageData&) override {}
    void test_case_skipped(const doctest::TestCaseData&) override {}

    std::ostream& out;
    const char* name = "";
};

REGISTER_LISTENER("one_line_each", 1, one_line_each);

} // namespace

bool robustness::is_full() noexcept {
    return full_form;
}

std::ostream& robustness::figures() {
    return told;
}

int main(int argc, char** argv) {
    for (int index = 1; index < argc; ++index) {
        full_form = full_form || std::strcmp(argv[index], "--full") == 0;
    }
    std::signal(SIGALRM, [](int) { std::abort(); });
    ::alarm(full_form ? longest_full_seconds : longest_quick_seconds);
    robustness::allow_many_descriptors();
    return doctest::Context(argc, argv).run();
}
