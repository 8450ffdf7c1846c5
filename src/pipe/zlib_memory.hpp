// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>

struct z_stream_s;

namespace zlink::pipe {

/// Memory for one of zlib's streams, from the buffer pool: streams are created and destroyed with
/// connections, or messages, and the allocator would ask the system each time.
class zlib_memory {
public:
    /// @param bytes_max  More is refused.
    explicit zlib_memory(std::size_t bytes_max) noexcept : bytes_max_(bytes_max) {}
    zlib_memory(const zlib_memory&) = delete;
    zlib_memory& operator=(const zlib_memory&) = delete;

    /// Makes `user` take its memory here, as long as it exists.
    void serve(z_stream_s& user) noexcept;

    /// Memory in use.
    std::size_t bytes() const noexcept { return bytes_; }

private:
    static void* take(void* self, unsigned count, unsigned bytes_each) noexcept;
    static void give(void* self, void* memory) noexcept;

    std::size_t bytes_max_;
    std::size_t bytes_ = 0;
};

} // namespace zlink::pipe
