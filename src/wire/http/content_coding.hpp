// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace zlink::wire::http {

/// The content codings of files that are stored compressed (RFC 9110, 8.4.1; RFC 7932).
enum class content_coding : std::uint8_t { identity, gzip, br };

/// The name for Content-Encoding; empty for identity, which has none.
std::string_view name_of(content_coding coding) noexcept;

/// The codings in which a file is there, besides identity.
struct available_codings {
    bool has_gzip = false;
    bool has_br = false;
};

/// Chooses by Accept-Encoding (RFC 9110, 12.5.3) the coding with the highest weight; of equal ones,
/// br before gzip before identity. Identity is acceptable unless the field excludes it, but any
/// coding that the field names is preferred to it if the field does not name it.
///
/// @param accept_encoding  The value, joined from all of its lines. Without the field, identity is
///                         chosen: such a client may decode nothing else. Elements that are
///                         malformed are ignored.
/// @return Nothing if no available coding is acceptable: the answer may be status 406, or identity
///         all the same.
std::optional<content_coding> choose_coding(std::optional<std::string_view> accept_encoding,
                                            available_codings available) noexcept;

} // namespace zlink::wire::http
