// SPDX-License-Identifier: MPL-2.0
#include "wire/http/authority.hpp"

#include "wire/field_text.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <cstdint>
#include <netinet/in.h>

namespace zlink::wire::http {

namespace {

/// `reg-name` (RFC 3986, 3.2.2), but not empty. IPv4 addresses are among them.
bool is_name(std::string_view text) noexcept {
    constexpr std::size_t escape_bytes = 3;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '%') {
            const std::string_view digits = text.substr(at, escape_bytes).substr(1);
            if (digits.size() != 2 || !std::ranges::all_of(digits, is_hex_digit)) {
                return false;
            }
            at += digits.size();
        } else if (!is_letter_or_digit(text[at]) &&
                   std::string_view{"-._~!$&'()*+,;="}.find(text[at]) == std::string_view::npos) {
            return false;
        }
    }
    return !text.empty();
}

/// An IPv6 address without its brackets.
bool is_v6_address(std::string_view text) noexcept {
    std::array<char, INET6_ADDRSTRLEN> terminated{};
    if (text.size() >= terminated.size() || text.find('\0') != std::string_view::npos) {
        return false;
    }
    std::ranges::copy(text, terminated.begin());
    in6_addr ignored{};
    return inet_pton(AF_INET6, terminated.data(), &ignored) == 1;
}

/// Nothing, or a colon and a port, which may be empty (RFC 3986, 3.2.3).
bool is_port_part(std::string_view text) noexcept {
    if (text.size() <= 1) {
        return text.empty() || text.front() == ':';
    }
    std::uint16_t port = 0;
    const char* const end = text.data() + text.size();
    const auto [read_to, failure] = std::from_chars(text.data() + 1, end, port);
    return text.front() == ':' && failure == std::errc{} && read_to == end;
}

} // namespace

bool is_authority(std::string_view text) noexcept {
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        return end != std::string_view::npos && is_v6_address(text.substr(1, end - 1)) &&
               is_port_part(text.substr(end + 1));
    }
    const std::size_t end = std::min(text.find(':'), text.size());
    return is_name(text.substr(0, end)) && is_port_part(text.substr(end));
}

} // namespace zlink::wire::http
