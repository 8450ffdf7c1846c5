// SPDX-License-Identifier: MPL-2.0
#include "wire/http/range.hpp"

#include "wire/field_text.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace zlink::wire::http {

namespace {

constexpr std::string_view part_begin = "\r\n--";
constexpr std::string_view part_type = "\r\nContent-Type: ";
constexpr std::string_view part_range = "\r\nContent-Range: ";
constexpr std::string_view part_head_end = "\r\n\r\n";
constexpr std::string_view multipart_end = "--\r\n";
constexpr std::string_view range_unit = "bytes ";

/// A position (RFC 9110, 14.1.1). One that is too large for 64 bits becomes the largest.
/// @return Nothing unless it consists of digits.
std::optional<std::uint64_t> position_of(std::string_view text) noexcept {
    if (text.empty() || !std::ranges::all_of(text, is_digit)) {
        return std::nullopt;
    }
    std::uint64_t position = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), position);
    return read.ec == std::errc{} ? position : std::numeric_limits<std::uint64_t>::max();
}

enum class range_kind : std::uint8_t { malformed, unsatisfiable, satisfiable };

/// Decodes `first-pos "-" [ last-pos ]` or `"-" suffix-length` (RFC 9110, 14.1.1 and 14.1.2).
range_kind decode_range(std::string_view text, std::uint64_t representation_bytes,
                        byte_range& to) noexcept {
    const std::size_t dash = text.find('-');
    if (dash == std::string_view::npos) {
        return range_kind::malformed;
    }
    const std::string_view first_text = text.substr(0, dash);
    const std::string_view last_text = text.substr(dash + 1);
    const auto last = position_of(last_text);
    if (first_text.empty()) {
        if (!last) {
            return range_kind::malformed;
        }
        const std::uint64_t bytes = std::min(*last, representation_bytes);
        to = {representation_bytes - bytes, representation_bytes - 1};
        return *last == 0 ? range_kind::unsatisfiable : range_kind::satisfiable;
    }
    const auto first = position_of(first_text);
    if (!first || (!last && !last_text.empty()) || (last && *last < *first)) {
        return range_kind::malformed;
    }
    if (*first >= representation_bytes) {
        return range_kind::unsatisfiable;
    }
    to = {*first, last ? std::min(*last, representation_bytes - 1) : representation_bytes - 1};
    return range_kind::satisfiable;
}

/// Whether they overlap or adjoin.
bool are_joined(const byte_range& one, const byte_range& other) noexcept {
    return one.first <= other.last + 1 && other.first <= one.last + 1;
}

/// Joins ranges, in place: those that are left are apart from each other.
/// @return Those that are left, each at the place of its first.
std::span<const byte_range> coalesced(std::span<byte_range> ranges) noexcept {
    auto end = ranges.begin();
    for (const byte_range next : ranges) {
        const auto is_joined = [&](const byte_range& each) { return are_joined(each, next); };
        const auto place = std::find_if(ranges.begin(), end, is_joined);
        byte_range joined = next;
        for (auto each = place; each != end; ++each) {
            if (is_joined(*each)) {
                joined = {std::min(joined.first, each->first), std::max(joined.last, each->last)};
            }
        }
        end = place == end ? end + 1 : std::remove_if(place + 1, end, is_joined);
        *place = joined;
    }
    return {ranges.begin(), end};
}

std::size_t digit_count(std::uint64_t number) noexcept {
    constexpr std::uint64_t ten = 10;
    std::size_t count = 1;
    for (; number >= ten; number /= ten) {
        ++count;
    }
    return count;
}

} // namespace

range_selection range_selection::decode(std::string_view field, std::uint64_t representation_bytes,
                                        std::string_view media_type) noexcept {
    range_selection selected;
    const std::size_t unit_end = field.find('=');
    if (unit_end == std::string_view::npos || !is_same_text(field.substr(0, unit_end), "bytes")) {
        return selected;
    }
    field.remove_prefix(unit_end + 1);

    std::array<byte_range, limits::http_ranges_max> ranges;
    std::size_t range_count = 0;
    std::size_t satisfiable_count = 0;
    while (!field.empty()) {
        const std::string_view text = take_element(field, ',');
        if (text.empty()) { // Empty elements are ignored (RFC 9110, 5.6.1.2).
            continue;
        }
        if (++range_count > limits::http_ranges_max) {
            return selected;
        }
        switch (decode_range(text, representation_bytes, ranges[satisfiable_count])) {
        case range_kind::malformed:
            return selected;
        case range_kind::unsatisfiable:
            break;
        case range_kind::satisfiable:
            ++satisfiable_count;
            break;
        }
    }
    if (range_count > 0 && satisfiable_count == 0) {
        selected.what_ = kind::unsatisfiable;
        return selected;
    }
    if (representation_bytes > 0) { // Otherwise, a suffix of nothing is the whole of it.
        selected.select(std::span{ranges}.first(satisfiable_count), representation_bytes,
                        media_type);
    }
    return selected;
}

/// Makes parts of `ranges`, unless the whole is better.
void range_selection::select(std::span<byte_range> ranges, std::uint64_t representation_bytes,
                             std::string_view media_type) noexcept {
    const std::span<const byte_range> parts = coalesced(ranges);
    const bool is_whole_better =
        parts.empty() || parts.size() > parts_.size() ||
        (parts.size() > 1 &&
         multipart_bytes(parts, representation_bytes, media_type) > representation_bytes);
    if (!is_whole_better) {
        std::ranges::copy(parts, parts_.begin());
        part_count_ = parts.size();
        what_ = kind::parts;
    }
}

std::string content_range(byte_range part, std::uint64_t representation_bytes) {
    return std::string{range_unit} + std::to_string(part.first) + "-" + std::to_string(part.last) +
           "/" + std::to_string(representation_bytes);
}

std::string unsatisfied_range(std::uint64_t representation_bytes) {
    return std::string{range_unit} + "*/" + std::to_string(representation_bytes);
}

std::uint64_t multipart_bytes(std::span<const byte_range> parts, std::uint64_t representation_bytes,
                              std::string_view media_type) noexcept {
    const std::size_t head_bytes = part_begin.size() + boundary_bytes + part_type.size() +
                                   media_type.size() + part_range.size() + range_unit.size() +
                                   std::string_view{"-/"}.size() +
                                   digit_count(representation_bytes) + part_head_end.size();
    std::uint64_t total = part_begin.size() + boundary_bytes + multipart_end.size();
    for (const byte_range& part : parts) {
        total += head_bytes + digit_count(part.first) + digit_count(part.last) + part.bytes();
    }
    return total;
}

void append_part_head(std::string& out, byte_range part, std::uint64_t representation_bytes,
                      std::string_view media_type, std::string_view boundary) {
    out += part_begin;
    out += boundary;
    out += part_type;
    out += media_type;
    out += part_range;
    out += content_range(part, representation_bytes);
    out += part_head_end;
}

void append_multipart_end(std::string& out, std::string_view boundary) {
    out += part_begin;
    out += boundary;
    out += multipart_end;
}

} // namespace zlink::wire::http
