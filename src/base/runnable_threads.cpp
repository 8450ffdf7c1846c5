// SPDX-License-Identifier: MPL-2.0
#include "base/runnable_threads.hpp"

#include <algorithm>
#include <pthread.h>
#include <sched.h>
#include <thread>

namespace zlink {

namespace {

std::int32_t count_processors() noexcept {
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof usable, &usable) == 0) {
        return std::max(CPU_COUNT(&usable), 1);
    }
    // The machine has more processors than a cpu_set_t.
    return static_cast<std::int32_t>(std::max(std::thread::hardware_concurrency(), 1U));
}

} // namespace

runnable_threads::counts runnable_threads::counts_;
const std::int32_t runnable_threads::processor_count_ = [] {
    // The threads that were counted are the parent's.
    pthread_atfork(nullptr, nullptr, [] {
        counts_.spinning.store(0, std::memory_order_relaxed);
        counts_.woken.store(0, std::memory_order_relaxed);
    });
    return count_processors();
}();

} // namespace zlink
