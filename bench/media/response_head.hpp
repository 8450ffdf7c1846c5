// SPDX-License-Identifier: MPL-2.0
//
// The head of an HTTP response, as far as the load client checks it.

#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <strings.h>

namespace media_bench {

struct content_range {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t total = 0;

    bool operator==(const content_range&) const = default;
};

struct response_head {
    int status = 0;
    std::optional<std::uint64_t> content_bytes;
    std::optional<content_range> range;
    bool closes = false; // The server will close the connection after this response.
    std::size_t bytes = 0;
};

enum class head_state { incomplete, complete, invalid };

inline bool equals_ignoring_case(std::string_view left, std::string_view right) noexcept {
    return left.size() == right.size() && strncasecmp(left.data(), right.data(), left.size()) == 0;
}

/// Takes a decimal number off the front of the text.
inline std::optional<std::uint64_t> take_number(std::string_view& text) noexcept {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) {
        return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

inline bool take_text(std::string_view& text, std::string_view wanted) noexcept {
    const bool begins = text.starts_with(wanted);
    text.remove_prefix(begins ? wanted.size() : 0);
    return begins;
}

/// Decodes `bytes 0-99/1000`.
inline std::optional<content_range> decode_content_range(std::string_view text) noexcept {
    if (!take_text(text, "bytes ")) {
        return std::nullopt;
    }
    const auto first = take_number(text);
    const bool has_dash = take_text(text, "-");
    const auto last = take_number(text);
    const bool has_slash = take_text(text, "/");
    const auto total = take_number(text);
    if (!first || !has_dash || !last || !has_slash || !total || !text.empty()) {
        return std::nullopt;
    }
    return content_range{*first, *last, *total};
}

/// @return False if the field is one that the client relies on, and malformed.
inline bool decode_field(std::string_view name, std::string_view value, response_head& head) {
    if (equals_ignoring_case(name, "content-length")) {
        head.content_bytes = take_number(value);
        return head.content_bytes.has_value() && value.empty();
    }
    if (equals_ignoring_case(name, "content-range")) {
        head.range = decode_content_range(value);
        return head.range.has_value();
    }
    if (equals_ignoring_case(name, "connection")) {
        head.closes = head.closes || equals_ignoring_case(value, "close");
    }
    return true;
}

/// Decodes the head at the front of the text, if the text has all of it.
inline head_state decode_head(std::string_view text, response_head& head) {
    const std::size_t end = text.find("\r\n\r\n");
    if (end == std::string_view::npos) {
        return head_state::incomplete;
    }
    head = {};
    head.bytes = end + 4;
    std::string_view rest = text.substr(0, end + 2);
    if (!take_text(rest, "HTTP/1.1 ") && !take_text(rest, "HTTP/1.0 ")) {
        return head_state::invalid;
    }
    const auto status = take_number(rest);
    if (!status || *status > 999) {
        return head_state::invalid;
    }
    head.status = static_cast<int>(*status);
    rest.remove_prefix(rest.find("\r\n") + 2);
    while (!rest.empty()) {
        const std::size_t line_end = rest.find("\r\n");
        const std::string_view line = rest.substr(0, line_end);
        rest.remove_prefix(line_end + 2);
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos) {
            return head_state::invalid;
        }
        std::string_view value = line.substr(colon + 1);
        while (!value.empty() && value.front() == ' ') {
            value.remove_prefix(1);
        }
        while (!value.empty() && value.back() == ' ') {
            value.remove_suffix(1);
        }
        if (!decode_field(line.substr(0, colon), value, head)) {
            return head_state::invalid;
        }
    }
    return head_state::complete;
}

} // namespace media_bench
