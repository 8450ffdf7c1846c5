// SPDX-License-Identifier: MPL-2.0
#include "wire/http/forwarded.hpp"

#include "wire/field_text.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>

namespace zlink::wire::http {

namespace {

/// The longest address as text, with a zero byte.
constexpr std::size_t address_text_max = INET6_ADDRSTRLEN;

/// The address of a proxy or client; without an address it is one over ipc.
using node = forwarded_client;

bool decode_address(int family, std::string_view text, node& into) noexcept {
    std::array<char, address_text_max> terminated{};
    if (text.size() >= terminated.size() || text.find('\0') != std::string_view::npos) {
        return false;
    }
    std::ranges::copy(text, terminated.begin());
    into.host_bytes = family == AF_INET ? 4 : 16;
    return inet_pton(family, terminated.data(), into.host.data()) == 1;
}

/// @param text  Empty, or ":" and a port; with `may_be_hidden` also ":_name" (RFC 7239, 6.2).
bool decode_port(std::string_view text, bool may_be_hidden, node& into) noexcept {
    if (text.empty()) {
        return true;
    }
    text.remove_prefix(1);
    if (may_be_hidden && text.size() > 1 && text.starts_with('_')) {
        return is_token(text);
    }
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), into.port);
    return error == std::errc{} && stop == text.data() + text.size();
}

/// "192.0.2.1", "192.0.2.1:80", "[2001:db8::1]", "[2001:db8::1]:80".
/// @param is_standard  As RFC 7239 has it; otherwise also "2001:db8::1", and "unix:" for ipc.
std::optional<node> decode_node(std::string_view text, bool is_standard) noexcept {
    node made;
    const auto colon_count = std::ranges::count(text, ':');
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        const bool is_valid = end != std::string_view::npos &&
                              (end + 1 == text.size() || text[end + 1] == ':') &&
                              decode_address(AF_INET6, text.substr(1, end - 1), made) &&
                              decode_port(text.substr(end + 1), is_standard, made);
        return is_valid ? std::optional{made} : std::nullopt;
    }
    if (!is_standard && text == "unix:") {
        return made;
    }
    if (!is_standard && colon_count > 1) {
        return decode_address(AF_INET6, text, made) ? std::optional{made} : std::nullopt;
    }
    const std::size_t end = std::min(text.find(':'), text.size());
    const bool is_valid = decode_address(AF_INET, text.substr(0, end), made) &&
                          decode_port(text.substr(end), is_standard, made);
    return is_valid ? std::optional{made} : std::nullopt;
}

/// Takes the part behind the last `separator` outside of quotes off the end of `list`.
/// @return Nothing if a quote is not closed.
std::optional<std::string_view> take_last(std::string_view& list, char separator) noexcept {
    bool is_quoted = false;
    bool is_escaped = false;
    std::size_t begin = 0;
    for (std::size_t index = 0; index < list.size(); ++index) {
        if (is_escaped) {
            is_escaped = false;
        } else if (is_quoted && list[index] == '\\') {
            is_escaped = true;
        } else if (list[index] == '"') {
            is_quoted = !is_quoted;
        } else if (!is_quoted && list[index] == separator) {
            begin = index + 1;
        }
    }
    if (is_quoted) {
        return std::nullopt;
    }
    const std::string_view part = list.substr(begin);
    list = list.substr(0, begin == 0 ? 0 : begin - 1);
    return trimmed(part);
}

/// The parameters of a part of Forwarded that are of interest, without quotes.
struct forwarded_part {
    std::optional<std::string_view> sender; ///< "for".
    std::optional<std::string_view> scheme; ///< "proto".
};

/// @return Nothing if it is malformed.
std::optional<forwarded_part> decode_part(std::string_view part) noexcept {
    forwarded_part made;
    while (!part.empty()) {
        const std::optional<std::string_view> pair = take_last(part, ';');
        const std::size_t equals = pair ? pair->find('=') : std::string_view::npos;
        if (equals == std::string_view::npos || !is_token(pair->substr(0, equals))) {
            return std::nullopt;
        }
        const std::string_view name = pair->substr(0, equals);
        std::string_view value = pair->substr(equals + 1);
        if (value.size() > 1 && value.starts_with('"') && value.ends_with('"')) {
            value = value.substr(1, value.size() - 2);
        } else if (!is_token(value)) {
            return std::nullopt;
        }
        auto* const target = is_same_text(name, "for")     ? &made.sender
                             : is_same_text(name, "proto") ? &made.scheme
                                                           : nullptr;
        if (target != nullptr && *target) {
            return std::nullopt; // Once in a part (RFC 7239, 4).
        }
        if (target != nullptr) {
            *target = value;
        }
    }
    return made;
}

/// The node that is named last in `list`, which it is taken off.
/// @return Nothing if the part is malformed, or names no address.
std::optional<node> take_node(std::string_view& list, bool is_standard) noexcept {
    if (!is_standard) {
        const std::size_t comma = list.rfind(',');
        const std::size_t begin = comma == std::string_view::npos ? 0 : comma + 1;
        const std::string_view part = trimmed(list.substr(begin));
        list = list.substr(0, begin == 0 ? 0 : comma);
        return decode_node(part, false);
    }
    const std::optional<std::string_view> part = take_last(list, ',');
    const std::optional<forwarded_part> decoded = part ? decode_part(*part) : std::nullopt;
    return decoded && decoded->sender ? decode_node(*decoded->sender, true) : std::nullopt;
}

/// @param is_standard  The list is that of Forwarded, not of X-Forwarded-For.
std::optional<node> find_in(std::string_view list, bool is_standard,
                            const trusted_proxies& trusted) noexcept {
    for (std::size_t count = 0; count < forwarded_parts_max; ++count) {
        const std::optional<node> named = take_node(list, is_standard);
        if (!named) {
            return std::nullopt;
        }
        if (!trusted.contains(named->address()) || list.empty()) {
            return named->host_bytes != 0 ? named : std::nullopt;
        }
    }
    return std::nullopt;
}

std::string_view valid_scheme(std::string_view text) noexcept {
    for (const std::string_view each : {"http", "https"}) {
        if (is_same_text(text, each)) {
            return each;
        }
    }
    return {};
}

} // namespace

std::optional<forwarded_client> find_client(const forwarding_fields& said,
                                            const trusted_proxies& trusted) noexcept {
    if (!said.forwarded) {
        return said.x_forwarded_for ? find_in(*said.x_forwarded_for, false, trusted) : std::nullopt;
    }
    const std::optional<node> found = find_in(*said.forwarded, true, trusted);
    if (!said.x_forwarded_for || !found) {
        return found;
    }
    const std::optional<node> other = find_in(*said.x_forwarded_for, false, trusted);
    return other && std::ranges::equal(found->address(), other->address()) ? found : std::nullopt;
}

std::string_view find_scheme(const forwarding_fields& said) noexcept {
    if (said.x_forwarded_proto) {
        return valid_scheme(trimmed(*said.x_forwarded_proto));
    }
    if (!said.forwarded) {
        return {};
    }
    std::string_view list = *said.forwarded;
    const std::optional<std::string_view> part = take_last(list, ',');
    const std::optional<forwarded_part> decoded = part ? decode_part(*part) : std::nullopt;
    return decoded && decoded->scheme ? valid_scheme(*decoded->scheme) : std::string_view{};
}

} // namespace zlink::wire::http
