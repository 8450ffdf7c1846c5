// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace zlink::wire::websocket {

/// Checks that octets are UTF-8 (RFC 3629): no character in a longer form than it needs, no
/// surrogates, none above U+10FFFF.
///
/// Takes a text in pieces of any size, cut within characters, too, and refuses it with the first
/// octet that cannot be part of any valid text.
class utf8_validator {
public:
    /// Takes the octets that come next.
    /// @return Whether all that came so far can be the beginning of a valid text. Once it is not,
    ///         it never is again, until reset().
    bool push(std::span<const std::byte> data) noexcept;

    /// Whether what came so far is a whole valid text: no character lacks an octet.
    bool is_complete() const noexcept { return missing_count_ == 0; }

    /// Begins another text.
    void reset() noexcept { *this = {}; }

private:
    bool begin_character(std::uint8_t lead) noexcept;

    /// Octets that the character lacks which has begun; in an invalid text one that never comes.
    std::uint8_t missing_count_ = 0;

    /// What its next octet may be: the lowest and the highest. None, in an invalid text.
    std::uint8_t lowest_ = 0;
    std::uint8_t highest_ = 0;
};

/// Whether `text` is UTF-8 as a whole.
bool is_utf8(std::string_view text) noexcept;

} // namespace zlink::wire::websocket
