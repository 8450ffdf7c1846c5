// SPDX-License-Identifier: MPL-2.0
#include "wire/websocket/mask.hpp"

#include "base/copied.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

namespace zlink::wire::websocket {

namespace {

/// Sixteen octets, which the compiler keeps in one register of SSE2 or NEON where it has them.
using wide_block = std::uint32_t __attribute__((vector_size(16)));

/// The key's octets from `phase` on, in memory order.
std::uint32_t pattern(const mask_key& key, std::size_t phase) noexcept {
    const auto word = std::bit_cast<std::uint32_t>(key);
    const int bits = static_cast<int>(phase % 4 * 8);
    return std::endian::native == std::endian::little ? std::rotr(word, bits)
                                                      : std::rotl(word, bits);
}

template<class Step>
Step load(const std::byte* in) noexcept {
    Step step;
    std::memcpy(&step, in, sizeof step);
    return step;
}

template<class Step>
void store(std::byte* out, Step step) noexcept {
    std::memcpy(out, &step, sizeof step);
}

template<class Step>
Step repeated(std::uint32_t word) noexcept {
    if constexpr (sizeof(Step) == 4) {
        return word;
    } else if constexpr (sizeof(Step) == 8) {
        return std::uint64_t{word} << 32 | word;
    } else {
        return Step{word, word, word, word};
    }
}

/// Masks any number of octets that is not below the size of one `Step`.
///
/// If the number is not a multiple of it, the last step overlaps the one before. So it is loaded
/// before anything is stored: in place, its octets must not be masked twice.
template<class Step>
void mask_steps(std::byte* out, const std::byte* in, std::size_t bytes, const mask_key& key,
                unsigned phase) noexcept {
    const std::size_t last_at = bytes - sizeof(Step);
    const Step last = load<Step>(in + last_at) ^ repeated<Step>(pattern(key, phase + last_at));
    const Step mask_word = repeated<Step>(pattern(key, phase));
    std::size_t at = 0;
    if constexpr (sizeof(Step) == sizeof(wide_block)) {
        for (; bytes - at >= 4 * sizeof(Step); at += 4 * sizeof(Step)) {
            for (std::size_t step = 0; step < 4; ++step) {
                const std::size_t step_at = at + step * sizeof(Step);
                store(out + step_at, load<Step>(in + step_at) ^ mask_word);
            }
        }
    }
    for (; at < last_at; at += sizeof(Step)) {
        store(out + at, load<Step>(in + at) ^ mask_word);
    }
    store(out + last_at, last);
}

} // namespace

unsigned mask(std::span<std::byte> data, const mask_key& key, unsigned phase) noexcept {
    return copy_masked(data.data(), data, key, phase);
}

unsigned copy_masked(std::byte* out, std::span<const std::byte> data, const mask_key& key,
                     unsigned phase) noexcept {
    const std::byte* const in = data.data();
    const std::size_t bytes = data.size();
    if (out != in) {
        count_copied(bytes);
    }
    if (bytes >= sizeof(wide_block)) [[likely]] {
        mask_steps<wide_block>(out, in, bytes, key, phase);
    } else if (bytes >= sizeof(std::uint64_t)) {
        mask_steps<std::uint64_t>(out, in, bytes, key, phase);
    } else if (bytes >= sizeof(std::uint32_t)) {
        mask_steps<std::uint32_t>(out, in, bytes, key, phase);
    } else {
        for (std::size_t at = 0; at < bytes; ++at) {
            out[at] = in[at] ^ key[(phase + at) % 4];
        }
    }
    return static_cast<unsigned>((phase + bytes) % 4);
}

} // namespace zlink::wire::websocket
