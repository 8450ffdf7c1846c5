// SPDX-License-Identifier: MPL-2.0
#include "base/processor.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <sched.h>

using namespace zlink;

namespace {

/// The processors that the calling thread may run on, restored at the end.
class allowed_processors {
public:
    allowed_processors() { is_known_ = sched_getaffinity(0, sizeof before_, &before_) == 0; }
    ~allowed_processors() {
        if (is_known_) {
            sched_setaffinity(0, sizeof before_, &before_);
        }
    }

    /// Whether the system reports the set, and lets it be changed; if not there is nothing to test.
    bool can_change() const {
        return is_known_ && sched_setaffinity(0, sizeof before_, &before_) == 0;
    }
    bool has(processor_number one) const { return CPU_ISSET(one, &before_); }
    bool are_as_before() const {
        cpu_set_t now;
        return sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &before_);
    }

private:
    cpu_set_t before_;
    bool is_known_;
};

/// Whether this thread gets there. The system may move it on before it checks.
bool gets_to(processor_number processor) {
    for (int attempts = 0; attempts < 1000; ++attempts) {
        if (move_to_processor(processor) && current_processor() == processor) {
            return true;
        }
    }
    return false;
}

} // namespace

TEST_SUITE("base") {

    TEST_CASE("processor: a thread moves to each that it may run on, and may still run on all") {
        const allowed_processors allowed;
        if (!allowed.can_change()) {
            return;
        }
        for (processor_number each = 0; each < CPU_SETSIZE; ++each) {
            if (allowed.has(each)) {
                CAPTURE(each);
                CHECK(gets_to(each));
                CHECK(allowed.are_as_before());
            }
        }
    }

    TEST_CASE("processor: a thread does not move to where it may not run") {
        const allowed_processors before;
        const processor_number here = current_processor();
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(std::max<processor_number>(here, 0), &one);
        if (!before.can_change() || sched_setaffinity(0, sizeof one, &one) != 0) {
            return;
        }
        const allowed_processors narrowed;
        for (processor_number each = 0; each < CPU_SETSIZE; ++each) {
            CHECK(move_to_processor(each) == (each == here));
            CHECK(narrowed.are_as_before());
        }
        CHECK(!move_to_processor(no_processor));
    }
}
