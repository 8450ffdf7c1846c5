// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/inline.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zlink {

/// memcpy for payloads, most of which are short.
///
/// Short ones are moved 16 octets at a time. The library's memcpy would use the widest registers:
/// such a store to memory that is not aligned to a cache line is split, and whoever reads the start
/// of the message next waits until both halves have reached the cache.
ZLINK_HOT void copy_octets(void* to, const void* from, std::size_t bytes) noexcept {
    constexpr std::size_t step = 16;
    constexpr std::size_t short_bytes_max = 256;
    struct alignas(1) block {
        std::uint8_t octets[step];
    };
    auto* out = static_cast<std::byte*>(to);
    const auto* in = static_cast<const std::byte*>(from);
    const auto move = [](std::byte* target, const std::byte* source) {
        block moved;
        std::memcpy(&moved, source, sizeof moved);
        std::memcpy(target, &moved, sizeof moved);
    };
    if (bytes < step || bytes > short_bytes_max) {
        if (bytes != 0) {
            std::memcpy(to, from, bytes);
        }
        return;
    }
    // The last step overlaps the one before it.
    const std::byte* const last = in + bytes - step;
    std::byte* const last_out = out + bytes - step;
    while (in < last) {
        move(out, in);
        // Keeps the compiler from widening or turning the loop back into a call.
        asm volatile("" ::: "memory");
        in += step;
        out += step;
    }
    move(last_out, last);
}

} // namespace zlink
