// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"

#include <cstddef>

namespace zlink::pipe {

/// What a cell holds: one cache line, so that handing it to another thread moves one line.
constexpr std::size_t cell_bytes = limits::cache_line_bytes;

/// What a larger one holds, for the block of a short payload.
constexpr std::size_t short_block_bytes = 3 * limits::cache_line_bytes;

/// Memory for the small objects that one thread makes and another one frees with each message: a
/// chunk without octets, the block around an application's octets, and the block of a payload that
/// is short. Allocators are slow at that.
///
/// Each thread keeps up to two batches of free cells, and exchanges whole batches with all others.
/// What is kept in common is at most limits::cell_batches_max.
///
/// @threads Any; also while a thread ends.
/// @tparam Bytes  cell_bytes or short_block_bytes.
/// @return  `Bytes` octets that begin at a cache line.
/// @throws std::bad_alloc
template<std::size_t Bytes = cell_bytes>
[[nodiscard]] void* take_cell();

/// Gives back what take_cell() returned, on any thread.
template<std::size_t Bytes = cell_bytes>
void give_cell(void* cell) noexcept;

/// Gives back to the system what all threads have in common beyond what was taken of it since the
/// last call.
/// @return Whether something is left.
bool decay_cells() noexcept;

/// Gives the free cells back to the system that the calling thread keeps or all have in common.
void trim_cells() noexcept;

} // namespace zlink::pipe
