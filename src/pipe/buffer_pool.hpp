// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>

namespace zlink::pipe {

/// Memory for segments and large payloads, reused so that a steady flow neither faults pages in nor
/// meets other threads in the allocator.
///
/// Sizes are rounded up to classes a quarter of a power of two apart, each 64 bytes larger than
/// that: a payload of a round size and its header would need the next one. Requests below 1 KiB and
/// above the class of 4 MiB go straight to the allocator. Freed memory is kept up to
/// limits::pooled_bytes_max in all, until decay_buffers() finds it idle.
///
/// @threads Any.
struct pooled_buffer {
    void* memory;
    std::size_t bytes; ///< What may be used, at least what was asked for.
};

/// @return Memory aligned for any type.
/// @throws std::bad_alloc
[[nodiscard]] pooled_buffer take_buffer(std::size_t bytes_min);

/// Gives back what take_buffer returned; `buffer.bytes` must be what it said.
void give_buffer(pooled_buffer buffer) noexcept;

/// Gives everything that is pooled back to the system.
void trim_buffers() noexcept;

/// Gives back to the system what is pooled beyond what was taken since the last call. To be called
/// from time to time while something is pooled.
/// @return Whether something still is.
bool decay_buffers() noexcept;

/// Has the allocator put together what was freed in small pieces. By itself glibc does so with all
/// of them at some later call: behind a million of them that takes a tenth of a second.
void join_small_memory() noexcept;

/// What is pooled, in bytes.
std::size_t pooled_bytes() noexcept;

} // namespace zlink::pipe
