// SPDX-License-Identifier: MPL-2.0
#include "crypto/salsa20.hpp"

#include "base/inline.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace zlink::crypto::salsa20 {

namespace {

constexpr std::size_t word_count = 16;
constexpr std::size_t round_count = 20;

/// The words at one position of several blocks. The compiler maps it to the processor's vectors.
template<std::size_t Lanes>
struct lanes {
    using words [[gnu::vector_size(Lanes * sizeof(std::uint32_t))]] = std::uint32_t;
};

constexpr std::uint32_t little_endian(std::uint32_t word) noexcept {
    return std::endian::native == std::endian::little ? word : __builtin_bswap32(word);
}

std::uint32_t load(const std::byte* data) noexcept {
    std::uint32_t word;
    std::memcpy(&word, data, sizeof word);
    return little_endian(word);
}

template<class Words>
[[gnu::always_inline]] inline void step(Words& changed, const Words& a, const Words& b,
                                        int bits) noexcept {
    const Words sum = a + b;
    changed ^= (sum << bits) | (sum >> (32 - bits));
}

template<class Words>
[[gnu::always_inline]] inline void quarter_round(Words& a, Words& b, Words& c, Words& d) noexcept {
    step(b, a, d, 7);
    step(c, b, a, 9);
    step(d, c, b, 13);
    step(a, d, c, 18);
}

template<std::size_t Lanes>
[[gnu::always_inline]] inline void make_lanes(const std::byte* key, const position* places,
                                              std::byte* out) noexcept {
    using words = typename lanes<Lanes>::words;
    // Constants on the diagonal, the key on both sides of nonce and counter.
    constexpr std::uint32_t diagonal[] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    words first[word_count];
    for (std::size_t index = 0; index < 4; ++index) {
        first[5 * index] = words{} + diagonal[index];
        first[1 + index] = words{} + load(key + 4 * index);
        first[11 + index] = words{} + load(key + 16 + 4 * index);
    }
    std::uint32_t varying[4][Lanes]; // Words 6 to 9.
    for (std::size_t lane = 0; lane < Lanes; ++lane) {
        const auto high = static_cast<std::uint32_t>(places[lane].nonce >> 32);
        const auto low = static_cast<std::uint32_t>(places[lane].nonce);
        varying[0][lane] = __builtin_bswap32(high); // Read as little-endian, sent as big-endian.
        varying[1][lane] = __builtin_bswap32(low);
        varying[2][lane] = static_cast<std::uint32_t>(places[lane].counter);
        varying[3][lane] = static_cast<std::uint32_t>(places[lane].counter >> 32);
    }
    std::memcpy(&first[6], varying, sizeof varying);
    words x[word_count];
    for (std::size_t index = 0; index < word_count; ++index) {
        x[index] = first[index];
    }
    for (std::size_t round = 0; round < round_count; round += 2) {
        quarter_round(x[0], x[4], x[8], x[12]);
        quarter_round(x[5], x[9], x[13], x[1]);
        quarter_round(x[10], x[14], x[2], x[6]);
        quarter_round(x[15], x[3], x[7], x[11]);
        quarter_round(x[0], x[1], x[2], x[3]);
        quarter_round(x[5], x[6], x[7], x[4]);
        quarter_round(x[10], x[11], x[8], x[9]);
        quarter_round(x[15], x[12], x[13], x[14]);
    }
    for (std::size_t index = 0; index < word_count; ++index) {
        const words sum = x[index] + first[index];
        for (std::size_t lane = 0; lane < Lanes; ++lane) {
            const std::uint32_t word = little_endian(sum[lane]);
            std::memcpy(out + lane * block_bytes + index * sizeof word, &word, sizeof word);
        }
    }
}

template<std::size_t Lanes>
[[gnu::always_inline]] inline void make_batch(const std::byte* key, const position* places,
                                              std::byte* out) noexcept {
    for (std::size_t done = 0; done < batch_count; done += Lanes) {
        make_lanes<Lanes>(key, places + done, out + done * block_bytes);
    }
}

void make_portably(const std::byte* key, const position* places, std::byte* out) noexcept {
    make_batch<4>(key, places, out);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void make_with_avx2(const std::byte* key, const position* places,
                                            std::byte* out) noexcept {
    make_batch<8>(key, places, out);
}

[[gnu::target("avx512f")]] void make_with_avx512(const std::byte* key, const position* places,
                                                 std::byte* out) noexcept {
    make_batch<16>(key, places, out);
}
#endif

} // namespace

std::span<const variant> variants() noexcept {
    static const std::array all {
#if defined(__x86_64__)
        variant{"avx512f", __builtin_cpu_supports("avx512f") != 0, make_with_avx512},
            variant{"avx2", __builtin_cpu_supports("avx2") != 0, make_with_avx2},
#endif
            variant{"portable", true, make_portably},
    };
    return all;
}

void make_blocks(const std::byte* key, std::span<const position, batch_count> places,
                 std::span<std::byte, batch_bytes> out) noexcept {
    static const auto make =
        std::find_if(variants().begin(), variants().end(), [](const variant& each) {
            return each.is_available;
        })->make;
    make(key, places.data(), out.data());
}

} // namespace zlink::crypto::salsa20
