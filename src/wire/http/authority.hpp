// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <string_view>

namespace zlink::wire::http {

/// Whether `text` is a host with or without a port: `uri-host [ ":" port ]` (RFC 9110, 7.2), where
/// uri-host is a name, an IPv4 address or an IPv6 address in brackets (RFC 3986, 3.2.2). A host may
/// not be empty (RFC 9110, 4.2.1), and userinfo is not accepted (RFC 9110, 4.2.4).
bool is_authority(std::string_view text) noexcept;

} // namespace zlink::wire::http
