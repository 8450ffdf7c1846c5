// SPDX-License-Identifier: MPL-2.0
#include "wire/http/response_head.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace zlink;
using namespace zlink::wire::http;

TEST_SUITE("wire/http") {

    TEST_CASE("response head: is appended to the buffer") {
        std::string out = "before";
        response_head head{out, 206};
        head.add_date("Date", std::chrono::sys_seconds{std::chrono::seconds{784111777}});
        head.add_number("Content-Length", 18446744073709551615U);
        CHECK(head.add("Content-Type", "text/html; charset=utf-8"));
        CHECK(head.add("X-Empty", ""));
        head.end();
        CHECK(out == "beforeHTTP/1.1 206 Partial Content\r\n"
                     "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                     "Content-Length: 18446744073709551615\r\n"
                     "Content-Type: text/html; charset=utf-8\r\n"
                     "X-Empty: \r\n\r\n");
    }

    TEST_CASE("response head: a status without a known reason has none") {
        std::string out;
        response_head head{out, 299};
        CHECK(out == "HTTP/1.1 299 \r\n");
        CHECK(reason_of(404) == "Not Found");
        CHECK(reason_of(299).empty());
    }

    TEST_CASE("response head: a value that could end its line is refused") {
        std::string out;
        response_head head{out, 200};
        const std::string before = out;
        for (const std::string_view value :
             {"\r\nA: b", "a\r", "a\nb", "\n", "\x01", "a\x7f", "a\x1b[1m"}) {
            CAPTURE(value);
            const auto added = head.add("Location", value);
            CHECK((!added && added.error() == errc::invalid_argument));
        }
        CHECK(!head.add("Location", std::string_view{"a\0b", 3}));
        for (const std::string_view name : {"", "a b", "a:", "a\r\n", "\x80", "a\tb"}) {
            CAPTURE(name);
            CHECK(!head.add(name, "a"));
        }
        CHECK(out == before);
        CHECK(head.add("ETag", "\"a\tb \xc3\xa9\""));
        CHECK(out == before + "ETag: \"a\tb \xc3\xa9\"\r\n");
    }

    TEST_CASE("location: every octet of a path is escaped that could be something else") {
        CHECK(percent_encoded("/video/a-b_c~d.mp4") == "/video/a-b_c~d.mp4");
        CHECK(percent_encoded("/a b") == "/a%20b");
        CHECK(percent_encoded("/a?b#c%d") == "/a%3Fb%23c%25d");
        CHECK(percent_encoded("/a\r\nb") == "/a%0D%0Ab");
        CHECK(percent_encoded("/<\"'&>") == "/%3C%22%27%26%3E");
        CHECK(percent_encoded("/caf\xc3\xa9") == "/caf%C3%A9");
        CHECK(percent_encoded("a:b") == "a%3Ab");
        CHECK(percent_encoded("/a\\b") == "/a%5Cb");
        CHECK(percent_encoded("/a//b/") == "/a//b/");
        CHECK(percent_encoded("//evil.org/") == "/%2Fevil.org/");
        CHECK(percent_encoded("").empty());
        CHECK(percent_encoded(std::string_view{"\0", 1}) == "%00");
    }

    TEST_CASE("HTML: characters that could be markup are escaped") {
        CHECK(html_escaped("<a href=\"x\">'&amp;'</a>") ==
              "&lt;a href=&quot;x&quot;&gt;&#39;&amp;amp;&#39;&lt;/a&gt;");
        CHECK(html_escaped("plain \xc3\xa9") == "plain \xc3\xa9");
    }

} // TEST_SUITE
