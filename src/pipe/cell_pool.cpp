// SPDX-License-Identifier: MPL-2.0
#include "pipe/cell_pool.hpp"

#include "base/poison.hpp"
#include "base/thread_end.hpp"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>
#include <pthread.h>
#include <type_traits>
#include <utility>

namespace zlink::pipe {

namespace {

struct free_cell {
    free_cell* next;       ///< In the batch.
    free_cell* next_batch; ///< Of the first cell of a batch in the depot.
};

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

/// The batches that no thread keeps.
template<std::size_t Bytes>
struct depot {
    std::mutex mutex;
    free_cell* batches = nullptr;
    std::size_t batch_count = 0;
    std::size_t taken_count = 0; ///< Batches that were asked for since the last decay.

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
            if (batch_count < limits::cell_batches_max) {
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

// Neither constructed nor destroyed: there from the start, without memory that might be refused,
// and messages may outlive every static object of the library.
template<std::size_t Bytes>
constinit depot<Bytes> common;
static_assert(std::is_trivially_destructible_v<depot<cell_bytes>>);

void lock_all() noexcept {
    common<cell_bytes>.mutex.lock();
    common<short_block_bytes>.mutex.lock();
}

void unlock_all() noexcept {
    common<short_block_bytes>.mutex.unlock();
    common<cell_bytes>.mutex.unlock();
}

// So that a child process finds the lists whole.
[[maybe_unused]] const int watches_forks = pthread_atfork(lock_all, unlock_all, unlock_all);

/// The cells that one thread keeps: a batch that it takes from and gives to, and a whole one or
/// none, so that taking and giving in turn at the edge of a batch leaves the depot alone.
///
/// Is neither constructed nor destroyed, so that it can be used as long as the thread runs.
template<std::size_t Bytes>
struct magazine {
    enum class state : std::uint8_t {
        fresh,
        open,
        ended, ///< The thread ends: what it still gives back goes to the system.
    };

    free_cell* cells;
    free_cell* whole_batch;
    std::uint32_t cell_count; ///< In `cells`.
    state is;

    void* take() {
        if (cells == nullptr && !refill()) [[unlikely]] {
            return ::operator new(Bytes, alignment);
        }
        free_cell* const taken = cells;
        cells = taken->next;
        --cell_count;
        unpoison(taken + 1, poisoned_bytes<Bytes>);
        return taken;
    }

    void give(void* cell) noexcept {
        if (is != state::open || cell_count == limits::cells_per_batch) [[unlikely]] {
            if (!make_room()) {
                free_memory<Bytes>(cell);
                return;
            }
        }
        auto* const freed = new (cell) free_cell{cells, nullptr};
        poison(freed + 1, poisoned_bytes<Bytes>);
        cells = freed;
        ++cell_count;
    }

    void trim() noexcept {
        free_all<Bytes>(std::exchange(cells, nullptr));
        free_all<Bytes>(std::exchange(whole_batch, nullptr));
        cell_count = 0;
    }

private:
    bool refill() noexcept {
        if (!open()) {
            return false;
        }
        cells = whole_batch != nullptr ? std::exchange(whole_batch, nullptr) : common<Bytes>.take();
        cell_count = cells != nullptr ? limits::cells_per_batch : 0;
        return cells != nullptr;
    }

    bool make_room() noexcept {
        if (!open()) {
            return false;
        }
        if (cell_count == limits::cells_per_batch) {
            if (whole_batch != nullptr) {
                common<Bytes>.give(whole_batch);
            }
            whole_batch = std::exchange(cells, nullptr);
            cell_count = 0;
        }
        return true;
    }

    /// @return Whether the thread does not end yet.
    bool open() noexcept;
};

template<std::size_t Bytes>
constinit thread_local magazine<Bytes> own{};

/// Empties the thread's magazine when the thread ends.
template<std::size_t Bytes>
void close_magazine(void* ended) noexcept {
    auto& closed = *static_cast<magazine<Bytes>*>(ended);
    closed.is = magazine<Bytes>::state::ended;
    if (closed.whole_batch != nullptr) {
        common<Bytes>.give(std::exchange(closed.whole_batch, nullptr));
    }
    closed.trim();
}

thread_end closes_cells{close_magazine<cell_bytes>};
thread_end closes_short_blocks{close_magazine<short_block_bytes>};

template<std::size_t Bytes>
bool magazine<Bytes>::open() noexcept {
    if (is == state::fresh) {
        thread_end& closes = Bytes == cell_bytes ? closes_cells : closes_short_blocks;
        if (closes.arm(this)) {
            is = state::open;
        }
    }
    return is == state::open;
}

} // namespace

template<std::size_t Bytes>
void* take_cell() {
    return own<Bytes>.take();
}

template<std::size_t Bytes>
void give_cell(void* cell) noexcept {
    own<Bytes>.give(cell);
}

template void* take_cell<cell_bytes>();
template void* take_cell<short_block_bytes>();
template void give_cell<cell_bytes>(void*) noexcept;
template void give_cell<short_block_bytes>(void*) noexcept;

bool decay_cells() noexcept {
    const bool holds_blocks = common<short_block_bytes>.decay();
    return common<cell_bytes>.decay() || holds_blocks;
}

void trim_cells() noexcept {
    own<cell_bytes>.trim();
    own<short_block_bytes>.trim();
    common<cell_bytes>.trim();
    common<short_block_bytes>.trim();
}

} // namespace zlink::pipe
