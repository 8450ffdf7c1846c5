// SPDX-License-Identifier: MPL-2.0
#include "wire/websocket/sha1.hpp"

#include "base/byte_order.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

namespace zlink::wire::websocket {

namespace {

constexpr std::size_t block_bytes = 64;
constexpr std::size_t length_bytes = 8;

using state = std::array<std::uint32_t, 5>;
using block = std::array<std::byte, block_bytes>;

struct round_rule {
    std::uint32_t mixed;
    std::uint32_t constant;
};

round_rule rule_of(std::size_t round, std::uint32_t b, std::uint32_t c, std::uint32_t d) noexcept {
    if (round < 20) {
        return {(b & c) | (~b & d), 0x5a827999};
    }
    if (round < 40) {
        return {b ^ c ^ d, 0x6ed9eba1};
    }
    if (round < 60) {
        return {(b & c) | (b & d) | (c & d), 0x8f1bbcdc};
    }
    return {b ^ c ^ d, 0xca62c1d6};
}

void take_in(state& into, const block& data) noexcept {
    std::array<std::uint32_t, 80> words;
    for (std::size_t index = 0; index < 16; ++index) {
        words[index] = load_big_endian<std::uint32_t>(data.data() + index * sizeof words[0]);
    }
    for (std::size_t index = 16; index < words.size(); ++index) {
        words[index] = std::rotl(
            words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1);
    }
    auto [a, b, c, d, e] = into;
    for (std::size_t round = 0; round < words.size(); ++round) {
        const auto [mixed, constant] = rule_of(round, b, c, d);
        const std::uint32_t next = std::rotl(a, 5) + mixed + e + constant + words[round];
        e = d;
        d = c;
        c = std::rotl(b, 30);
        b = a;
        a = next;
    }
    const state added{a, b, c, d, e};
    for (std::size_t index = 0; index < into.size(); ++index) {
        into[index] += added[index];
    }
}

} // namespace

std::array<std::uint8_t, sha1_bytes> sha1(std::string_view text) noexcept {
    state digest{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    const std::uint64_t text_bits = std::uint64_t{text.size()} * 8;
    bool has_end_mark = false;
    bool has_length = false;
    while (!has_length) {
        block next{};
        const std::size_t some = std::min(text.size(), next.size());
        std::memcpy(next.data(), text.data(), some);
        text.remove_prefix(some);
        if (some < next.size() && !has_end_mark) {
            next[some] = std::byte{0x80};
            has_end_mark = true;
        }
        if (has_end_mark && some < next.size() - length_bytes) {
            store_big_endian(next.data() + next.size() - length_bytes, text_bits);
            has_length = true;
        }
        take_in(digest, next);
    }
    std::array<std::uint8_t, sha1_bytes> made;
    for (std::size_t index = 0; index < digest.size(); ++index) {
        store_big_endian(reinterpret_cast<std::byte*>(made.data()) + index * sizeof digest[0],
                         digest[index]);
    }
    return made;
}

} // namespace zlink::wire::websocket
