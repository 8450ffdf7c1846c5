// SPDX-License-Identifier: MPL-2.0
#include "wire/http/forwarded.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <string>

using namespace zlink;
using namespace zlink::wire::http;

namespace {

trusted_proxies trusted() {
    std::string_view refused;
    return *decode_trusted_proxies("10.0.0.0/8,2001:db8:f::/48,unix", refused);
}

/// The client as text with its port; "none" if there is none.
std::string client(const forwarding_fields& said) {
    const auto found = find_client(said, trusted());
    if (!found) {
        return "none";
    }
    char text[INET6_ADDRSTRLEN];
    inet_ntop(found->host_bytes == 4 ? AF_INET : AF_INET6, found->host.data(), text, sizeof text);
    return std::string{text} + (found->port != 0 ? " " + std::to_string(found->port) : "");
}
std::string client_of_x(std::string_view list) {
    return client({.x_forwarded_for = list, .x_forwarded_proto = {}, .forwarded = {}});
}
std::string client_of_standard(std::string_view list) {
    return client({.x_forwarded_for = {}, .x_forwarded_proto = {}, .forwarded = list});
}

} // namespace

TEST_CASE("forwarded: the client is the last address that is not a trusted proxy's") {
    CHECK(client_of_x("192.0.2.1") == "192.0.2.1");
    CHECK(client_of_x("192.0.2.1, 10.0.0.2") == "192.0.2.1");
    CHECK(client_of_x("192.0.2.9, 192.0.2.1 ,10.0.0.2,\t10.0.0.3") == "192.0.2.1");
    CHECK(client_of_x("127.0.0.1, 192.0.2.1") == "192.0.2.1");
    CHECK(client_of_x("192.0.2.1, unix:") == "192.0.2.1");
    CHECK(client_of_x("2001:db8::1, 2001:db8:f::2") == "2001:db8::1");
}

TEST_CASE("forwarded: the client is the first address if all are trusted") {
    CHECK(client_of_x("10.0.0.1, 10.0.0.2") == "10.0.0.1");
    CHECK(client_of_x("unix:, 10.0.0.2") == "none");
}

TEST_CASE("forwarded: a port is taken, and brackets") {
    CHECK(client_of_x("192.0.2.1:8080") == "192.0.2.1 8080");
    CHECK(client_of_x("[2001:db8::1]") == "2001:db8::1");
    CHECK(client_of_x("[2001:db8::1]:443") == "2001:db8::1 443");
}

TEST_CASE("forwarded: a malformed address counts for nothing") {
    for (const char* const list : {"",
                                   " ",
                                   ",",
                                   "192.0.2.1,",
                                   "192.0.2",
                                   "192.0.2.1:",
                                   "192.0.2.1:x",
                                   "192.0.2.1:65536",
                                   "unknown",
                                   "_hidden",
                                   "[2001:db8::1",
                                   "[192.0.2.1]",
                                   "2001:db8::1]",
                                   "[2001:db8::1]80",
                                   "[::1]:",
                                   "fe80::1%lo",
                                   "192.0.2.1 192.0.2.2",
                                   "192.0.2.1, x, 10.0.0.2",
                                   "192.0.2.1, , 10.0.0.2",
                                   "\"192.0.2.1\"",
                                   "unix",
                                   "1234567890123456789012345678901234567890123456789"}) {
        CAPTURE(list);
        CHECK(client_of_x(list) == "none");
    }
}

TEST_CASE("forwarded: what the client has written before its address does not matter") {
    CHECK(client_of_x("\"x, [,192.0.2.1") == "192.0.2.1");
    CHECK(client_of_x(", ,192.0.2.1") == "192.0.2.1");
}

TEST_CASE("forwarded: more trusted proxies than the limit count for nothing") {
    std::string list = "192.0.2.1";
    for (int count = 0; count < 31; ++count) {
        list += ",10.0.0.1";
    }
    CHECK(client_of_x(list) == "192.0.2.1");
    CHECK(client_of_x(list + ",10.0.0.1") == "none");
}

TEST_CASE("forwarded: the standard's field has parameters, and quotes") {
    CHECK(client_of_standard("for=192.0.2.1") == "192.0.2.1");
    CHECK(client_of_standard("For=\"192.0.2.1:80\";proto=https;by=10.0.0.9") == "192.0.2.1 80");
    CHECK(client_of_standard("for=192.0.2.9, proto=http; for=\"[2001:db8::1]:99\", for=10.0.0.1") ==
          "2001:db8::1 99");
    CHECK(client_of_standard("for=\"192.0.2.1:_port\"") == "192.0.2.1");
    CHECK(client_of_standard("for=192.0.2.1;host=\"a,b;for=x\\\"\"") == "192.0.2.1");
}

TEST_CASE("forwarded: the standard's field counts for nothing if it is malformed, or hides") {
    for (const char* const list :
         {"", "192.0.2.1", "for=", "for=unknown", "for=_hidden", "for=2001:db8::1",
          "for=\"2001:db8::1\"", "for=192.0.2.1:80", "for=\"192.0.2.1",
          "for=192.0.2.1;for=192.0.2.2", "by=192.0.2.1", "for=192.0.2.1;", "for =192.0.2.1",
          "for=192.0.2.1,", "=192.0.2.1", "for=192.0.2.1;proto=http;proto=https",
          "for=\"unix:\""}) {
        CAPTURE(list);
        CHECK(client_of_standard(list) == "none");
    }
}

TEST_CASE("forwarded: both fields have to name the same client") {
    CHECK(client({.x_forwarded_for = "192.0.2.1",
                  .x_forwarded_proto = {},
                  .forwarded = "for=192.0.2.1"}) == "192.0.2.1");
    CHECK(client({.x_forwarded_for = "192.0.2.1",
                  .x_forwarded_proto = {},
                  .forwarded = "for=192.0.2.2"}) == "none");
    CHECK(client({.x_forwarded_for = "x", .x_forwarded_proto = {}, .forwarded = "for=192.0.2.2"}) ==
          "none");
    CHECK(client({.x_forwarded_for = "192.0.2.1", .x_forwarded_proto = {}, .forwarded = "x"}) ==
          "none");
    CHECK(client({}) == "none");
}

TEST_CASE("forwarded: the scheme is http or https") {
    const auto of_x = [](std::string_view value) {
        return std::string{
            find_scheme({.x_forwarded_for = {}, .x_forwarded_proto = value, .forwarded = {}})};
    };
    const auto of_standard = [](std::string_view value) {
        return std::string{
            find_scheme({.x_forwarded_for = {}, .x_forwarded_proto = {}, .forwarded = value})};
    };
    CHECK(of_x("https") == "https");
    CHECK(of_x(" HTTP ") == "http");
    CHECK(of_x("https, http").empty());
    CHECK(of_x("gopher").empty());
    CHECK(of_standard("for=192.0.2.1;proto=http, for=10.0.0.1;proto=https") == "https");
    CHECK(of_standard("proto=ftp").empty());
    CHECK(of_standard("proto=\"").empty());
    CHECK(find_scheme({}).empty());
}
