// SPDX-License-Identifier: MPL-2.0
#include "base/fence.hpp"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace zlink {

namespace {

bool register_membarrier() noexcept {
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

// A child process has a registration of its own.
[[maybe_unused]] const int fence_watches_forks =
    pthread_atfork(nullptr, nullptr, [] { register_membarrier(); });

} // namespace

const bool asymmetric_fence::has_membarrier = register_membarrier();

void asymmetric_fence::heavy() noexcept {
    if (has_membarrier) {
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    } else {
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }
}

} // namespace zlink
