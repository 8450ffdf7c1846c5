// SPDX-License-Identifier: MPL-2.0
#include "wire/proxy_protocol.hpp"

#include "base/byte_order.hpp"
#include "wire/websocket/utf8.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace zlink::wire {

using namespace std::string_view_literals;

namespace {

constexpr std::string_view signature_one = "PROXY ";
constexpr std::string_view signature_two = "\r\n\r\n\0\r\nQUIT\n"sv;
constexpr std::size_t head_bytes = 16;

constexpr unsigned local_command = 0x20;
constexpr unsigned proxy_command = 0x21;

// The family, in the upper half of its octet; 0 is unspecified.
constexpr unsigned internet_4 = 1;
constexpr unsigned internet_6 = 2;
constexpr unsigned unix_path = 3;

// The protocol, in the lower half.
constexpr unsigned connected = 1;
constexpr unsigned datagrams = 2;

constexpr std::size_t unix_path_bytes = 108;

/// The size of the two addresses of a family.
constexpr std::size_t address_bytes(unsigned family) noexcept {
    switch (family) {
    case internet_4:
        return 2 * (4 + 2);
    case internet_6:
        return 2 * (16 + 2);
    case unix_path:
        return 2 * unix_path_bytes;
    default:
        return 0;
    }
}

unsigned byte_at(const std::string& text, std::size_t index) noexcept {
    return static_cast<unsigned char>(text[index]);
}

/// Removes the word before the next space from the front of `rest`, and the space.
std::optional<std::string> take_word(std::string_view& rest) {
    const std::size_t end = rest.find(' ');
    if (end == std::string_view::npos) {
        return std::nullopt;
    }
    std::string word{rest.substr(0, end)};
    rest.remove_prefix(end + 1);
    return word;
}

std::optional<std::uint16_t> decode_port(std::string_view text) noexcept {
    std::uint16_t port = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
    const bool has_leading_zero = text.size() > 1 && text[0] == '0';
    if (failed != std::errc{} || end != text.data() + text.size() || has_leading_zero) {
        return std::nullopt;
    }
    return port;
}

bool may_send(std::uint32_t v4) noexcept {
    const bool is_multicast = v4 >> 28 == 0xe;
    return v4 != 0 && v4 != 0xffff'ffff && !is_multicast;
}

/// Whether a peer can have the address: it is neither multicast nor broadcast nor unspecified.
bool may_send(const proxied_peer& peer) noexcept {
    constexpr std::array<std::byte, 12> mapped_v4{
        {{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, std::byte{0xff}, std::byte{0xff}}};
    const std::byte* const data = peer.host.data();
    if (peer.what == proxied_peer::kind::ipv4) {
        return may_send(load_big_endian<std::uint32_t>(data));
    }
    if (std::equal(mapped_v4.begin(), mapped_v4.end(), data)) {
        return may_send(load_big_endian<std::uint32_t>(data + mapped_v4.size()));
    }
    const bool is_multicast = data[0] == std::byte{0xff};
    return peer.host != std::array<std::byte, 16>{} && !is_multicast;
}

/// Whether a socket's name can be passed on unchanged: it is text in one line, and does not look
/// like an abstract name, whose zero octet is passed on as an @.
bool is_printable(std::string_view path) noexcept {
    const bool is_abstract = path.starts_with('\0');
    const std::string_view name = path.substr(is_abstract ? 1 : 0);
    const bool is_ambiguous = !is_abstract && name.starts_with('@');
    const bool has_controls = std::any_of(
        name.begin(), name.end(), [](unsigned char byte) { return byte < 0x20 || byte == 0x7f; });
    return !is_ambiguous && !has_controls && websocket::is_utf8(name);
}

bool is_host(int family, const std::string& text, void* to) noexcept {
    return text.find('\0') == std::string::npos && inet_pton(family, text.c_str(), to) == 1;
}

} // namespace

result<void> proxy_header::on_received(std::span<const std::byte> data) {
    if (version_ == version::two_rest) {
        skipped_bytes_ -= data.size();
        wanted_bytes_ = skipped_bytes_;
        return {};
    }
    received_.append(reinterpret_cast<const char*>(data.data()), data.size());
    switch (version_) {
    case version::undecided:
        return decide();
    case version::one:
        return take_line();
    case version::two_head:
        return take_head();
    case version::two_addresses:
    case version::two_rest:
        break;
    }
    return take_addresses();
}

result<void> proxy_header::decide() {
    if (received_ == signature_one) {
        version_ = version::one;
        return take_line();
    }
    if (received_ == signature_two) {
        version_ = version::two_head;
        return take_head();
    }
    for (const std::string_view each : {signature_one, signature_two}) {
        if (each.starts_with(received_)) {
            wanted_bytes_ = each.size() - received_.size();
            return {};
        }
    }
    return errc::protocol_violation;
}

// Version 1.

/// The minimum of octets that the line lacks.
std::size_t proxy_header::line_rest_min() const noexcept {
    const std::size_t end_rest = received_.ends_with('\r') ? 1 : 2;
    const auto spaces =
        static_cast<std::size_t>(std::count(received_.begin(), received_.end(), ' '));
    constexpr std::size_t spaces_of_addresses = 5;
    const bool has_addresses = received_.starts_with("PROXY TCP");
    // Each missing space is followed by at least one octet.
    return end_rest +
           (has_addresses && spaces < spaces_of_addresses ? 2 * (spaces_of_addresses - spaces) : 0);
}

result<void> proxy_header::take_line() {
    const std::string_view end = std::string_view{received_}.substr(
        std::min(received_.find_first_of("\r\n"), received_.size()));
    if (end == "\r\n") {
        wanted_bytes_ = 0;
        return decode_line();
    }
    if (!end.empty() && end != "\r") {
        return errc::protocol_violation;
    }
    wanted_bytes_ = line_rest_min();
    return received_.size() + wanted_bytes_ <= v1_bytes_max ? result<void>{}
                                                            : result<void>{errc::message_too_large};
}

result<void> proxy_header::decode_line() {
    std::string_view rest = received_;
    rest.remove_prefix(signature_one.size());
    rest.remove_suffix(2);
    if (rest == "UNKNOWN" || rest.starts_with("UNKNOWN ")) {
        return {};
    }
    const auto family = take_word(rest);
    const auto source = take_word(rest);
    const auto destination = take_word(rest);
    const auto source_port = take_word(rest);
    if (!source_port || (family != "TCP4" && family != "TCP6")) {
        return errc::protocol_violation;
    }
    const bool is_v4 = family == "TCP4";
    const int kind = is_v4 ? AF_INET : AF_INET6;
    const auto port = decode_port(*source_port);
    std::array<std::byte, 16> ignored;
    if (!is_host(kind, *source, peer_.host.data()) || !is_host(kind, *destination, &ignored) ||
        !port || !decode_port(rest)) {
        return errc::protocol_violation;
    }
    peer_.what = is_v4 ? proxied_peer::kind::ipv4 : proxied_peer::kind::ipv6;
    peer_.port = *port;
    return may_send(peer_) ? result<void>{} : errc::protocol_violation;
}

// Version 2.

result<void> proxy_header::take_head() {
    if (received_.size() < head_bytes) {
        wanted_bytes_ = head_bytes - received_.size();
        return {};
    }
    const unsigned command = byte_at(received_, 12);
    const unsigned family = byte_at(received_, 13) >> 4;
    const unsigned protocol = byte_at(received_, 13) & 0xf;
    const std::size_t length = byte_at(received_, 14) << 8 | byte_at(received_, 15);
    if (command != local_command && command != proxy_command) {
        return errc::protocol_violation;
    }
    if (head_bytes + length > v2_bytes_max_) {
        return errc::message_too_large;
    }
    skipped_bytes_ = length;
    // Addresses without a connection count as none, and with the command LOCAL any addresses may
    // follow.
    std::size_t wanted = 0;
    if (command == proxy_command) {
        if (family > unix_path || protocol > datagrams) {
            return errc::protocol_violation;
        }
        wanted = protocol == connected ? address_bytes(family) : 0;
        if (wanted > length) {
            return errc::protocol_violation;
        }
    }
    version_ = wanted != 0 ? version::two_addresses : version::two_rest;
    wanted_bytes_ = wanted != 0 ? wanted : skipped_bytes_;
    return {};
}

result<void> proxy_header::take_addresses() {
    const unsigned family = byte_at(received_, 13) >> 4;
    const std::size_t wanted = head_bytes + address_bytes(family);
    if (received_.size() < wanted) {
        wanted_bytes_ = wanted - received_.size();
        return {};
    }
    const char* const source = received_.data() + head_bytes;
    if (family == unix_path) {
        peer_.what = proxied_peer::kind::unix_socket;
        peer_.path.assign(source, unix_path_bytes);
        const std::size_t first = peer_.path[0] == '\0' ? 1 : 0; // Abstract names begin with a
                                                                 // zero.
        peer_.path.resize(std::min(peer_.path.find('\0', first), unix_path_bytes));
        if (!is_printable(peer_.path)) {
            return errc::protocol_violation;
        }
    } else {
        const std::size_t host_bytes = family == internet_4 ? 4 : 16;
        peer_.what = family == internet_4 ? proxied_peer::kind::ipv4 : proxied_peer::kind::ipv6;
        std::memcpy(peer_.host.data(), source, host_bytes);
        const auto* const port = reinterpret_cast<const std::byte*>(source) + 2 * host_bytes;
        peer_.port = load_big_endian<std::uint16_t>(port);
        if (!may_send(peer_)) {
            return errc::protocol_violation;
        }
    }
    version_ = version::two_rest;
    skipped_bytes_ -= address_bytes(family);
    wanted_bytes_ = skipped_bytes_;
    return {};
}

} // namespace zlink::wire
