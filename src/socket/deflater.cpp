// SPDX-License-Identifier: MPL-2.0
#include "socket/deflater.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <climits>
#include <new>
#include <zlib.h>

namespace zlink::socket {

namespace {

/// Each message ends with an empty uncompressed block, of which these bytes are omitted.
constexpr std::size_t omitted_bytes = 4;

/// Memory of zlib besides the window: of equal size, so that small windows use little in total.
int memory_level(std::uint8_t window_bits) noexcept {
    return std::min(window_bits - 7, 8);
}

} // namespace

struct deflater::stream {
    z_stream z{};
};

deflater::deflater(std::uint8_t window_bits, int level, std::size_t bytes_max)
    : memory_(bytes_max), stream_(std::make_unique<stream>()) {
    memory_.serve(stream_->z);
    const int outcome = ::deflateInit2(&stream_->z, level, Z_DEFLATED, -int{window_bits},
                                       memory_level(window_bits), Z_DEFAULT_STRATEGY);
    if (outcome == Z_MEM_ERROR) {
        throw std::bad_alloc{};
    }
    ZLINK_ASSERT(outcome == Z_OK);
}

deflater::~deflater() {
    ::deflateEnd(&stream_->z);
}

std::size_t deflater::deflate(std::span<const std::byte> message,
                              std::span<std::byte> out) noexcept {
    ZLINK_ASSERT(message.size() <= INT_MAX && out.size() <= INT_MAX);
    z_stream& z = stream_->z;
    z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(message.data()));
    z.avail_in = static_cast<unsigned>(message.size());
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = static_cast<unsigned>(out.size());
    const int outcome = ::deflate(&z, Z_SYNC_FLUSH);
    // The output is certainly complete only if room is left over.
    const bool fits = outcome == Z_OK && z.avail_in == 0 && z.avail_out != 0;
    return fits ? out.size() - z.avail_out - omitted_bytes : 0;
}

} // namespace zlink::socket
