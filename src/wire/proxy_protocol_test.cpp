// SPDX-License-Identifier: MPL-2.0
#include "wire/proxy_protocol.hpp"

#include "testing/bytes.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>

using namespace zlink;
using testing::hex;
using wire::proxied_peer;
using wire::proxy_header;

namespace {

constexpr std::size_t bytes_max = 600;

/// The outcome of reading.
struct outcome {
    bool is_whole = false;
    errc error{};
    std::size_t bytes = 0; ///< Octets that were taken.
    proxied_peer peer;
};

/// Reads as many octets as the header wants, at most `piece_bytes` at a time.
outcome read(std::span<const std::byte> input, std::size_t piece_bytes = SIZE_MAX) {
    proxy_header header{bytes_max};
    outcome found;
    while (header.wanted_bytes() != 0 && found.bytes < input.size()) {
        const std::size_t bytes =
            std::min({header.wanted_bytes(), piece_bytes, input.size() - found.bytes});
        const result<void> taken = header.on_received(input.subspan(found.bytes, bytes));
        found.bytes += bytes;
        if (!taken) {
            found.error = taken.error();
            return found;
        }
    }
    found.is_whole = header.wanted_bytes() == 0;
    found.peer = header.peer();
    return found;
}

outcome read_text(std::string_view text, std::size_t piece_bytes = SIZE_MAX) {
    return read(testing::bytes_of(text), piece_bytes);
}

constexpr const char* signature = "0d0a0d0a000d0a515549540a";

std::vector<std::byte> version_two(std::string_view rest) {
    return hex(std::string(signature) + " " + std::string(rest));
}

} // namespace

