// SPDX-License-Identifier: MPL-2.0
// Input: a byte that selects the size of pieces, then a text. The result is compared with a decoder
// that works on code points, and must not depend on how the text is split.
#include "fuzz.hpp"

#include "wire/websocket/utf8.hpp"

#include <algorithm>

using namespace zlink::wire::websocket;
using zlink::fuzz::require;

namespace {

/// The number of bytes of the first character of `text`; 0 if it begins with none.
std::size_t character_bytes(std::span<const std::uint8_t> text) {
    const std::uint8_t lead = text[0];
    const std::size_t bytes = lead < 0x80             ? 1
                              : (lead & 0xe0) == 0xc0 ? 2
                              : (lead & 0xf0) == 0xe0 ? 3
                              : (lead & 0xf8) == 0xf0 ? 4
                                                      : 0;
    if (bytes == 0 || bytes > text.size()) {
        return 0;
    }
    std::uint32_t number = bytes == 1 ? lead : lead & (0x7fu >> bytes);
    for (std::size_t at = 1; at < bytes; ++at) {
        if ((text[at] & 0xc0) != 0x80) {
            return 0;
        }
        number = number << 6 | (text[at] & 0x3f);
    }
    constexpr std::uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool is_surrogate = number >= 0xd800 && number <= 0xdfff;
    return number >= lowest[bytes] && number <= 0x10ffff && !is_surrogate ? bytes : 0;
}

/// The number of bytes at the front of `text` that are whole characters.
std::size_t valid_bytes(std::span<const std::uint8_t> text) {
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t bytes = character_bytes(text.subspan(at));
        if (bytes == 0) {
            break;
        }
        at += bytes;
    }
    return at;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::span text{data + 1, size - 1};
    const auto content = std::as_bytes(text);
    const std::size_t valid = valid_bytes(text);
    require(is_utf8({reinterpret_cast<const char*>(data + 1), size - 1}) == (valid == text.size()));

    utf8_validator validator;
    std::size_t taken = 0;
    std::size_t character_end = 0;
    while (taken < content.size() && validator.push(content.subspan(taken, 1))) {
        if (taken == character_end && taken < valid) {
            character_end += character_bytes(text.subspan(taken));
        }
        ++taken;
        require(validator.is_complete() == (taken == character_end));
    }
    require(taken >= valid && taken < valid + 4);
    require((taken == content.size()) == (validator.push({})));

    const std::size_t piece_bytes_max = 1u + data[0];
    utf8_validator in_pieces;
    bool is_valid = true;
    for (std::size_t at = 0; at < content.size() && is_valid; at += piece_bytes_max) {
        const std::size_t bytes = std::min(piece_bytes_max, content.size() - at);
        is_valid = in_pieces.push(content.subspan(at, bytes));
        require(is_valid == (at + bytes <= taken));
    }
    require(in_pieces.is_complete() == (is_valid && valid == text.size()));
    return 0;
}
