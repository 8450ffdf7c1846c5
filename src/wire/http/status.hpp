// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <string_view>

namespace zlink::wire::http {

// Statuses that decoders refuse a request with.
inline constexpr int bad_request = 400;
inline constexpr int content_too_large = 413;
inline constexpr int uri_too_long = 414;
inline constexpr int expectation_failed = 417;
inline constexpr int fields_too_large = 431;
inline constexpr int not_implemented = 501;
inline constexpr int version_not_supported = 505;

/// Ends each line of a head.
inline constexpr std::string_view line_end = "\r\n";

} // namespace zlink::wire::http
