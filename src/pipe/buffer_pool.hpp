// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>

namespace zlink::tuning {

/// Freed segments and blocks that are kept for reuse. Memory above this limit is freed.
constexpr std::size_t pooled_bytes_max = std::size_t{32} * 1024 * 1024;

/// Above that limit memory goes to the allocator, which often cannot return it to the system
/// because memory behind it is in use. So once as much as this was freed in a row, and nothing
/// taken, the pages of each buffer of at least so many bytes are returned directly.
constexpr std::size_t freed_in_row_bytes = std::size_t{4} * 1024 * 1024;
constexpr std::size_t returned_buffer_bytes_min = std::size_t{16} * 1024;

} // namespace zlink::tuning

namespace zlink::pipe {

/// Memory for segments and large payloads, reused so that a steady flow neither faults pages in nor
/// contends with other threads in the allocator.
///
/// Sizes are rounded up to classes a quarter of a power of two apart, plus 64 bytes: otherwise a
/// payload of a round size and its header would need the next class. Requests below 1 KiB and above
/// the class of 4 MiB go straight to the allocator. Freed memory is kept up to
/// tuning::pooled_bytes_max in all, until decay_buffers() finds it idle.
///
/// @threads Any.
struct pooled_buffer {
    void* memory;
    std::size_t bytes; ///< The usable size, at least the requested one.
};

/// @return Memory aligned for any type.
/// @throws std::bad_alloc
[[nodiscard]] pooled_buffer take_buffer(std::size_t bytes_min);

/// Gives back a buffer of take_buffer(); `buffer.bytes` must be unchanged.
void give_buffer(pooled_buffer buffer) noexcept;

/// Returns all pooled memory to the system.
void trim_buffers() noexcept;

/// Returns to the system the pooled memory beyond the amount that was taken since the last call. To
/// be called periodically while memory is pooled.
/// @return Whether memory is still pooled.
bool decay_buffers() noexcept;

/// Makes the allocator merge small freed pieces. By itself glibc does so with all of them in some
/// later call: with a million pieces that takes a tenth of a second.
void join_small_memory() noexcept;

/// Pooled memory, in bytes.
std::size_t pooled_bytes() noexcept;

} // namespace zlink::pipe
