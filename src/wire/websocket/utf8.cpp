// SPDX-License-Identifier: MPL-2.0
#include "wire/websocket/utf8.hpp"

#include <cstring>

namespace zlink::wire::websocket {

namespace {

constexpr std::uint8_t tail_lowest = 0x80;
constexpr std::uint8_t tail_highest = 0xbf;

/// How many octets at the front of `octets` are ASCII, to the last whole step of 32 or 8 octets.
std::size_t ascii_steps_bytes(std::span<const std::byte> octets) noexcept {
    constexpr std::uint64_t high_bits = 0x8080'8080'8080'8080;
    const auto word_at = [&](std::size_t at) {
        std::uint64_t word;
        std::memcpy(&word, octets.data() + at, sizeof word);
        return word;
    };
    std::size_t at = 0;
    while (octets.size() - at >= 32 &&
           ((word_at(at) | word_at(at + 8) | word_at(at + 16) | word_at(at + 24)) & high_bits) ==
               0) {
        at += 32;
    }
    while (octets.size() - at >= 8 && (word_at(at) & high_bits) == 0) {
        at += 8;
    }
    return at;
}

} // namespace

bool utf8_validator::push(std::span<const std::byte> octets) noexcept {
    std::size_t at = 0;
    while (at < octets.size()) {
        if (missing_count_ == 0) {
            at += ascii_steps_bytes(octets.subspan(at));
            // Up to the next character that is not ASCII, which the steps end before.
            while (at < octets.size() && octets[at] < std::byte{0x80}) {
                ++at;
            }
            if (at == octets.size()) {
                return true;
            }
            if (!begin_character(std::to_integer<std::uint8_t>(octets[at++]))) {
                return false;
            }
            continue;
        }
        const auto tail = std::to_integer<std::uint8_t>(octets[at++]);
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
    // RFC 3629, 4. What follows some leads is narrower than other tails: it would be a longer form
    // than needed (e0, f0), a surrogate (ed), or too large a number (f4).
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
