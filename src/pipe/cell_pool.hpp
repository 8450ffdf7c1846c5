// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"
#include "base/poison.hpp"

#include <cstddef>
#include <cstdint>
#include <new>

namespace zlink::pipe {

/// What a cell holds: one cache line, so that handing it to another thread moves one line.
constexpr std::size_t cell_bytes = limits::cache_line_bytes;

/// What a larger one holds, for the block of a short payload.
constexpr std::size_t short_block_bytes = 3 * limits::cache_line_bytes;

/// A cell that nobody uses.
struct free_cell {
    free_cell* next;       ///< In the batch.
    free_cell* next_batch; ///< Of the first cell of a batch that no thread keeps.
};

/// The cells that one thread keeps: a batch that it takes from and gives to, and a whole one or
/// none, so that taking and giving in turn at the edge of a batch leaves what is common alone.
///
/// Is neither constructed nor destroyed, so that it can be used as long as the thread runs.
template<std::size_t Bytes>
class magazine {
public:
    void* take() {
        free_cell* const taken = cells_;
        if (taken == nullptr) [[unlikely]] {
            return take_elsewhere();
        }
        cells_ = taken->next;
        --cell_count_;
        unpoison(taken + 1, Bytes - sizeof(free_cell));
        return taken;
    }

    void give(void* cell) noexcept {
        if (is_ != state::open || cell_count_ == limits::cells_per_batch) [[unlikely]] {
            return give_elsewhere(cell);
        }
        keep(cell);
    }

    void trim() noexcept;

private:
    enum class state : std::uint8_t {
        fresh,
        open,
        ended, ///< The thread ends: what it still gives back goes to the system.
    };
    struct closer;

    void keep(void* cell) noexcept {
        auto* const freed = new (cell) free_cell{cells_, nullptr};
        poison(freed + 1, Bytes - sizeof(free_cell));
        cells_ = freed;
        ++cell_count_;
    }
    void* take_elsewhere();
    void give_elsewhere(void* cell) noexcept;
    bool open() noexcept;

    free_cell* cells_;
    free_cell* whole_batch_;
    std::uint32_t cell_count_; ///< In `cells_`.
    state is_;
};

extern constinit thread_local magazine<cell_bytes> own_cells;
extern constinit thread_local magazine<short_block_bytes> own_short_blocks;

template<std::size_t Bytes>
magazine<Bytes>& own_magazine() noexcept {
    static_assert(Bytes == cell_bytes || Bytes == short_block_bytes);
    if constexpr (Bytes == cell_bytes) {
        return own_cells;
    } else {
        return own_short_blocks;
    }
}

/// Memory for the small objects that one thread makes and another one frees with each message: a
/// chunk without bytes, the block around an application's bytes, and the block of a payload that
/// is short. Allocators are slow at that.
///
/// Each thread keeps up to two batches of free cells, and exchanges whole batches with all others.
/// What is kept in common is at most limits::cell_batches_max.
///
/// @threads Any; also while a thread ends.
/// @tparam Bytes  cell_bytes or short_block_bytes.
/// @return  `Bytes` bytes that begin at a cache line.
/// @throws std::bad_alloc
template<std::size_t Bytes = cell_bytes>
[[nodiscard]] void* take_cell() {
    return own_magazine<Bytes>().take();
}

/// Gives back what take_cell() returned, on any thread.
template<std::size_t Bytes = cell_bytes>
void give_cell(void* cell) noexcept {
    own_magazine<Bytes>().give(cell);
}

/// Gives back to the system what all threads have in common beyond what was taken of it since the
/// last call.
/// @return Whether something is left.
bool decay_cells() noexcept;

/// Gives the free cells back to the system that the calling thread keeps or all have in common.
void trim_cells() noexcept;

} // namespace zlink::pipe
