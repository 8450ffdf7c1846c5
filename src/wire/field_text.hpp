// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <algorithm>
#include <string_view>

/// The syntax of HTTP field values (RFC 9110, 5.6).
namespace zlink::wire {

constexpr char lower_case(char letter) noexcept {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

/// Whether two texts are equal, ignoring the case of ASCII letters.
constexpr bool is_same_text(std::string_view one, std::string_view other) noexcept {
    return std::ranges::equal(one, other, {}, lower_case, lower_case);
}

constexpr bool is_letter_or_digit(char character) noexcept {
    const char lower = lower_case(character);
    return (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
}

constexpr bool is_digit(char character) noexcept {
    return character >= '0' && character <= '9';
}

constexpr bool is_hex_digit(char character) noexcept {
    const char lower = lower_case(character);
    return is_digit(character) || (lower >= 'a' && lower <= 'f');
}

/// The value of a digit for which is_hex_digit() holds.
constexpr unsigned hex_value(char digit) noexcept {
    return static_cast<unsigned>(is_digit(digit) ? digit - '0' : lower_case(digit) - 'a' + 10);
}

/// Whether an octet is of ASCII's control characters; HTAB is one.
constexpr bool is_control(char character) noexcept {
    return static_cast<unsigned char>(character) < ' ' || character == '\x7f';
}

constexpr bool is_token_character(char character) noexcept {
    return is_letter_or_digit(character) ||
           std::string_view{"!#$%&'*+-.^_`|~"}.find(character) != std::string_view::npos;
}

/// Whether `text` is a token, the syntax of methods, of names of fields and of extensions.
constexpr bool is_token(std::string_view text) noexcept {
    return !text.empty() && std::ranges::all_of(text, is_token_character);
}

/// `text` without the spaces and tabs around it.
constexpr std::string_view trimmed(std::string_view text) noexcept {
    constexpr std::string_view spaces = " \t";
    const std::size_t begin = text.find_first_not_of(spaces);
    if (begin == std::string_view::npos) {
        return {};
    }
    return text.substr(begin, text.find_last_not_of(spaces) + 1 - begin);
}

/// Removes the part before the first `separator` from the front of `list`, and the separator.
/// @return That part, trimmed. All of `list` if there is no separator.
constexpr std::string_view take_element(std::string_view& list, char separator) noexcept {
    const std::size_t end = std::min(list.find(separator), list.size());
    const std::string_view element = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    return trimmed(element);
}

/// Whether one of the elements of a list, separated by commas, is `token`. Case-insensitive.
constexpr bool has_token(std::string_view list, std::string_view token) noexcept {
    while (!list.empty()) {
        if (is_same_text(take_element(list, ','), token)) {
            return true;
        }
    }
    return false;
}

} // namespace zlink::wire
