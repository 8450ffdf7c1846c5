// SPDX-License-Identifier: MPL-2.0
#include "wire/http/conditions.hpp"

#include "wire/field_text.hpp"
#include "wire/http/date.hpp"

#include <algorithm>

namespace zlink::wire::http {

namespace {

using std::chrono::sys_seconds;

constexpr std::string_view any = "*";
constexpr char quote = '"';

/// Removes an entity tag from the front of `text` (RFC 9110, 8.8.3).
///
///   entity-tag = [ "W/" ] DQUOTE *etagc DQUOTE      the prefix is case-sensitive
///   etagc      = "!" / %x23-7E / obs-text           any visible character but a quote
std::optional<entity_tag> take_entity_tag(std::string_view& text) noexcept {
    constexpr std::string_view weak_prefix = "W/";
    entity_tag tag;
    tag.is_weak = text.starts_with(weak_prefix);
    const std::string_view quoted = text.substr(tag.is_weak ? weak_prefix.size() : 0);
    const std::size_t end = quoted.starts_with(quote) ? quoted.find(quote, 1) : quoted.npos;
    if (end == quoted.npos) {
        return std::nullopt;
    }
    tag.opaque = quoted.substr(0, end + 1);
    if (std::ranges::any_of(tag.opaque,
                            [](char each) { return is_control(each) || each == ' '; })) {
        return std::nullopt;
    }
    text = quoted.substr(end + 1);
    return tag;
}

/// Whether a list of entity tags has one that `is_match` accepts. Tags may contain commas.
/// @return False if the list is malformed.
template<class Match>
bool any_tag(std::string_view list, Match is_match) noexcept {
    bool is_found = false;
    bool is_separated = true;
    while (!(list = trimmed(list)).empty()) {
        if (list.starts_with(',')) { // Several are ignored (RFC 9110, 5.6.1.2).
            is_separated = true;
            list.remove_prefix(1);
            continue;
        }
        const std::optional<entity_tag> tag = take_entity_tag(list);
        if (!tag || !is_separated) {
            return false;
        }
        is_found = is_found || is_match(*tag);
        is_separated = false;
    }
    return is_found;
}

/// RFC 9110, 13.1.1.
bool is_if_match_true(std::string_view field, const validators& current) noexcept {
    if (field == any) {
        return current.exists;
    }
    return current.tag && any_tag(field, [&](const entity_tag& each) {
               return is_strong_match(each, *current.tag);
           });
}

/// RFC 9110, 13.1.2.
bool is_if_none_match_true(std::string_view field, const validators& current) noexcept {
    if (field == any) {
        return !current.exists;
    }
    return !current.tag || !any_tag(field, [&](const entity_tag& each) {
        return is_weak_match(each, *current.tag);
    });
}

/// Whether the resource was modified after the date that `field` says.
/// @return Nothing if the field is ignored: it is no date, or the resource has none (RFC 9110,
///         13.1.3 and 13.1.4).
std::optional<bool> is_modified_since(std::string_view field, const validators& current,
                                      sys_seconds now) noexcept {
    const std::optional<sys_seconds> date = decode_date(field, now);
    return date && current.modified ? std::optional{*current.modified > *date} : std::nullopt;
}

} // namespace

std::optional<entity_tag> decode_entity_tag(std::string_view text) noexcept {
    const std::optional<entity_tag> tag = take_entity_tag(text);
    return text.empty() ? tag : std::nullopt;
}

bool is_strong_match(const entity_tag& one, const entity_tag& other) noexcept {
    return !one.is_weak && !other.is_weak && one.opaque == other.opaque;
}

bool is_weak_match(const entity_tag& one, const entity_tag& other) noexcept {
    return one.opaque == other.opaque;
}

condition_outcome evaluate(const conditions& asked, const validators& current, bool is_get_or_head,
                           sys_seconds now) noexcept {
    // The steps of RFC 9110, 13.2.2; the fifth one is is_range_current().
    if (asked.if_match) {
        if (!is_if_match_true(*asked.if_match, current)) {
            return condition_outcome::precondition_failed;
        }
    } else if (asked.if_unmodified_since &&
               is_modified_since(*asked.if_unmodified_since, current, now).value_or(false)) {
        return condition_outcome::precondition_failed;
    }
    if (asked.if_none_match) {
        if (!is_if_none_match_true(*asked.if_none_match, current)) {
            return is_get_or_head ? condition_outcome::not_modified
                                  : condition_outcome::precondition_failed;
        }
    } else if (asked.if_modified_since && is_get_or_head &&
               !is_modified_since(*asked.if_modified_since, current, now).value_or(true)) {
        return condition_outcome::not_modified;
    }
    return condition_outcome::proceed;
}

bool is_range_current(std::string_view if_range, const validators& current,
                      sys_seconds now) noexcept {
    // A quote is among the first three characters of a tag, and of no date.
    constexpr std::size_t prefix_bytes = 3;
    if (if_range.substr(0, prefix_bytes).find(quote) != std::string_view::npos) {
        const std::optional<entity_tag> tag = decode_entity_tag(if_range);
        return tag && current.tag && is_strong_match(*tag, *current.tag);
    }
    const std::optional<sys_seconds> date = decode_date(if_range, now);
    return date && date == current.modified && *date + std::chrono::seconds{1} <= now;
}

} // namespace zlink::wire::http
