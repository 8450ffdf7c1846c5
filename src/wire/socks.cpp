// SPDX-License-Identifier: MPL-2.0
#include "wire/socks.hpp"

#include <arpa/inet.h>
#include <array>
#include <initializer_list>
#include <utility>

namespace zlink::wire {

namespace {

constexpr std::size_t text_bytes_max = 255;

constexpr unsigned socks_version = 5;
constexpr unsigned credentials_version = 1;
constexpr unsigned no_authentication = 0;
constexpr unsigned by_credentials = 2;
constexpr unsigned command_connect = 1;
constexpr unsigned reply_succeeded = 0;
constexpr unsigned reply_refused = 5;

enum address_kind : unsigned { ipv4 = 1, name = 3, ipv6 = 4 };

constexpr std::size_t port_bytes = 2;

void append(secret_bytes& out, std::initializer_list<unsigned> data) {
    for (const unsigned each : data) {
        out.push_back(static_cast<std::byte>(each));
    }
}

void append_text(secret_bytes& out, std::string_view text) {
    const auto data = std::as_bytes(std::span{text});
    append(out, {static_cast<unsigned>(text.size())});
    out.insert(out.end(), data.begin(), data.end());
}

unsigned number(std::byte byte) noexcept {
    return std::to_integer<unsigned>(byte);
}

} // namespace

result<socks_exchange> socks_exchange::make(socks_request wanted) {
    if (wanted.host.empty() || wanted.host.size() > text_bytes_max ||
        wanted.username.size() > text_bytes_max || wanted.password.text().size() > text_bytes_max) {
        return errc::invalid_argument;
    }
    return socks_exchange{std::move(wanted)};
}

socks_exchange::socks_exchange(socks_request wanted) : wanted_(std::move(wanted)) {
    if (wanted_.username.empty()) {
        append(outgoing_, {socks_version, 1, no_authentication});
    } else {
        append(outgoing_, {socks_version, 2, no_authentication, by_credentials});
    }
}

void socks_exchange::expect(step next, std::size_t bytes) noexcept {
    step_ = next;
    wanted_bytes_ = bytes;
}

result<void> socks_exchange::on_received(std::span<const std::byte> data) {
    secret_bytes{}.swap(outgoing_);
    switch (step_) {
    case step::greeting:
        if (number(data[0]) != socks_version) {
            return errc::protocol_violation;
        }
        return on_method(std::to_integer<std::uint8_t>(data[1]));
    case step::credentials:
        if (number(data[0]) != credentials_version) {
            return errc::protocol_violation;
        }
        if (number(data[1]) != 0) {
            return errc::not_supported;
        }
        send_request();
        return {};
    case step::reply:
        return on_reply(data);
    case step::address:
        expect(step::connected, 0);
        return {};
    case step::connected:
        break;
    }
    return errc::protocol_violation;
}

result<void> socks_exchange::on_method(std::uint8_t method) {
    if (method == no_authentication) {
        send_request();
        return {};
    }
    if (method == by_credentials && !wanted_.username.empty()) {
        send_credentials();
        return {};
    }
    return errc::not_supported;
}

void socks_exchange::send_credentials() {
    append(outgoing_, {credentials_version});
    append_text(outgoing_, wanted_.username);
    append_text(outgoing_, wanted_.password.text());
    expect(step::credentials, 2);
}

//   +-----+---------+----------+--------------+---------+------+
//   | ver | command | reserved | address kind | address | port |   port: 2 octets, big-endian
//   +-----+---------+----------+--------------+---------+------+
//   (RFC 1928, 4)
void socks_exchange::send_request() {
    append(outgoing_, {socks_version, command_connect, 0});
    std::array<std::byte, 16> address;
    if (inet_pton(AF_INET, wanted_.host.c_str(), address.data()) == 1) {
        append(outgoing_, {ipv4});
        outgoing_.insert(outgoing_.end(), address.begin(), address.begin() + 4);
    } else if (inet_pton(AF_INET6, wanted_.host.c_str(), address.data()) == 1) {
        append(outgoing_, {ipv6});
        outgoing_.insert(outgoing_.end(), address.begin(), address.end());
    } else {
        append(outgoing_, {name});
        append_text(outgoing_, wanted_.host);
    }
    append(outgoing_, {static_cast<unsigned>(wanted_.port >> 8), wanted_.port & 0xffU});
    // The reply up to the first octet of its address, which is the length of a name.
    expect(step::reply, 5);
}

result<void> socks_exchange::on_reply(std::span<const std::byte> data) {
    if (number(data[0]) != socks_version) {
        return errc::protocol_violation;
    }
    if (const unsigned reply = number(data[1]); reply != reply_succeeded) {
        return reply == reply_refused ? errc::connection_refused : errc::host_unreachable;
    }
    switch (number(data[3])) {
    case ipv4:
        expect(step::address, 4 - 1 + port_bytes);
        return {};
    case ipv6:
        expect(step::address, 16 - 1 + port_bytes);
        return {};
    case name:
        expect(step::address, number(data[4]) + port_bytes);
        return {};
    default:
        return errc::protocol_violation;
    }
}

} // namespace zlink::wire
