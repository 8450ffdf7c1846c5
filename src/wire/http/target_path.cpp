// SPDX-License-Identifier: MPL-2.0
#include "wire/http/target_path.hpp"

#include "base/limits.hpp"
#include "wire/field_text.hpp"

#include <algorithm>
#include <optional>

namespace zlink::wire::http {

namespace {

constexpr refusal malformed{400, "The path of the target is malformed."};
constexpr refusal not_found{404, "There is no such file."};

constexpr std::size_t escape_bytes = 3;

/// Whether `text` begins with an escape: "%" HEXDIG HEXDIG.
bool has_escape(std::string_view text) noexcept {
    return text.size() >= escape_bytes && text[0] == '%' && is_hex_digit(text[1]) &&
           is_hex_digit(text[2]);
}

/// The octet of the escape that `text` begins with.
char escaped_octet(std::string_view text) noexcept {
    constexpr unsigned digit_bits = 4;
    return static_cast<char>(hex_value(text[1]) << digit_bits | hex_value(text[2]));
}

/// Decodes the escapes of one name, and appends it.
/// @return Whether they are well-formed.
bool append_decoded(std::string& to, std::string_view name) {
    while (!name.empty()) {
        const bool is_escape = has_escape(name);
        if (!is_escape && (name.front() == '%' || is_control(name.front()))) {
            return false;
        }
        to += is_escape ? escaped_octet(name) : name.front();
        name.remove_prefix(is_escape ? escape_bytes : 1);
    }
    return true;
}

/// Whether a file with this name, which was decoded once, may be served.
bool may_be_served(std::string_view name, bool is_first) {
    constexpr std::string_view well_known = ".well-known"; // RFC 8615.
    constexpr std::string_view forbidden{"/\0", 2};
    return !name.empty() && name.size() <= limits::http_path_segment_bytes_max &&
           name.find_first_of(forbidden) == std::string_view::npos &&
           (!name.starts_with('.') || (is_first && name == well_known));
}

} // namespace

std::variant<target_path, refusal> decode_target_path(std::string_view target) {
    target_path found;
    std::string_view path = target.substr(0, target.find('?'));
    found.query = target.substr(std::min(path.size() + 1, target.size()));
    if (!path.starts_with('/')) {
        return malformed;
    }
    path.remove_prefix(1);
    found.ends_with_slash = path.empty() || path.ends_with('/');
    bool is_refused = false;
    while (!path.empty()) {
        const std::string_view encoded = path.substr(0, path.find('/'));
        path.remove_prefix(std::min(encoded.size() + 1, path.size()));
        const bool is_first = found.file.empty();
        if (!is_first) {
            found.file += '/';
        }
        const std::size_t begin = found.file.size();
        if (!append_decoded(found.file, encoded)) {
            return malformed;
        }
        const std::string_view name = std::string_view{found.file}.substr(begin);
        is_refused = is_refused || !may_be_served(name, is_first);
    }
    if (is_refused || found.file.size() > limits::http_path_bytes_max) {
        return not_found;
    }
    return found;
}

} // namespace zlink::wire::http
