// SPDX-License-Identifier: MPL-2.0
//
// The signals that the library's threads leave to the application, and those that they take.
#include "fixture.hpp"

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>

using namespace api_test;

namespace {

/// Of each thread of the library, the signals that it blocks: bit N-1 is signal N.
std::vector<std::uint64_t> blocked_by_io_threads() {
    std::vector<std::uint64_t> found;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream name{each.path() / "comm"};
        std::string text;
        std::getline(name, text);
        if (!text.starts_with("zlink/")) {
            continue;
        }
        std::ifstream status{each.path() / "status"};
        while (std::getline(status, text)) {
            if (text.starts_with("SigBlk:")) {
                found.push_back(std::stoull(text.substr(7), nullptr, 16));
            }
        }
    }
    return found;
}

bool blocks(std::uint64_t mask, int signal) {
    return ((mask >> (signal - 1)) & 1) != 0;
}

} // namespace

TEST_CASE("signals: threads of the library leave all but those of their own faults to others") {
    const context owner{3};
    const socket opened{owner, ZLINK_PAIR};
    std::vector<std::uint64_t> masks;
    wait_until(owner, [&] { // Threads set their names themselves.
        masks = blocked_by_io_threads();
        return masks.size() == 3;
    });
    for (const std::uint64_t mask : masks) {
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
            CAPTURE(fault);
            CHECK_FALSE(blocks(mask, fault));
        }
        for (const int others : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGCHLD, SIGPIPE, SIGALRM}) {
            CAPTURE(others);
            CHECK(blocks(mask, others));
        }
    }
}
