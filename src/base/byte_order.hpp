// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zlink {

/// Reverses the bytes of `value` where the machine is little-endian: host to network and back.
template<std::unsigned_integral T>
constexpr T in_network_order(T value) noexcept {
    if constexpr (std::endian::native == std::endian::big || sizeof(T) == 1) {
        return value;
    } else if constexpr (sizeof(T) == 2) {
        return __builtin_bswap16(value);
    } else if constexpr (sizeof(T) == 4) {
        return __builtin_bswap32(value);
    } else {
        return __builtin_bswap64(value);
    }
}

/// Reads the big-endian number at `in`, which need not be aligned.
template<std::unsigned_integral T>
T load_big_endian(const std::byte* in) noexcept {
    T value;
    std::memcpy(&value, in, sizeof(value));
    return in_network_order(value);
}

/// Writes `value` at `out`, which need not be aligned, as a big-endian number.
template<std::unsigned_integral T>
void store_big_endian(std::byte* out, T value) noexcept {
    const T swapped = in_network_order(value);
    std::memcpy(out, &swapped, sizeof(swapped));
}

} // namespace zlink
