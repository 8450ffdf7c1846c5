// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/random_bytes.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace zlink {

/// Hashes bytes that peers choose. The keys are random and differ from object to object, so that no
/// peer can construct bytes that collide in a table. Each 16 bytes cost one multiplication to 128
/// bits whose halves are combined.
///
/// @threads One thread constructs it; then any.
class seeded_hash {
public:
    seeded_hash() noexcept {
        for (std::uint64_t& key : keys_) {
            key = std::bit_cast<std::uint64_t>(std::array{random_bytes(), random_bytes()});
        }
    }

    std::uint64_t operator()(std::string_view data) const noexcept {
        const char* from = data.data();
        std::size_t left = data.size();
        std::uint64_t state = keys_[0] ^ left;
        for (; left > 16; from += 16, left -= 16) {
            state = fold(load(from, 8) ^ keys_[1], load(from + 8, 8) ^ state);
        }
        const std::size_t first = left < 8 ? left : 8;
        state = fold(load(from, first) ^ keys_[1], load(from + first, left - first) ^ state);
        return fold(state ^ keys_[2], keys_[3]);
    }

private:
    /// @param bytes  At most 8.
    static std::uint64_t load(const char* from, std::size_t bytes) noexcept {
        std::uint64_t value = 0;
        if (bytes != 0) {
            std::memcpy(&value, from, bytes);
        }
        return value;
    }

    static std::uint64_t fold(std::uint64_t one, std::uint64_t other) noexcept {
        __extension__ using wide = unsigned __int128;
        const wide product = static_cast<wide>(one) * other;
        return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    }

    std::array<std::uint64_t, 4> keys_;
};

} // namespace zlink
