// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace zlink::wire::websocket {

// A server's decisions about a request to upgrade (RFC 6455, 4.2.2), from texts that were extracted
// from it.

/// Chooses the subprotocol of a connection: the first of ours that the client offers.
///
/// @param offered  The value of Sec-WebSocket-Protocol, comma-separated; those of several fields
///                 joined by commas. Malformed elements are skipped.
/// @param ours     Names without commas and spaces, the preferred one first. Case-sensitive.
/// @return An element of `ours`; empty if the client offers none of them.
std::string_view preferred_subprotocol(std::string_view offered,
                                       std::span<const std::string> ours) noexcept;

/// Chooses as libzmq does for ZWS: the first that the client offers of those that are ours.
/// Parameters and result are those of preferred_subprotocol().
std::string_view first_subprotocol(std::string_view offered,
                                   std::span<const std::string> ours) noexcept;

/// Whether a page of `origin` may connect.
///
/// An origin is `scheme://host` or `scheme://host:port` (RFC 6454, 6.2); or `null`, for a page
/// whose origin is kept private. Schemes and hosts are compared case-insensitively. Each of
/// `allowed` is one of
///  - `*`: every origin, including `null`;
///  - an origin: this one. A port that is the scheme's own is left out, as browsers do;
///  - `*.example.org`: hosts below example.org, at any depth, but not itself; any scheme and port;
///  - `scheme://*.example.org` or `scheme://*.example.org:port`: the same with this scheme and
///    exactly this port, or none.
///
/// Programs other than browsers send no Origin; the caller decides whether they may connect.
///
/// @param origin  The value of Origin.
bool is_origin_allowed(std::string_view origin, std::span<const std::string> allowed) noexcept;

/// Whether there is an origin that `pattern`, one of `allowed` above, allows.
bool is_origin_pattern(std::string_view pattern) noexcept;

/// Whether a browser may send `text` as an origin, other than `null`.
bool is_origin(std::string_view text) noexcept;

/// The path and query of a request's target in either form (RFC 9112, 3.2.1 and 3.2.2): alone, or
/// behind "http://host". Proxies send the second form; that host then replaces the Host field.
/// @return Nothing if it is neither.
std::optional<std::string> origin_form(std::string_view target);

/// The path that a request asks for: its target without the query; `/` if nothing is left.
/// @param target  In origin-form (RFC 9112, 3.2.1), e.g. `/chat?room=1`.
std::string_view path_of(std::string_view target) noexcept;

/// Whether a request for `target` is for an endpoint with `path`. Octets are compared exactly:
/// percent-encoded text matches only the same text.
/// @param path  Empty means `/`.
bool is_path(std::string_view target, std::string_view path) noexcept;

} // namespace zlink::wire::websocket
