// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <string_view>

namespace zlink::wire::http {

/// The Content-Type of a file (RFC 9110, 8.3), by what follows the last dot of its name, without
/// regard to case. Texts are said to be in UTF-8.
/// @param path  A name or a path.
/// @return "application/octet-stream" if the extension is not known; of static duration.
std::string_view media_type_of(std::string_view path) noexcept;

} // namespace zlink::wire::http
