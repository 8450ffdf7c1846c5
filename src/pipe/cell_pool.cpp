// SPDX-License-Identifier: MPL-2.0
#include "pipe/cell_pool.hpp"

#include "base/fork_gate.hpp"
#include "base/thread_end.hpp"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

namespace zlink::pipe {

namespace {

constexpr std::align_val_t alignment{limits::cache_line_bytes};

template<std::size_t Bytes>
constexpr std::size_t poisoned_bytes = Bytes - sizeof(free_cell);

template<std::size_t Bytes>
void free_memory(void* cell) noexcept {
    unpoison(static_cast<std::byte*>(cell) + sizeof(free_cell), poisoned_bytes<Bytes>);
    ::operator delete(cell, alignment);
}

template<std::size_t Bytes>
void free_all(free_cell* cells) noexcept {
    while (cells != nullptr) {
        free_memory<Bytes>(std::exchange(cells, cells->next));
    }
}

/// The batches that are not in a thread's magazine.
template<std::size_t Bytes>
struct depot {
    std::mutex mutex;
    free_cell* batches = nullptr;
    std::size_t batch_count = 0;
    std::size_t taken_count = 0; ///< Batches that were requested since the last decay.

    /// @return A batch, or null.
    free_cell* take() noexcept {
        const std::lock_guard lock{mutex};
        ++taken_count;
        free_cell* const taken = batches;
        if (taken != nullptr) {
            batches = taken->next_batch;
            --batch_count;
        }
        return taken;
    }

    void give(free_cell* batch) noexcept {
        {
            const std::lock_guard lock{mutex};
            if (batch_count < tuning::cell_batches_max) {
                batch->next_batch = std::exchange(batches, batch);
                ++batch_count;
                return;
            }
        }
        free_all<Bytes>(batch);
    }

    /// @return Whether something is left.
    bool decay() noexcept {
        free_cell* idle = nullptr;
        std::size_t left_count = 0;
        {
            const std::lock_guard lock{mutex};
            left_count = std::min(std::exchange(taken_count, 0), batch_count);
            while (batch_count > left_count) {
                free_cell* const batch = std::exchange(batches, batches->next_batch);
                batch->next_batch = std::exchange(idle, batch);
                --batch_count;
            }
        }
        while (idle != nullptr) {
            free_all<Bytes>(std::exchange(idle, idle->next_batch));
        }
        return left_count != 0;
    }

    void trim() noexcept {
        while (free_cell* const batch = take()) {
            free_all<Bytes>(batch);
        }
    }
};

// Neither constructed nor destroyed: available from the start, without an allocation that could
// fail, and messages may outlive every static object of the library.
template<std::size_t Bytes>
constinit depot<Bytes> common;
static_assert(std::is_trivially_destructible_v<depot<cell_bytes>>);

void lock_depots() noexcept {
    common<cell_bytes>.mutex.lock();
    common<short_block_bytes>.mutex.lock();
}

void unlock_depots() noexcept {
    common<short_block_bytes>.mutex.unlock();
    common<cell_bytes>.mutex.unlock();
}

// So that a child process finds the lists consistent.
[[maybe_unused]] const bool cells_watch_forks =
    fork_gate::take_lock(lock_depots, unlock_depots, unlock_depots);

} // namespace

constinit thread_local magazine<cell_bytes> own_cells{};
constinit thread_local magazine<short_block_bytes> own_short_blocks{};

/// Empties the thread's magazine when the thread ends.
template<std::size_t Bytes>
struct magazine<Bytes>::closer {
    static void close(void* ended) noexcept {
        auto& closed = *static_cast<magazine*>(ended);
        closed.is_ = state::ended;
        if (closed.whole_batch_ != nullptr) {
            common<Bytes>.give(std::exchange(closed.whole_batch_, nullptr));
        }
        closed.trim();
    }
    static inline thread_end at_end{close};
};

/// @return Whether the thread is not ending yet.
template<std::size_t Bytes>
bool magazine<Bytes>::open() noexcept {
    if (is_ == state::fresh && closer::at_end.arm(this)) {
        is_ = state::open;
    }
    return is_ == state::open;
}

template<std::size_t Bytes>
void* magazine<Bytes>::take_elsewhere() {
    if (open()) {
        cells_ =
            whole_batch_ != nullptr ? std::exchange(whole_batch_, nullptr) : common<Bytes>.take();
    }
    if (cells_ == nullptr) {
        return ::operator new(Bytes, alignment);
    }
    cell_count_ = tuning::cells_per_batch;
    return take();
}

template<std::size_t Bytes>
void magazine<Bytes>::give_elsewhere(void* cell) noexcept {
    if (!open()) {
        free_memory<Bytes>(cell);
        return;
    }
    if (cell_count_ == tuning::cells_per_batch) {
        if (whole_batch_ != nullptr) {
            common<Bytes>.give(whole_batch_);
        }
        whole_batch_ = std::exchange(cells_, nullptr);
        cell_count_ = 0;
    }
    keep(cell);
}

template<std::size_t Bytes>
void magazine<Bytes>::trim() noexcept {
    free_all<Bytes>(std::exchange(cells_, nullptr));
    free_all<Bytes>(std::exchange(whole_batch_, nullptr));
    cell_count_ = 0;
}

template class magazine<cell_bytes>;
template class magazine<short_block_bytes>;

bool decay_cells() noexcept {
    const bool holds_blocks = common<short_block_bytes>.decay();
    return common<cell_bytes>.decay() || holds_blocks;
}

void trim_cells() noexcept {
    own_cells.trim();
    own_short_blocks.trim();
    common<cell_bytes>.trim();
    common<short_block_bytes>.trim();
}

} // namespace zlink::pipe
