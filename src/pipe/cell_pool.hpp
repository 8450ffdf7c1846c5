// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"
#include "base/poison.hpp"

#include <cstddef>
#include <cstdint>
#include <new>

namespace zlink::tuning {

/// Free cells (cell_pool.hpp) that move between threads as one batch, and the number of batches
/// that are kept of each size besides those of the threads: 1 and 3 MiB, the need of four inproc
/// pipes that are full of referenced messages at the default high-water marks.
constexpr std::uint32_t cells_per_batch = 32;
constexpr std::size_t cell_batches_max = 512;

} // namespace zlink::tuning

namespace zlink::pipe {

/// The size of a cell: one cache line, so that handing it to another thread moves one line.
constexpr std::size_t cell_bytes = limits::cache_line_bytes;

/// The size of a larger one, for the block of a short payload.
constexpr std::size_t short_block_bytes = 3 * limits::cache_line_bytes;

/// A cell that is not in use.
struct free_cell {
    free_cell* next;       ///< In the batch.
    free_cell* next_batch; ///< Of the first cell of a batch that no thread keeps.
};

/// The free cells of one thread: a batch that it takes from and gives to, and a full one or none,
/// so that alternating takes and gives at the edge of a batch do not touch the common depot.
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
        if (is_ != state::open || cell_count_ == tuning::cells_per_batch) [[unlikely]] {
            return give_elsewhere(cell);
        }
        keep(cell);
    }

    void trim() noexcept;

private:
    enum class state : std::uint8_t {
        fresh,
        open,
        ended, ///< The thread ends: cells that it still gives back go to the system.
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
/// chunk without bytes, the block around an application's bytes, and the block of a short payload.
/// Allocators are slow at that.
///
/// Each thread keeps up to two batches of free cells, and exchanges whole batches through a common
/// depot. The depot holds at most tuning::cell_batches_max of each size.
///
/// @threads Any; also while a thread ends.
/// @tparam Bytes  cell_bytes or short_block_bytes.
/// @return  `Bytes` bytes that begin at a cache line.
/// @throws std::bad_alloc
template<std::size_t Bytes = cell_bytes>
[[nodiscard]] void* take_cell() {
    return own_magazine<Bytes>().take();
}

/// Gives back a cell of take_cell(), on any thread.
template<std::size_t Bytes = cell_bytes>
void give_cell(void* cell) noexcept {
    own_magazine<Bytes>().give(cell);
}

/// Returns to the system the cells of the depots beyond the number that was taken from them since
/// the last call.
/// @return Whether cells are left.
bool decay_cells() noexcept;

/// Returns the free cells of the calling thread and of the depots to the system.
void trim_cells() noexcept;

} // namespace zlink::pipe
