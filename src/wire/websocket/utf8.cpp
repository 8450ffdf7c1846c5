// SPDX-License-Identifier: MPL-2.0
#include "wire/websocket/utf8.hpp"

#include <cstring>

namespace zlink::wire::websocket {

namespace {

constexpr std::uint8_t tail_lowest = 0x80;
constexpr std::uint8_t tail_highest = 0xbf;

/// The number of ASCII octets at the front of `data`, in whole steps of 32 or 8 octets.
std::size_t ascii_steps_bytes(std::span<const std::byte> data) noexcept {
    constexpr std::uint64_t high_bits = 0x8080'8080'8080'8080;
    const auto word_at = [&](std::size_t at) {
        std::uint64_t word;
        std::memcpy(&word, data.data() + at, sizeof word);
        return word;
    };
    std::size_t at = 0;
    while (data.size() - at >= 32 &&
           ((word_at(at) | word_at(at + 8) | word_at(at + 16) | word_at(at + 24)) & high_bits) ==
               0) {
        at += 32;
    }
    while (data.size() - at >= 8 && (word_at(at) & high_bits) == 0) {
        at += 8;
    }
    return at;
}

constexpr bool is_tail(std::uint8_t byte) noexcept {
    return (byte & 0xc0) == 0x80;
}

/// The size of the character at `data`, of which four octets are readable: 0 if it is not valid
/// (RFC 3629, 3).
std::size_t character_bytes(const std::uint8_t* data) noexcept {
    const std::uint8_t lead = data[0];
    if (lead < 0x80) {
        return 1;
    }
    if (lead < 0xe0) {
        return lead >= 0xc2 && is_tail(data[1]) ? 2 : 0;
    }
    const std::uint32_t two = (lead & 0xfU) << 12 | (data[1] & 0x3fU) << 6;
    if (lead < 0xf0) {
        // Below 0x800 it would be overlong, from 0xd800 on a surrogate.
        const bool is_valid = two >= 0x800 && (two & 0xf800U) != 0xd800;
        return is_valid && is_tail(data[1]) && is_tail(data[2]) ? 3 : 0;
    }
    const std::uint32_t plane = (lead & 0x7U) << 2 | (data[1] & 0x30U) >> 4;
    const bool is_valid = lead < 0xf5 && plane >= 1 && plane <= 16;
    return is_valid && is_tail(data[1]) && is_tail(data[2]) && is_tail(data[3]) ? 4 : 0;
}

/// The number of octets at the front of `data` that are complete valid characters, up to the last
/// four octets, which cannot be read at once, or to an invalid one.
std::size_t characters_bytes(std::span<const std::byte> data) noexcept {
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(data.data());
    std::size_t at = 0;
    while (data.size() - at >= 4) {
        if (begin[at] < 0x80 && begin[at + 1] < 0x80) {
            const std::size_t ascii = ascii_steps_bytes(data.subspan(at));
            at += ascii != 0 ? ascii : 1;
            continue;
        }
        const std::size_t bytes = character_bytes(begin + at);
        if (bytes == 0) {
            break;
        }
        at += bytes;
    }
    return at;
}

} // namespace

bool utf8_validator::push(std::span<const std::byte> data) noexcept {
    std::size_t at = 0;
    while (at < data.size()) {
        if (missing_count_ == 0) {
            at += characters_bytes(data.subspan(at));
            // The rest is short, or not valid.
            while (at < data.size() && data[at] < std::byte{0x80}) {
                ++at;
            }
            if (at == data.size()) {
                return true;
            }
            if (!begin_character(std::to_integer<std::uint8_t>(data[at++]))) {
                return false;
            }
            continue;
        }
        const auto tail = std::to_integer<std::uint8_t>(data[at++]);
        if (tail < lowest_ || tail > highest_) {
            lowest_ = 0xff;
            highest_ = 0;
            return false;
        }
        lowest_ = tail_lowest;
        highest_ = tail_highest;
        --missing_count_;
    }
    return lowest_ <= highest_;
}

bool utf8_validator::begin_character(std::uint8_t lead) noexcept {
    // RFC 3629, 4. After some leads the range of the next octet is narrower than that of other
    // tails: otherwise the character would be overlong (e0, f0), a surrogate (ed), or too large
    // (f4).
    missing_count_ = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    lowest_ = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : tail_lowest;
    highest_ = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : tail_highest;
    if (lead < 0xc2 || lead > 0xf4) {
        lowest_ = 0xff;
        highest_ = 0;
        return false;
    }
    return true;
}

bool is_utf8(std::string_view text) noexcept {
    utf8_validator validator;
    return validator.push(std::as_bytes(std::span{text})) && validator.is_complete();
}

} // namespace zlink::wire::websocket
