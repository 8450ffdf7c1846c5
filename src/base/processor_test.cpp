// SPDX-License-Identifier: MPL-2.0
#include "base/processor.hpp"

#include <doctest/doctest.h>
#include <sched.h>

using namespace zlink;

namespace {

cpu_set_t allowed_here() {
    cpu_set_t allowed;
    REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    return allowed;
}

/// Whether this thread gets there. The system may move it on before it has a look.
bool gets_to(processor_number processor) {
    for (int attempts = 0; attempts < 1000; ++attempts) {
        REQUIRE(move_to_processor(processor));
        if (current_processor() == processor) {
            return true;
        }
    }
    return false;
}

} // namespace

TEST_SUITE("base") {

    TEST_CASE("processor: a thread moves to each that it may run on, and may still run on all") {
        const cpu_set_t before = allowed_here();
        for (processor_number each = 0; each < CPU_SETSIZE; ++each) {
            if (CPU_ISSET(each, &before)) {
                CAPTURE(each);
                CHECK(gets_to(each));
                const cpu_set_t after = allowed_here();
                CHECK(CPU_EQUAL(&before, &after));
            }
        }
    }

    TEST_CASE("processor: a thread does not move to where it may not run") {
        const cpu_set_t before = allowed_here();
        cpu_set_t one;
        CPU_ZERO(&one);
        const processor_number here = current_processor();
        CPU_SET(here, &one);
        REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
        for (processor_number each = 0; each < CPU_SETSIZE; ++each) {
            if (each != here) {
                CHECK(!move_to_processor(each));
            }
        }
        CHECK(!move_to_processor(no_processor));
        CHECK(current_processor() == here);
        CHECK(sched_setaffinity(0, sizeof before, &before) == 0);
    }
}
