// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "wire/http/refusal.hpp"

#include <string>
#include <string_view>
#include <variant>

namespace zlink::wire::http {

/// The file that a target names.
struct target_path {
    /// Relative to the folder that is served, e.g. "video/a b.mp4": decoded, without a slash at
    /// either end; empty for that folder itself. No name in it is empty, "." or "..", begins with a
    /// dot (but for ".well-known" in front) or contains a slash or a null.
    std::string file;

    std::string_view query; ///< The part of the target behind the question mark.

    /// The path ends with a slash, as that of a folder.
    bool ends_with_slash = false;
};

/// Decodes the path of a target in origin-form (RFC 9112, 3.2.1; RFC 3986, 2.1 and 3.3).
///
/// Escapes are decoded exactly once, so that each name that a file may have has a path: also one
/// with a backslash, or with the characters of an escape in it. Nothing is resolved or made
/// simpler.
///
/// @return Or a refusal with status 400, if an escape is malformed; or 404, if the path names no
///         file that may be served: because of one of its names, or since the path or a name is
///         longer than file systems have them.
std::variant<target_path, refusal> decode_target_path(std::string_view target);

} // namespace zlink::wire::http
