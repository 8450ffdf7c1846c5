// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/copied.hpp"
#include "base/inline.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zlink {

/// Copies at most `short_copy_bytes_max` bytes without a call.
///
/// Copies 16 bytes at a time. The library's memcpy would use the widest registers: such a store to
/// memory that is not aligned to a cache line is split, and the next read of the message's start
/// waits until both halves have reached the cache.
inline constexpr std::size_t short_copy_bytes_max = 256;

ZLINK_HOT void copy_short(void* to, const void* from, std::size_t bytes) noexcept {
    count_copied(bytes);
    auto* const out = static_cast<std::byte*>(to);
    const auto* const in = static_cast<const std::byte*>(from);
    // Each size is covered by steps from both ends, which overlap.
    const auto move = [&]<class Step>(Step step, std::size_t offset) {
        std::memcpy(&step, in + offset, sizeof step);
        std::memcpy(out + offset, &step, sizeof step);
    };
    struct sixteen {
        std::uint8_t data[16];
    };
    // Keeps the compiler from widening the steps or turning a loop back into a call.
    const auto keep_steps = [] { asm volatile("" ::: "memory"); };
    if (bytes > 32 && bytes <= 64) [[likely]] {
        move(sixteen{}, 0);
        keep_steps();
        move(sixteen{}, 16);
        keep_steps();
        move(sixteen{}, bytes - 32);
        keep_steps();
        move(sixteen{}, bytes - 16);
    } else if (bytes >= 16) [[likely]] {
        std::size_t offset = 0;
        while (bytes - offset > 32) {
            move(sixteen{}, offset);
            keep_steps();
            offset += 16;
        }
        move(sixteen{}, offset);
        keep_steps();
        move(sixteen{}, bytes - 16);
    } else if (bytes >= 8) {
        move(std::uint64_t{}, 0);
        move(std::uint64_t{}, bytes - 8);
    } else if (bytes >= 4) {
        move(std::uint32_t{}, 0);
        move(std::uint32_t{}, bytes - 4);
    } else if (bytes != 0) {
        move(std::uint8_t{}, 0);
        move(std::uint8_t{}, bytes / 2);
        move(std::uint8_t{}, bytes - 1);
    }
}

/// memcpy for payloads, most of which are short.
ZLINK_HOT void copy_bytes(void* to, const void* from, std::size_t bytes) noexcept {
    if (bytes <= short_copy_bytes_max) [[likely]] {
        copy_short(to, from, bytes);
    } else {
        std::memcpy(to, from, bytes);
    }
}

} // namespace zlink
