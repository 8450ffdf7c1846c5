// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <chrono>
#include <cstddef>

namespace zlink::tuning {

/// The allocator returns memory to the system from so many counted bytes on (count_allocated) that
/// have been freed, if they are also a quarter of those that were there; and from so many that
/// buffer_pool frees in a row.
constexpr std::size_t freed_bytes_min = std::size_t{512} * 1024;
constexpr std::size_t freed_in_row_bytes_min = std::size_t{1024} * 1024;

/// What counts for a session, of which one with TLS takes more, and for a socket's side of it.
constexpr std::size_t session_bytes = std::size_t{8} * 1024;
constexpr std::size_t peer_bytes = std::size_t{2} * 1024;

/// How long it is put off while more is freed, and the shortest time from one return to the next.
constexpr std::chrono::seconds return_delay_max{5};

/// The time from one return to the next is so many times the duration of the first.
constexpr int return_pause_factor = 100;

} // namespace zlink::tuning

namespace zlink::pipe {

/// Calls sweep_idle_memory() later, on a thread of its own; an I/O thread.
class memory_sweeper {
public:
    /// Schedules a sweep. @threads any
    virtual void request_sweep() noexcept = 0;

    memory_sweeper* next_sweeper = nullptr; ///< In the list of this unit.

protected:
    ~memory_sweeper() = default;
};

/// From now on sweeps are requested there.
/// @owns  The caller, until remove_sweeper().
/// @threads Any, as all functions of this unit.
void add_sweeper(memory_sweeper& added) noexcept;
/// Does nothing for one that was removed, or inherited by a child process.
void remove_sweeper(memory_sweeper& removed) noexcept;

/// A sweep is scheduled on a thread that nobody has to drive: no other needs to be requested before
/// note_sweep_over(), which is before sweep_idle_memory().
void note_sweep_scheduled() noexcept;
void note_sweep_over() noexcept;

/// Returns memory that has not been used since the last sweep: that of the pools to the allocator,
/// and what the allocator keeps of peers that have gone to the system. By itself glibc returns the
/// end of the heap only, and something in use is always near it. (docs/adr/0035.)
///
/// @return Whether to sweep again.
bool sweep_idle_memory() noexcept;

/// Returns to the system the whole pages of `bytes` bytes whose contents are no longer needed. The
/// memory remains allocated.
void return_pages(void* memory, std::size_t bytes) noexcept;

/// Counts memory that comes straight from the allocator. Its amount tells whether much of it was
/// freed.
void count_allocated(std::size_t bytes) noexcept;
/// Requests a sweep if it was. @param bytes  As passed to count_allocated().
void count_freed(std::size_t bytes) noexcept;

/// Requests a sweep, unless one is scheduled: memory was pooled, or freed. The caller must hold no
/// lock that fork(2) takes.
void request_sweep() noexcept;

/// tuning::freed_in_row_bytes_min were freed in a row. The next sweep returns them.
void note_freed_many_bytes() noexcept;

} // namespace zlink::pipe
