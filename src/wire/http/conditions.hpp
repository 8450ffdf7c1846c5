// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace zlink::wire::http {

/// An entity tag (RFC 9110, 8.8.3): `"xyzzy"`, or weak, `W/"xyzzy"`.
struct entity_tag {
    std::string_view opaque; ///< The part in quotes, with them.
    bool is_weak = false;
};

/// @return Nothing if `text` is not an entity tag.
std::optional<entity_tag> decode_entity_tag(std::string_view text) noexcept;

/// Whether both are equal and neither is weak (RFC 9110, 8.8.3.2).
bool is_strong_match(const entity_tag& one, const entity_tag& other) noexcept;

/// Whether both are equal; each may be weak (RFC 9110, 8.8.3.2).
bool is_weak_match(const entity_tag& one, const entity_tag& other) noexcept;

/// The state of a resource that a request's conditions are about.
struct validators {
    bool exists = true; ///< There is a representation, which `*` matches.
    std::optional<entity_tag> tag{};
    std::optional<std::chrono::sys_seconds> modified{}; ///< As Last-Modified says.
};

/// The conditional fields of a request; those that are lists joined from all of their lines.
struct conditions {
    std::optional<std::string_view> if_match{};
    std::optional<std::string_view> if_none_match{};
    std::optional<std::string_view> if_modified_since{};
    std::optional<std::string_view> if_unmodified_since{};
};

enum class condition_outcome : std::uint8_t {
    proceed,
    not_modified,        ///< Status 304.
    precondition_failed, ///< Status 412.
};

/// Evaluates conditions in their order of precedence (RFC 9110, 13.2.2), for a request that would
/// succeed without them. A list that is malformed matches no tag; a date that is malformed is
/// ignored (RFC 9110, 13.1.3 and 13.1.4).
///
/// @param is_get_or_head  The method is GET or HEAD.
/// @param now             The Date of the response.
condition_outcome evaluate(const conditions& asked, const validators& current, bool is_get_or_head,
                           std::chrono::sys_seconds now) noexcept;

/// Whether a Range field counts in spite of If-Range (RFC 9110, 13.1.5); if not, the whole is sent.
///
/// A tag counts if it is the current one, by strong comparison. A date counts if it is the current
/// one and strong: at least a second earlier than `now`, because a file may change twice in a
/// second (RFC 9110, 8.8.2.2).
///
/// @param if_range  The value of the only If-Range field.
/// @param now       The Date of the response.
bool is_range_current(std::string_view if_range, const validators& current,
                      std::chrono::sys_seconds now) noexcept;

} // namespace zlink::wire::http
