// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace zlink::api {

/// Copies as much of `text` as fits, and a terminating null.
template<std::size_t bytes>
void copy_text(std::string_view text, char (&to)[bytes]) noexcept {
    const std::size_t copied = std::min(text.size(), bytes - 1);
    std::memcpy(to, text.data(), copied);
    to[copied] = '\0';
}

} // namespace zlink::api