TEST_SUITE("proxy protocol") {

    TEST_CASE("proxy protocol: version 1 names the peer") {
        struct {
            std::string_view line;
            proxied_peer::kind what;
            const char* host;
            std::uint16_t port;
        } const lines[] = {
            {"PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n", proxied_peer::kind::ipv4,
             "c0000201 00*12", 56324},
            {"PROXY TCP4 0.0.0.1 255.255.255.255 0 65535\r\n", proxied_peer::kind::ipv4,
             "000000 01 00*12", 0},
            {"PROXY TCP4 1.1.1.1 1.1.1.1 1 1\r\n", proxied_peer::kind::ipv4, "01*4 00*12", 1},
            {"PROXY TCP6 2001:db8::1 ::1 65535 1\r\n", proxied_peer::kind::ipv6,
             "20010db8 00*11 01", 65535},
            {"PROXY TCP6 ::1 :: 1 1\r\n", proxied_peer::kind::ipv6, "00*15 01", 1},
            {"PROXY TCP6 feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
             "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
             proxied_peer::kind::ipv6, "fe ff*15", 65535},
            {"PROXY UNKNOWN\r\n", proxied_peer::kind::unknown, "00*16", 0},
            {"PROXY UNKNOWN any thing, 1 2 3 4\r\n", proxied_peer::kind::unknown, "00*16", 0},
        };
        for (const auto& each : lines) {
            for (const std::size_t piece_bytes : {std::size_t{1}, std::size_t{3}, SIZE_MAX}) {
                CAPTURE(each.line);
                const outcome found = read_text(std::string(each.line) + "the peer's", piece_bytes);
                CHECK(found.is_whole);
                CHECK(found.bytes == each.line.size());
                CHECK(found.peer.what == each.what);
                CHECK(std::ranges::equal(found.peer.host, hex(each.host)));
                CHECK(found.peer.port == each.port);
            }
        }
    }

    TEST_CASE("proxy protocol: version 1 must be exact") {
        for (const std::string_view line : {
                 "GET / HTTP/1.1\r\n",
                 "proxy TCP4 1.1.1.1 1.1.1.1 1 1\r\n",
                 "PROXY  TCP4 1.1.1.1 1.1.1.1 1 1\r\n",
                 "PROXY TCP4  1.1.1.1 1.1.1.1 1 1\r\n",
                 "PROXY TCP4 1.1.1.1 1.1.1.1 1\r\nmore to read",
                 "PROXY TCP4 1.1.1.1 1.1.1.1 1 1 \r\n",
                 "PROXY TCP4 1.1.1.1 1.1.1.1 1 1 1\r\n",
                 "PROXY TCP4 1.1.1.1 1.1.1.1 65536 1\r\n",
                 "PROXY TCP4 1.1.1.1 1.1.1.1 1 65536\r\n",
                 "PROXY TCP4 1.1.1.1 1.1.1.1 -1 1\r\n",
                 "PROXY TCP4 1.1.1.1 1.1.1.1 01 1\r\n",
                 "PROXY TCP4 1.1.1.1 1.1.1.1 0x1 1\r\n",
                 "PROXY TCP4 1.1.1 1.1.1.1 1 1\r\n",
                 "PROXY TCP4 1.1.1.256 1.1.1.1 1 1\r\n",
                 "PROXY TCP4 01.1.1.1 1.1.1.1 1 1\r\n",
                 "PROXY TCP4 ::1 ::1 1 1\r\n",
                 "PROXY TCP6 1.1.1.1 1.1.1.1 1 1\r\n",
                 "PROXY TCP6 :::1 ::1 1 1\r\n",
                 "PROXY TCP5 1.1.1.1 1.1.1.1 1 1\r\n",
                 "PROXY UNKNOWNS\r\n",
                 "PROXY UNKNOWN a\nb\r\n",
                 "PROXY \r\n",
             }) {
            CAPTURE(line);
            const outcome found = read_text(line);
            CHECK(!found.is_whole);
            CHECK(found.error == errc::protocol_violation);
        }
        CHECK(read_text(std::string("PROXY TCP4 1.1.1.1\0 1.1.1.1 1 1\r\n", 33)).error ==
              errc::protocol_violation);
    }

    TEST_CASE("proxy protocol: version 1 ends after 107 bytes") {
        const std::string begin = "PROXY UNKNOWN ";
        const std::string longest = begin + std::string(107 - 2 - begin.size(), 'x') + "\r\n";
        CHECK(read_text(longest).is_whole);
        const std::string longer = begin + std::string(107 - 1 - begin.size(), 'x') + "\r\n";
        for (const std::size_t piece_bytes : {std::size_t{1}, SIZE_MAX}) {
            const outcome found = read_text(longer, piece_bytes);
            CHECK(found.error == errc::message_too_large);
            CHECK(found.bytes <= 107);
        }
    }

    TEST_CASE("proxy protocol: version 2 names the peer") {
        const auto is_host = [](const outcome& found, const char* host) {
            return std::ranges::equal(found.peer.host, hex(host));
        };
        for (const std::size_t piece_bytes : {std::size_t{1}, std::size_t{5}, SIZE_MAX}) {
            const auto read_two = [&](std::string_view rest) {
                const auto input = version_two(rest);
                const outcome found = read(input, piece_bytes);
                CHECK(found.is_whole);
                CHECK(found.bytes == input.size());
                return found;
            };
            const outcome v4 = read_two("21 11 000c c0000201 c6336407 dc04 01bb");
            CHECK(v4.peer.what == proxied_peer::kind::ipv4);
            CHECK(is_host(v4, "c0000201 00*12"));
            CHECK(v4.peer.port == 56324);

            const outcome with_fields = read_two("21 11 0013 c0000201 c6336407 dc04 01bb 03 0004 "
                                                 "01020304");
            CHECK(with_fields.peer.what == proxied_peer::kind::ipv4);

            const outcome v6 = read_two("21 21 0024 20010db8 00*11 01 00*15 01 ffff 0001");
            CHECK(v6.peer.what == proxied_peer::kind::ipv6);
            CHECK(is_host(v6, "20010db8 00*11 01"));
            CHECK(v6.peer.port == 65535);

            const outcome by_path = read_two("21 31 00d8 '/run/x' 00*102 '/run/y' 00*102");
            CHECK(by_path.peer.what == proxied_peer::kind::unix_socket);
            CHECK(by_path.peer.path == "/run/x");
            CHECK(read_two("21 31 00d8 'p'*108 'q'*108").peer.path == std::string(108, 'p'));
            CHECK(read_two("21 31 00d8 00 'name' 00*103 00*108").peer.path ==
                  std::string("\0name", 5));
            CHECK(read_two("21 31 00d8 00*216").peer.path == std::string(1, '\0'));
        }
    }

    TEST_CASE("proxy protocol: a proxy of version 2 may speak for itself, or name nobody") {
        for (const char* const rest : {
                 "20 00 0000",                             // LOCAL.
                 "20 11 000c c0000201 c6336407 dc04 01bb", // Its addresses are ignored,
                 "20 ff 0002 ffff",                        // whatever they are.
                 "21 00 0000",                             // UNSPEC.
                 "21 00 0005 0102030405",                  //
                 "21 10 000c 00*12",                       // No protocol.
                 "21 12 000c c0000201 c6336407 dc04 01bb", // Datagrams.
                 "21 01 0000",
             }) {
            CAPTURE(rest);
            const auto input = version_two(rest);
            const outcome found = read(input);
            CHECK(found.is_whole);
            CHECK(found.bytes == input.size());
            CHECK(found.peer.what == proxied_peer::kind::unknown);
        }
    }

    TEST_CASE("proxy protocol: version 2 must be exact") {
        for (const char* const rest : {
                 "11 11 000c 00*12",  // Another version,
                 "31 11 000c 00*12",  //
                 "22 11 000c 00*12",  // command,
                 "2f 11 000c 00*12",  //
                 "21 41 000c 00*12",  // family,
                 "21 f1 000c 00*12",  //
                 "21 13 000c 00*12",  // or protocol.
                 "21 11 000b 00*11",  // No room for the addresses.
                 "21 21 0023 00*35",  //
                 "21 31 00d7 00*215", //
             }) {
            CAPTURE(rest);
            const outcome found = read(version_two(rest));
            CHECK(found.error == errc::protocol_violation);
            CHECK(found.bytes <= 16);
        }
        CHECK(read(hex("0d0a0d0a000d0a515549540b 20 00 0000")).error == errc::protocol_violation);
    }

    TEST_CASE("proxy protocol: a path that would tell more than a path is refused") {
        const auto error_of = [](const std::string& path) {
            std::string name = path;
            name.resize(108, '\0');
            std::vector<std::byte> input = version_two("21 31 00d8");
            for (const char byte : name + std::string(108, '\0')) {
                input.push_back(static_cast<std::byte>(byte));
            }
            const outcome found = read(input);
            CHECK((found.error != errc{} || found.peer.path.size() <= path.size() + 1));
            return found.error;
        };
        for (int byte = 1; byte < 0x80; ++byte) {
            CAPTURE(byte);
            const bool is_control = byte < 0x20 || byte == 0x7f;
            const std::string inside = "/run/" + std::string(1, static_cast<char>(byte)) + "x";
            const errc expected = is_control ? errc::protocol_violation : errc{};
            CHECK(error_of(inside) == expected);
            CHECK(error_of(std::string(1, '\0') + inside) == expected);
        }
        CHECK(error_of("/run/x\nTls-Subject: CN=admin") == errc::protocol_violation);
        CHECK(error_of("/run/\xff") == errc::protocol_violation);
        CHECK(error_of("/run/\xc3") == errc::protocol_violation);
        CHECK(error_of("/run/\xc3\xa9") == errc{});
        CHECK(error_of("@name") == errc::protocol_violation); // The form of an abstract name.
        CHECK(error_of(std::string("\0@name", 6)) == errc{});
    }

    TEST_CASE("proxy protocol: an address at which nobody can be is refused") {
        for (const char* const rest : {
                 "21 11 000c 00000000 c6336407 dc04 01bb",
                 "21 11 000c ffffffff c6336407 dc04 01bb",
                 "21 11 000c e0000001 c6336407 dc04 01bb",
                 "21 11 000c efffffff c6336407 dc04 01bb",
                 "21 21 0024 00*16 00*15 01 ffff 0001",
                 "21 21 0024 ff02 00*13 01 00*15 01 ffff 0001",
                 "21 21 0024 00*10 ffff 00000000 00*15 01 ffff 0001",
                 "21 21 0024 00*10 ffff e0000001 00*15 01 ffff 0001",
             }) {
            CAPTURE(rest);
            CHECK(read(version_two(rest)).error == errc::protocol_violation);
        }
        CHECK(read(version_two("21 11 000c dfffffff c6336407 dc04 01bb")).error == errc{});
        CHECK(read(version_two("21 11 000c f0000000 c6336407 dc04 01bb")).error == errc{});
        CHECK(read(version_two("21 21 0024 00*10 ffff 0a000001 00*15 01 ffff 0001")).error ==
              errc{});
        for (const char* const line : {
                 "PROXY TCP4 0.0.0.0 198.51.100.7 56324 443\r\n",
                 "PROXY TCP4 255.255.255.255 198.51.100.7 56324 443\r\n",
                 "PROXY TCP4 224.0.0.1 198.51.100.7 56324 443\r\n",
                 "PROXY TCP6 :: 2001:db8::1 56324 443\r\n",
                 "PROXY TCP6 ff02::1 2001:db8::1 56324 443\r\n",
             }) {
            CAPTURE(line);
            CHECK(read_text(line).error == errc::protocol_violation);
        }
    }

    TEST_CASE("proxy protocol: version 2 ends at the limit, before it is read") {
        // 16 octets of head.
        CHECK(read(version_two("21 00 0248 00*584")).is_whole);
        const outcome above = read(version_two("21 00 0249 00*585"));
        CHECK(above.error == errc::message_too_large);
        CHECK(above.bytes == 16);
        CHECK(read(version_two("21 11 ffff 00*16")).error == errc::message_too_large);
    }

    TEST_CASE("proxy protocol: waits for the last byte") {
        const std::string line = "PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n";
        for (std::size_t bytes = 0; bytes < line.size(); ++bytes) {
            const outcome found = read_text(line.substr(0, bytes));
            CHECK(!found.is_whole);
            CHECK(found.error == errc{});
        }
        const auto binary = version_two("21 11 0013 c0000201 c6336407 dc04 01bb 03 0004 01020304");
        for (std::size_t bytes = 0; bytes < binary.size(); ++bytes) {
            const outcome found = read(std::span{binary}.first(bytes));
            CHECK(!found.is_whole);
            CHECK(found.error == errc{});
        }
    }
}
