// SPDX-License-Identifier: MPL-2.0
#include "base/network.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <string>

namespace zlink {

namespace {

constexpr std::size_t v4_bytes = 4;
constexpr std::size_t v6_bytes = 16;

/// The mapping of an IPv4 address into IPv6 (RFC 4291, 2.5.5.2).
std::span<const std::byte> without_v4_mapping(std::span<const std::byte> asked) noexcept {
    constexpr std::size_t prefix_bytes = v6_bytes - v4_bytes;
    const auto is_mapped = [&] {
        return asked.size() == v6_bytes &&
               std::all_of(asked.begin(), asked.begin() + 10,
                           [](std::byte each) { return each == std::byte{0}; }) &&
               asked[10] == std::byte{0xff} && asked[11] == std::byte{0xff};
    };
    return is_mapped() ? asked.subspan(prefix_bytes) : asked;
}

} // namespace

bool network::contains(std::span<const std::byte> asked) const noexcept {
    asked = without_v4_mapping(asked);
    if (asked.size() != address_bytes) {
        return false;
    }
    const std::size_t whole_bytes = mask_bits / 8;
    if (!std::equal(asked.begin(), asked.begin() + static_cast<std::ptrdiff_t>(whole_bytes),
                    address.begin())) {
        return false;
    }
    const unsigned rest_bits = mask_bits % 8;
    return rest_bits == 0 || std::to_integer<unsigned>(asked[whole_bytes] ^ address[whole_bytes]) >>
                                     (8 - rest_bits) ==
                                 0;
}

result<network> decode_network(std::string_view text, bool may_be_v6) {
    const std::size_t slash = text.find('/');
    const std::string host{text.substr(0, slash)};
    network decoded;
    if (inet_pton(AF_INET, host.c_str(), decoded.address.data()) == 1) {
        decoded.address_bytes = v4_bytes;
    } else if (may_be_v6 && inet_pton(AF_INET6, host.c_str(), decoded.address.data()) == 1) {
        decoded.address_bytes = v6_bytes;
    } else {
        return errc::invalid_argument;
    }
    decoded.mask_bits = static_cast<std::uint8_t>(8 * decoded.address_bytes);
    if (slash == std::string_view::npos) {
        return decoded;
    }
    const std::string_view digits = text.substr(slash + 1);
    const unsigned bits_max = decoded.mask_bits;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, decoded.mask_bits);
    if (error != std::errc{} || stop != end || decoded.mask_bits > bits_max) {
        return errc::invalid_argument;
    }
    return decoded;
}

} // namespace zlink
