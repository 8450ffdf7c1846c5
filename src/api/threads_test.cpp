// SPDX-License-Identifier: MPL-2.0
#include "zlink.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>

#include <signal.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

struct observation {
    bool blocks_interrupt = false;
    bool blocks_fault = false;
};

void observe(void* argument) {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    *static_cast<observation*>(argument) = {sigismember(&blocked, SIGINT) == 1,
                                            sigismember(&blocked, SIGSEGV) == 1};
}

bool is_asleep(int thread) {
    std::string told;
    std::getline(std::ifstream{"/proc/self/task/" + std::to_string(thread) + "/stat"}, told);
    // The state follows the name, which is in parentheses.
    return told.compare(told.rfind(')') + 1, 2, " S") == 0;
}

/// A body that ends once its thread's closer waits for it, or after a second.
struct slow_body {
    int closed_by = ::gettid();
    std::atomic<bool> has_ended{false};

    static void run(void* argument) {
        auto& self = *static_cast<slow_body*>(argument);
        const auto give_up = clock::now() + 1s;
        while (!is_asleep(self.closed_by) && clock::now() < give_up) {
        }
        self.has_ended = true;
    }
};

/// Blocks SIGTERM and no other signal during its lifetime.
class chosen_signals {
public:
    chosen_signals() {
        sigset_t chosen;
        sigemptyset(&chosen);
        sigaddset(&chosen, SIGTERM);
        pthread_sigmask(SIG_SETMASK, &chosen, &before_);
    }
    ~chosen_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_;
};

} // namespace

TEST_SUITE("api") {

    TEST_CASE("thread: has run its body to the end when it is closed") {
        static slow_body body; // It may outlive a test that fails.

        void* const thread = zlink_threadstart(slow_body::run, &body);
        REQUIRE(thread != nullptr);
        zlink_threadclose(thread);

        CHECK(body.has_ended);
    }

    TEST_CASE("thread: its body gets no signals but those of its own faults") {
        const chosen_signals ours;
        observation seen{false, true};

        zlink_threadclose(zlink_threadstart(observe, &seen));

        CHECK(seen.blocks_interrupt);
        CHECK(!seen.blocks_fault);
    }

    TEST_CASE("thread: leaves its starter's signals as they are") {
        const chosen_signals ours;
        observation seen;

        zlink_threadclose(zlink_threadstart(observe, &seen));

        sigset_t after;
        pthread_sigmask(SIG_SETMASK, nullptr, &after);
        CHECK(sigismember(&after, SIGINT) == 0);
        CHECK(sigismember(&after, SIGUSR1) == 0);
        CHECK(sigismember(&after, SIGTERM) == 1);
    }

    TEST_CASE("sleep: waits so many seconds, and not at all if there are none") {
        const auto begin = clock::now();
        zlink_sleep(0);
        zlink_sleep(-1);
        CHECK(clock::now() - begin < 900ms);
        zlink_sleep(1);
        CHECK(clock::now() - begin >= 1s);
    }

} // TEST_SUITE
