// SPDX-License-Identifier: MPL-2.0
#include "zlink.h"

#include <doctest/doctest.h>

#include <signal.h>

namespace {

struct observation {
    bool ran = false;
    bool blocks_interrupt = false;
    bool blocks_fault = false;
};

void observe(void* argument) {
    auto& seen = *static_cast<observation*>(argument);
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    seen = {true, sigismember(&blocked, SIGINT) == 1, sigismember(&blocked, SIGSEGV) == 1};
}

} // namespace

TEST_SUITE("api") {

    TEST_CASE("thread: has run its body, without signals, when it is closed") {
        observation seen;

        void* const thread = zlink_threadstart(observe, &seen);
        REQUIRE(thread != nullptr);
        zlink_threadclose(thread);

        CHECK(seen.ran);
        CHECK(seen.blocks_interrupt);
        CHECK(!seen.blocks_fault);
    }

    TEST_CASE("thread: leaves its starter's signals as they are") {
        sigset_t before;
        pthread_sigmask(SIG_SETMASK, nullptr, &before);
        observation seen;

        zlink_threadclose(zlink_threadstart(observe, &seen));

        sigset_t after;
        pthread_sigmask(SIG_SETMASK, nullptr, &after);
        CHECK(sigismember(&after, SIGINT) == sigismember(&before, SIGINT));
        CHECK(sigismember(&after, SIGTERM) == sigismember(&before, SIGTERM));
    }

    TEST_CASE("sleep: returns at once when there is nothing to wait for") {
        zlink_sleep(0);
        zlink_sleep(-1);
    }

} // TEST_SUITE
