// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace zlink::web {

/// `content` in the content coding gzip (RFC 1952).
/// @return Nothing if zlib has no memory.
/// @throws std::bad_alloc
std::optional<std::string> gzip(std::string_view content);

} // namespace zlink::web
