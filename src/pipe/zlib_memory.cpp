// SPDX-License-Identifier: MPL-2.0
#include "pipe/zlib_memory.hpp"

#include "pipe/buffer_pool.hpp"

#include <cstddef>
#include <new>
#include <zlib.h>

namespace zlink::pipe {

namespace {

/// Precedes memory that zlib gets: zlib passes no size when it frees.
struct alignas(std::max_align_t) note {
    pooled_buffer whole;
    std::size_t bytes;
};

} // namespace

void zlib_memory::serve(z_stream_s& user) noexcept {
    user.zalloc = &zlib_memory::take;
    user.zfree = &zlib_memory::give;
    user.opaque = this;
}

void* zlib_memory::take(void* self, unsigned count, unsigned bytes_each) noexcept {
    auto& owner = *static_cast<zlib_memory*>(self);
    const std::size_t bytes = sizeof(note) + std::size_t{count} * bytes_each;
    if (bytes > owner.bytes_max_ - owner.bytes_) {
        return nullptr;
    }
    try {
        const pooled_buffer taken = take_buffer(bytes);
        owner.bytes_ += bytes;
        return new (taken.memory) note{taken, bytes} + 1;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void zlib_memory::give(void* self, void* memory) noexcept {
    const note about = *(static_cast<note*>(memory) - 1);
    static_cast<zlib_memory*>(self)->bytes_ -= about.bytes;
    give_buffer(about.whole);
}

} // namespace zlink::pipe
