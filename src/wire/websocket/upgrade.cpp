// SPDX-License-Identifier: MPL-2.0
#include "wire/websocket/upgrade.hpp"

#include "wire/field_text.hpp"

#include <algorithm>
#include <array>

namespace zlink::wire::websocket {

namespace {

constexpr std::string_view any = "*";
constexpr std::string_view scheme_end = "://";

bool is_offered(std::string_view offered, std::string_view subprotocol) noexcept {
    while (!offered.empty()) {
        if (take_element(offered, ',') == subprotocol) {
            return true;
        }
    }
    return false;
}

/// The parts of an origin, or of a pattern for origins.
struct origin_parts {
    std::string_view scheme; ///< Empty in a pattern for any scheme.
    std::string_view host;   ///< In a pattern behind the asterisk.
    std::string_view port;   ///< With its colon; empty if there is none.
};

origin_parts split(std::string_view text) noexcept {
    origin_parts parts;
    if (const std::size_t end = text.find(scheme_end); end != std::string_view::npos) {
        parts.scheme = text.substr(0, end);
        text.remove_prefix(end + scheme_end.size());
    }
    std::size_t host_end = std::min(text.rfind(':'), text.size());
    if (text.ends_with(']')) { // An IPv6 address without a port.
        host_end = text.size();
    }
    parts.host = text.substr(0, host_end);
    parts.port = text.substr(host_end);
    return parts;
}

/// Whether a host is a name, without other parts of a URL, and not an IPv6 address, which is below
/// no domain.
bool is_host_name(std::string_view host) noexcept {
    return std::ranges::all_of(host, [](char character) {
        return is_letter_or_digit(character) || character == '-' || character == '.' ||
               character == '_';
    });
}

/// Whether the text behind a host is a port, or empty.
bool is_port(std::string_view port) noexcept {
    return port.empty() ||
           (port.size() > 1 && port.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

bool is_scheme(std::string_view scheme) noexcept {
    return !scheme.empty() && std::ranges::all_of(scheme, [](char character) {
        return is_letter_or_digit(character) ||
               std::string_view{"+-."}.find(character) != std::string_view::npos;
    });
}

/// Whether a browser may send this port, with its colon, in an origin: it leaves out the scheme's
/// own.
bool is_shown_port(std::string_view scheme, std::string_view port) noexcept {
    return is_port(port) && !(is_same_text(scheme, "http") && port == ":80") &&
           !(is_same_text(scheme, "https") && port == ":443");
}

/// Whether `host` ends with `domain`, which begins with a dot, and has a label before it.
bool is_below(std::string_view host, std::string_view domain) noexcept {
    return domain.size() > 1 && host.size() > domain.size() && is_host_name(host) &&
           host.front() != '.' && is_same_text(host.substr(host.size() - domain.size()), domain);
}

bool is_match(std::string_view origin, std::string_view pattern) noexcept {
    if (pattern == any) {
        return true;
    }
    origin_parts wanted = split(pattern);
    if (!wanted.host.starts_with("*.")) {
        return is_same_text(origin, pattern);
    }
    wanted.host.remove_prefix(any.size());
    const origin_parts found = split(origin);
    if (found.scheme.empty() || !is_below(found.host, wanted.host) || !is_port(found.port)) {
        return false;
    }
    const bool is_any_scheme = wanted.scheme.empty() && wanted.port.empty();
    return is_any_scheme ||
           (is_same_text(found.scheme, wanted.scheme) && found.port == wanted.port);
}

} // namespace

std::string_view preferred_subprotocol(std::string_view offered,
                                       std::span<const std::string> ours) noexcept {
    for (const std::string& subprotocol : ours) {
        if (is_offered(offered, subprotocol)) {
            return subprotocol;
        }
    }
    return {};
}

std::string_view first_subprotocol(std::string_view offered,
                                   std::span<const std::string> ours) noexcept {
    while (!offered.empty()) {
        const auto found = std::ranges::find(ours, take_element(offered, ','));
        if (found != ours.end()) {
            return *found;
        }
    }
    return {};
}

bool is_origin_allowed(std::string_view origin, std::span<const std::string> allowed) noexcept {
    return std::ranges::any_of(
        allowed, [&](const std::string& pattern) { return is_match(origin, pattern); });
}

bool is_origin_pattern(std::string_view pattern) noexcept {
    if (pattern == any || pattern == "null") {
        return true;
    }
    const origin_parts wanted = split(pattern);
    if (!wanted.host.starts_with("*.")) {
        return is_origin(pattern);
    }
    const std::string_view domain = wanted.host.substr(2);
    const bool has_scheme = pattern.find(scheme_end) != std::string_view::npos;
    return !domain.empty() && domain.front() != '.' && is_host_name(domain) &&
           (has_scheme ? is_scheme(wanted.scheme) && is_shown_port(wanted.scheme, wanted.port)
                       : wanted.port.empty());
}

bool is_origin(std::string_view text) noexcept {
    const origin_parts parts = split(text);
    std::string_view host = parts.host;
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
        if (host.find_first_not_of("0123456789abcdefABCDEF:.") != std::string_view::npos) {
            return false;
        }
    } else if (!is_host_name(host)) {
        return false;
    }
    return !host.empty() && is_scheme(parts.scheme) && is_shown_port(parts.scheme, parts.port);
}

std::optional<std::string> origin_form(std::string_view target) {
    if (target.starts_with('/')) {
        return std::string{target};
    }
    const std::size_t end = target.find(scheme_end);
    const std::string_view scheme = target.substr(0, end);
    constexpr std::array schemes{"http", "https", "ws", "wss"};
    if (end == std::string_view::npos ||
        std::ranges::none_of(schemes, [&](auto each) { return is_same_text(scheme, each); })) {
        return std::nullopt;
    }
    const std::string_view rest = target.substr(end + scheme_end.size());
    const std::size_t host_end = std::min(rest.find_first_of("/?#"), rest.size());
    if (host_end == 0) {
        return std::nullopt;
    }
    const std::string_view path = rest.substr(host_end);
    return path.starts_with('/') ? std::string{path} : "/" + std::string{path};
}

std::string_view path_of(std::string_view target) noexcept {
    const std::string_view path = target.substr(0, target.find('?'));
    return path.empty() ? "/" : path;
}

bool is_path(std::string_view target, std::string_view path) noexcept {
    return path_of(target) == (path.empty() ? "/" : path);
}

} // namespace zlink::wire::websocket
