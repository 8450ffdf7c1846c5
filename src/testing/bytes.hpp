// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <sys/uio.h>
#include <vector>

namespace zlink::testing {

/// Makes bytes for a test from text: hexadecimal pairs, text in single quotes, and either of them
/// repeated with `*count`. Spaces separate only: "ff 00*8 7f 'NULL' 'ab'*3".
inline std::vector<std::byte> hex(std::string_view spelled) {
    const auto digit = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
    std::vector<std::byte> all;
    std::vector<std::byte> unit;
    std::size_t at = 0;
    while (at < spelled.size()) {
        if (spelled[at] == ' ') {
            ++at;
            continue;
        }
        unit.clear();
        if (spelled[at] == '\'') {
            for (++at; spelled.at(at) != '\''; ++at) {
                unit.push_back(static_cast<std::byte>(spelled[at]));
            }
            ++at;
        } else {
            unit.push_back(
                static_cast<std::byte>(digit(spelled[at]) << 4 | digit(spelled.at(at + 1))));
            at += 2;
        }
        std::size_t count = 1;
        if (at < spelled.size() && spelled[at] == '*') {
            count = 0;
            for (++at; at < spelled.size() && spelled[at] != ' '; ++at) {
                count = count * 10 + static_cast<std::size_t>(spelled[at] - '0');
            }
        }
        for (; count > 0; --count) {
            all.insert(all.end(), unit.begin(), unit.end());
        }
    }
    return all;
}

/// Views bytes as text, to compare them with a text literal.
inline std::string_view text(std::span<const std::byte> data) {
    return {reinterpret_cast<const char*>(data.data()), data.size()};
}

/// Views text as bytes.
inline std::span<const std::byte> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// Copies the beginning of `data` into `parts`, in order, like a read that gets at most `bytes_max`
/// bytes.
/// @return The number of bytes copied.
inline std::size_t fill_parts(std::span<const iovec> parts, std::string_view data,
                              std::size_t bytes_max = SIZE_MAX) {
    data = data.substr(0, bytes_max);
    std::size_t bytes = 0;
    for (const iovec& part : parts) {
        const std::string_view taken = data.substr(bytes, part.iov_len);
        std::copy(taken.begin(), taken.end(), static_cast<char*>(part.iov_base));
        bytes += taken.size();
    }
    return bytes;
}

} // namespace zlink::testing
