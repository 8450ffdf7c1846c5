// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace zlink::wire::websocket {

/// Checks that octets are UTF-8 (RFC 3629): no overlong forms, no surrogates, no character above
/// U+10FFFF.
///
/// Takes a text in pieces of any size, also cut within characters, and rejects it at the first
/// octet that cannot be part of a valid text.
class utf8_validator {
public:
    /// Takes the next octets.
    /// @return Whether all octets so far can be the beginning of a valid text. Once false, it stays
    /// false until reset().
    bool push(std::span<const std::byte> data) noexcept;

    /// Whether the octets so far are a complete valid text: no character is incomplete.
    bool is_complete() const noexcept { return missing_count_ == 0; }

    /// Begins another text.
    void reset() noexcept { *this = {}; }

private:
    bool begin_character(std::uint8_t lead) noexcept;

    /// Missing octets of the current character; in an invalid text one that never comes.
    std::uint8_t missing_count_ = 0;

    /// The lowest and the highest valid value of the next octet. None, in an invalid text.
    std::uint8_t lowest_ = 0;
    std::uint8_t highest_ = 0;
};

/// Whether all of `text` is valid UTF-8.
bool is_utf8(std::string_view text) noexcept;

} // namespace zlink::wire::websocket
