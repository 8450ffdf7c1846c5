// SPDX-License-Identifier: MPL-2.0
#include "base/fork_gate.hpp"

#include "base/assert.hpp"
#include "base/limits.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <pthread.h>
#include <thread>

namespace zlink {

namespace {

/// The threads that hold the gate are counted in several places, usually each thread in its own, so
/// that they do not take a cache line from each other.
struct alignas(limits::cache_line_bytes) counter {
    std::atomic<std::uint32_t> holds{0};
};

// Neither constructed nor destroyed: threads go through here while the process ends.
constinit std::array<counter, 16> counters;
constinit std::atomic<std::uint32_t> is_shut{0};
constinit std::atomic<std::uint32_t> next_counter{0};
constinit std::mutex passing; ///< Held by the one that passes.
constinit std::uint32_t fork_count = 0;

constinit thread_local counter* own = nullptr;
constinit thread_local std::uint32_t depth = 0; ///< Of the thread's holds.

counter& own_counter() noexcept {
    if (own == nullptr) {
        own = &counters[next_counter.fetch_add(1, std::memory_order_relaxed) % counters.size()];
    }
    return *own;
}

/// The calling thread's own share of `each`.
std::uint32_t own_part(const counter& each) noexcept {
    return depth != 0 && &each == own ? 1 : 0;
}

bool is_free() noexcept {
    for (const counter& each : counters) {
        // Either a thread sees the gate shut, or this thread sees its hold: both sides are
        // sequentially consistent.
        if (each.holds.load(std::memory_order_seq_cst) > own_part(each)) {
            return false;
        }
    }
    return true;
}

/// A hold usually lasts for some microseconds, so the end of a hold is polled for.
void shut() noexcept {
    passing.lock();
    is_shut.store(1, std::memory_order_seq_cst);
    const auto until = std::chrono::steady_clock::now() + limits::fork_wait_max;
    while (!is_free() && std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(limits::fork_wait_step);
    }
}

void open() noexcept {
    is_shut.store(0, std::memory_order_seq_cst);
    is_shut.notify_all();
    passing.unlock();
}

/// A lock that is taken by each fork.
struct forked_lock {
    void (*lock)();
    void (*unlock)();
    void (*unlock_in_child)();
};
constinit std::array<forked_lock, 8> locks{};
constinit std::size_t lock_count = 0;

void before_fork() noexcept {
    shut();
    // The upper layers' locks first: they are constructed last, and their holders may take others.
    for (std::size_t index = lock_count; index-- > 0;) {
        locks[index].lock();
    }
}

void after_fork() noexcept {
    for (std::size_t index = 0; index < lock_count; ++index) {
        locks[index].unlock();
    }
    open();
}

void begin_in_child() noexcept {
    ++fork_count;
    for (std::size_t index = 0; index < lock_count; ++index) {
        locks[index].unlock_in_child();
    }
    for (counter& each : counters) {
        each.holds.store(own_part(each), std::memory_order_relaxed);
    }
    open();
}

// When the library is loaded, not when the gate is used first: a thread could otherwise be in the
// middle of this initialisation during a fork, and the child would wait for it.
[[maybe_unused]] const int gate_watches_forks =
    pthread_atfork(before_fork, after_fork, begin_in_child);

} // namespace

fork_gate::hold::hold() noexcept {
    if (depth++ != 0) {
        return;
    }
    std::atomic<std::uint32_t>& holds = own_counter().holds;
    while (true) {
        holds.fetch_add(1, std::memory_order_seq_cst);
        if (is_shut.load(std::memory_order_seq_cst) == 0) [[likely]] {
            return;
        }
        holds.fetch_sub(1, std::memory_order_seq_cst);
        is_shut.wait(1);
    }
}

fork_gate::hold::~hold() {
    if (--depth == 0) {
        own->holds.fetch_sub(1, std::memory_order_release);
    }
}

bool fork_gate::take_lock(void (*lock)(), void (*unlock)(), void (*unlock_in_child)()) noexcept {
    ZLINK_ASSERT(lock_count < locks.size());
    locks[lock_count++] = {lock, unlock, unlock_in_child};
    return true;
}

void fork_gate::pass() noexcept {
    shut();
    open();
}

std::uint32_t fork_gate::generation() noexcept {
    return fork_count;
}

} // namespace zlink
