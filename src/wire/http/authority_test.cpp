// SPDX-License-Identifier: MPL-2.0
#include "wire/http/authority.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace zlink::wire::http;

TEST_SUITE("wire/http") {

    TEST_CASE("authority: is a name or an address, with or without a port") {
        for (const char* text :
             {"localhost", "example.org", "EXAMPLE.org:8080", "example.org:", "example.org:65535",
              "192.0.2.1", "192.0.2.1:80", "[::1]", "[2001:db8::1]:443", "[::ffff:192.0.2.1]",
              "[::1]:", "a_b-c~d", "caf%C3%a9", "a!$&'()*+,;=b", "xn--caf-dma"}) {
            CAPTURE(text);
            CHECK(is_authority(text));
        }
    }

    TEST_CASE("authority: nothing else is one") {
        for (const char* text :
             {"",           ":80",       "a:65536",      "a:-1",    "a:+1",   "a:80x",  "a:8 0",
              "a:80:80",    "user@host", "user:pw@host", "a/b",     "a?b",    "a#b",    "a b",
              " a",         "a ",        "a\tb",         "a\\b",    "a\"b",   "a<b",    "a[b",
              "a%",         "a%4",       "a%4g",         "%",       "[",      "[]",     "[::1",
              "::1",        "[::1]x",    "[::1]80",      "[::1%1]", "[1.2]",  "[v1.a]", "[::g]",
              "[[::1]]",    "a\x80",     "a\x7f",        "a,b@c",   "[::1]]", "a:0x50", "http://a",
              "[::1]:65536"}) {
            CAPTURE(text);
            CHECK(!is_authority(text));
        }
        CHECK(!is_authority(std::string_view{"a\0b", 3}));
        CHECK(!is_authority(std::string_view{"[::1\0]", 6}));
        CHECK(!is_authority("[" + std::string(100, '0') + "::1]"));
    }

} // TEST_SUITE
