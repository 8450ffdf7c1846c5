// SPDX-License-Identifier: MPL-2.0
//
// Memory that the system refuses. Every allocation of every scenario fails in turn, each in a
// process of its own: the call that needed it fails with ENOMEM, or one connection ends, and
// afterwards everything works.
//
//   refused_allocations [--list] [--share N] [--at WHERE:NUMBER] [SCENARIO...]
//
// --list   prints the names of the scenarios
// --share  refuses only so many allocations of each scenario, spread over all of them
// --at     refuses one: caller:NUMBER or library:NUMBER
//
// Prints a line for each scenario; ends with 'N passed, M failed'.
#define DOCTEST_CONFIG_IMPLEMENT
#include "refusal.hpp"
#include "scenario.hpp"
#include "testing/certificates.hpp"
#include "zlink.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using refusal::scenario;
using refusal::where;

constexpr unsigned longest_seconds = 60;
constexpr std::size_t faults_shown_max = 5;

/// The end of a process.
struct ending {
    int status = 0;   ///< As from waitpid(2).
    long counted = 0; ///< Allocations; 0 if the process did not report them.
    std::string said;
};

/// Runs the scenario in a process of its own.
ending converse_apart(const scenario& chosen, const refusal::credentials& shown, where counted,
                      long number) {
    std::array<int, 2> figures;
    std::array<int, 2> words;
    if (::pipe(figures.data()) != 0 || ::pipe(words.data()) != 0) {
        std::abort();
    }
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(words[1], STDERR_FILENO);
        std::signal(SIGALRM, SIG_DFL);
        ::alarm(longest_seconds);
        std::signal(SIGABRT, [](int) {
            std::signal(SIGABRT, SIG_DFL);
            refusal::show();
            ::abort();
        });
        refusal::begin(counted, number);
        const int outcome = refusal::converse(chosen, shown);
        refusal::end();
        const long count = refusal::count();
        if (outcome != 0) {
            refusal::show();
        }
        ::_exit(::write(figures[1], &count, sizeof count) == sizeof count ? outcome : 2);
    }
    ::close(figures[1]);
    ::close(words[1]);
    ending found;
    std::array<char, 4096> some;
    for (ssize_t bytes = 0; (bytes = ::read(words[0], some.data(), some.size())) > 0;) {
        found.said.append(some.data(), static_cast<std::size_t>(bytes));
    }
    if (::read(figures[0], &found.counted, sizeof found.counted) != sizeof found.counted) {
        found.counted = 0;
    }
    ::close(figures[0]);
    ::close(words[0]);
    ::waitpid(child, &found.status, 0);
    return found;
}

const char* name_of(where counted) noexcept {
    return counted == where::caller ? "caller" : "library";
}

void show(const scenario& chosen, where counted, long number, const ending& found) {
    std::printf("  %s --at %s:%ld: ", chosen.name, name_of(counted), number);
    if (WIFSIGNALED(found.status)) {
        std::printf("signal %d\n", WTERMSIG(found.status));
    } else {
        std::printf("status %d\n", WEXITSTATUS(found.status));
    }
    std::printf("%s\n", found.said.substr(0, 6000).c_str());
    std::fflush(stdout);
}

/// The command line.
struct plan {
    long share = 0; ///< 0: all.
    long number = -1;
    where counted = where::caller;
    bool lists = false;
    std::vector<std::string> names;
};

plan plan_of(int argc, char** argv) {
    plan made;
    for (int index = 1; index < argc; ++index) {
        const std::string word = argv[index];
        if (word == "--list") {
            made.lists = true;
        } else if (word == "--share" && index + 1 < argc) {
            made.share = std::atol(argv[++index]);
        } else if (word == "--at" && index + 1 < argc) {
            const std::string place = argv[++index];
            made.counted = place.starts_with("library") ? where::library : where::caller;
            made.number = std::atol(place.substr(place.find(':') + 1).c_str());
        } else {
            made.names.push_back(word);
        }
    }
    return made;
}

/// Refuses the allocations of one kind of thread in turn.
/// @return The number refused, and the number that led to a fault.
std::pair<long, std::size_t> refuse_each(const scenario& chosen, const refusal::credentials& shown,
                                         where counted, const plan& how) {
    const ending undisturbed = converse_apart(chosen, shown, counted, -1);
    if (undisturbed.status != 0) {
        show(chosen, counted, -1, undisturbed);
        return {0, 1};
    }
    const long step = how.share == 0 ? 1 : std::max(undisturbed.counted / how.share, 1L);
    long tried = 0;
    std::size_t faults = 0;
    for (long number = 0; number < undisturbed.counted; number += step) {
        const ending found = converse_apart(chosen, shown, counted, number);
        ++tried;
        if (found.status != 0 && ++faults <= faults_shown_max) {
            show(chosen, counted, number, found);
        }
    }
    return {tried, faults};
}

/// @return Whether no refusal led to a fault.
bool passes(const scenario& chosen, const refusal::credentials& shown, const plan& how) {
    const auto begin = std::chrono::steady_clock::now();
    long tried = 0;
    std::size_t faults = 0;
    for (const where counted : {where::caller, where::library}) {
        if (counted == where::library && chosen.io_threads == 0) {
            continue;
        }
        const auto [some, some_faults] = refuse_each(chosen, shown, counted, how);
        tried += some;
        faults += some_faults;
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    std::printf("%s %7.1f s  refused allocations: %s: %ld refused in turn, %zu not stood\n",
                faults == 0 ? "PASS" : "FAIL", taken.count(), chosen.name, tried, faults);
    std::fflush(stdout);
    return faults == 0;
}

} // namespace

int main(int argc, char** argv) {
    const plan how = plan_of(argc, argv);
    doctest::Context asserts; // For the assertions in the helpers that make certificates.
    asserts.setAsDefaultForAssertsOutOfTestCases();
    asserts.setAssertHandler([](const doctest::AssertData&) { std::abort(); });
    // If OpenSSL is refused memory at its first use, it never works again: here it has been used
    // already, as in a program that uses it itself.
    OPENSSL_init_ssl(0, nullptr);
    const zlink::testing::temporary_folder folder;
    zlink::testing::authority issuer{folder, "issuer"};
    const zlink::testing::identity server = issuer.issue();
    refusal::credentials shown{server.certificate, server.key, issuer.path(), {}, {}};
    zlink_curve_keypair(shown.open.data(), shown.hidden.data());

    int passed = 0;
    int failed = 0;
    for (const scenario& each : refusal::every_scenario()) {
        const bool is_chosen = how.names.empty() || std::find(how.names.begin(), how.names.end(),
                                                              each.name) != how.names.end();
        if (!is_chosen) {
            continue;
        }
        if (how.lists) {
            std::puts(each.name);
            continue;
        }
        if (how.number >= 0) {
            const ending found = converse_apart(each, shown, how.counted, how.number);
            show(each, how.counted, how.number, found);
            ++(found.status == 0 ? passed : failed);
            continue;
        }
        ++(passes(each, shown, how) ? passed : failed);
    }
    if (!how.lists) {
        std::printf("%d passed, %d failed\n", passed, failed);
    }
    return failed == 0 ? 0 : 1;
}
