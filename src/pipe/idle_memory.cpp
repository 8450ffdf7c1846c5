// SPDX-License-Identifier: MPL-2.0
#include "pipe/idle_memory.hpp"

#include "base/fork_gate.hpp"
#include "pipe/buffer_pool.hpp"
#include "pipe/cell_pool.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <sys/mman.h>
#include <type_traits>
#include <unistd.h>
#include <utility>

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

namespace zlink::pipe {

namespace {

using clock = std::chrono::steady_clock;

struct sweepers {
    std::mutex mutex;
    memory_sweeper* first = nullptr;
};

/// What a return of memory depends on. Changed by one sweep at a time.
struct returns {
    std::mutex mutex;
    std::size_t last_bytes = 0; ///< Counted, at the last sweep.
    bool was_due = false;
    clock::time_point due_since;
    clock::time_point not_before;
};

// Neither constructed nor destroyed: messages may outlive every static object of the library.
constinit sweepers all;
constinit returns history;
static_assert(std::is_trivially_destructible_v<sweepers> &&
              std::is_trivially_destructible_v<returns>);

constinit std::atomic<int> scheduled_count{0};
constinit std::atomic<bool> is_requested{false};

constinit std::atomic<std::size_t> counted_bytes{0};
constinit std::atomic<std::size_t> counted_bytes_max{0}; ///< Since the last return.
constinit std::atomic<bool> has_freed_many_bytes{false};

void lock_all() noexcept {
    history.mutex.lock();
    all.mutex.lock();
}

void unlock_all() noexcept {
    all.mutex.unlock();
    history.mutex.unlock();
}

/// The threads of the sweepers are not in the child.
void unlock_in_child() noexcept {
    all.first = nullptr;
    scheduled_count.store(0, std::memory_order_relaxed);
    is_requested.store(false, std::memory_order_relaxed);
    unlock_all();
}

[[maybe_unused]] const bool watches_forks =
    fork_gate::take_lock(lock_all, unlock_all, unlock_in_child);

/// Whether much was freed if so many bytes are left.
bool was_much_freed(std::size_t left_bytes) noexcept {
    const std::size_t most = counted_bytes_max.load(std::memory_order_relaxed);
    return most > left_bytes && most - left_bytes >= std::max(tuning::freed_bytes_min, most / 4);
}

/// @param is_busy  The pools still hold memory.
/// @return Whether to call again.
bool return_to_system([[maybe_unused]] bool is_busy) noexcept {
#ifdef __GLIBC__
    const std::unique_lock lock{history.mutex, std::try_to_lock};
    if (!lock) {
        return true; // Another sweep does it, or not yet.
    }
    const std::size_t bytes = counted_bytes.load(std::memory_order_relaxed);
    const bool has_changed = std::exchange(history.last_bytes, bytes) != bytes;
    const bool is_due =
        has_freed_many_bytes.load(std::memory_order_relaxed) || was_much_freed(bytes);
    const clock::time_point now = clock::now();
    if (!std::exchange(history.was_due, is_due)) {
        history.due_since = now;
    }
    const bool waits =
        (is_busy || has_changed) && now - history.due_since < tuning::return_delay_max;
    if (!is_due || waits || now < history.not_before) {
        return is_due;
    }
    has_freed_many_bytes.store(false, std::memory_order_relaxed);
    counted_bytes_max.store(bytes, std::memory_order_relaxed);
    history.was_due = false;
    ::malloc_trim(0);
    const clock::duration taken = clock::now() - now;
    history.not_before = now + std::max<clock::duration>(tuning::return_delay_max,
                                                         tuning::return_pause_factor * taken);
#endif
    return false;
}

} // namespace

void return_pages(void* memory, std::size_t bytes) noexcept {
    static const auto page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(memory);
    const std::uintptr_t begin = (first + page_bytes - 1) / page_bytes * page_bytes;
    const std::uintptr_t end = (first + bytes) / page_bytes * page_bytes;
    if (begin < end) {
        ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
    }
}

void add_sweeper(memory_sweeper& added) noexcept {
    const std::lock_guard lock{all.mutex};
    added.next_sweeper = all.first;
    all.first = &added;
}

void remove_sweeper(memory_sweeper& removed) noexcept {
    const std::lock_guard lock{all.mutex};
    for (memory_sweeper** each = &all.first; *each != nullptr; each = &(*each)->next_sweeper) {
        if (*each == &removed) {
            *each = removed.next_sweeper;
            is_requested.store(false,
                               std::memory_order_relaxed); // It may have been requested there.
            return;
        }
    }
}

void note_sweep_scheduled() noexcept {
    scheduled_count.fetch_add(1, std::memory_order_seq_cst);
}

void note_sweep_over() noexcept {
    scheduled_count.fetch_sub(1, std::memory_order_seq_cst);
}

bool sweep_idle_memory() noexcept {
    is_requested.store(false, std::memory_order_relaxed);
    const bool holds_buffers = decay_buffers();
    const bool holds_cells = decay_cells();
    const bool is_due = return_to_system(holds_buffers);
    return holds_buffers || holds_cells || is_due;
}

void count_allocated(std::size_t bytes) noexcept {
    const std::size_t now = counted_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    std::size_t most = counted_bytes_max.load(std::memory_order_relaxed);
    while (most < now &&
           !counted_bytes_max.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
    }
}

void count_freed(std::size_t bytes) noexcept {
    if (was_much_freed(counted_bytes.fetch_sub(bytes, std::memory_order_relaxed) - bytes)) {
        request_sweep();
    }
}

void request_sweep() noexcept {
    // Pairs with note_sweep_over(): either the sweep after it sees what the caller has left, or
    // this sees that there is none to come. Below 0: a child process has ended its parent's sweeps.
    if (scheduled_count.load(std::memory_order_seq_cst) > 0) [[likely]] {
        return;
    }
    if (is_requested.load(std::memory_order_relaxed) ||
        is_requested.exchange(true, std::memory_order_relaxed)) {
        return;
    }
    const std::lock_guard lock{all.mutex};
    if (all.first == nullptr) {
        is_requested.store(false, std::memory_order_relaxed);
    }
    for (memory_sweeper* each = all.first; each != nullptr; each = each->next_sweeper) {
        each->request_sweep(); // All: one may belong to a context that no call drives.
    }
}

void note_freed_many_bytes() noexcept {
    has_freed_many_bytes.store(true, std::memory_order_relaxed);
}

} // namespace zlink::pipe
