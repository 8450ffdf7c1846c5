// SPDX-License-Identifier: MPL-2.0
// Each body is decoded whole, and in pieces of every size: with the same result.
#include "wire/http/chunked_body.hpp"

#include "base/limits.hpp"
#include "testing/bytes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>

using namespace zlink;
using namespace zlink::wire::http;
using progress = chunked_body::progress;
using testing::bytes_of;
using testing::text;

namespace {

struct outcome {
    progress state = progress::incomplete;
    int status = 0;
    std::string content;
    std::string rest; ///< Octets behind the body.

    friend bool operator==(const outcome&, const outcome&) = default;
};

outcome decoded(std::string_view sent, std::size_t piece_bytes, std::uint64_t content_bytes_max) {
    chunked_body body{content_bytes_max};
    outcome found;
    while (!sent.empty() && body.state() == progress::incomplete) {
        auto piece = bytes_of(sent.substr(0, piece_bytes));
        const std::size_t given = piece.size();
        found.content += text(body.decode(piece));
        sent.remove_prefix(given - piece.size());
    }
    found.state = body.state();
    found.status = body.why_refused().status;
    if (found.state == progress::complete) {
        found.rest = sent;
        CHECK(found.content.size() == body.content_bytes());
    }
    CHECK((found.status != 0) == (found.state == progress::refused));
    return found;
}

outcome decoded(std::string_view sent, std::uint64_t content_bytes_max = 100) {
    outcome whole = decoded(sent, SIZE_MAX, content_bytes_max);
    for (std::size_t bytes = 1; bytes < std::min(sent.size(), std::size_t{50}); ++bytes) {
        if (decoded(sent, bytes, content_bytes_max) != whole) {
            FAIL_CHECK("differs in pieces of " << bytes);
        }
    }
    return whole;
}

} // namespace

TEST_SUITE("wire/http") {

    TEST_CASE("chunked body: is decoded up to its end") {
        const struct {
            const char* sent;
            const char* content;
            const char* rest;
        } rows[] = {
            {"0\r\n\r\n", "", ""},
            {"5\r\nhello\r\n0\r\n\r\n", "hello", ""},
            {"5\r\nhello\r\n0\r\n\r\nGET", "hello", "GET"},
            {"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "abcde", ""},
            {"A\r\n0123456789\r\n00a\r\n0123456789\r\n000\r\n\r\n", "01234567890123456789", ""},
            {"4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n", ""},
            {"1;a\r\nx\r\n0\r\n\r\n", "x", ""},
            {"1 ; a = \"b;c\" ;d\r\nx\r\n0;e\r\n\r\n", "x", ""},
            {"1\t;a\r\nx\r\n0\r\n\r\n", "x", ""},
            {"1\r\nx\r\n0\r\nA: b\r\nC:\r\n\r\nGET", "x", "GET"},
            {"0\r\nA: b\tc\x80\r\n\r\n", "", ""},
            {"0000000000000001\r\nx\r\n0\r\n\r\n", "x", ""},
        };
        for (const auto& row : rows) {
            CAPTURE(row.sent);
            CHECK(decoded(row.sent) == outcome{progress::complete, 0, row.content, row.rest});
        }
    }

    TEST_CASE("chunked body: is refused if it is malformed") {
        for (const char* sent : {
                 "\r\n",
                 "g\r\n",
                 ";a\r\n",
                 " 1\r\n",
                 "+1\r\n",
                 "-1\r\n",
                 "0x1\r\n",
                 "1g\r\n",
                 "1 \r\n",
                 "1 1\r\n",
                 "1,1\r\n",
                 "1\n",
                 "1\rx",
                 "1\r\r\n",
                 "1\r\nx\n",
                 "1\r\nx\rx",
                 "1\r\nxy\r\n",
                 "1\r\nx0\r\n",
                 "1\r\nx\r\n\r\n",
                 "1;a\n",
                 "1;a\rb\r\n",
                 "1;a=\"\n\"\r\n",
                 "1;a\x01\r\n",
                 "1;\x7f\r\n",
                 "1\x0b;a\r\n",
                 "0\n",
                 "0\r\n\n",
                 "0\r\n\rx",
                 "0\r\n A: b\r\n",
                 "0\r\nA : b\r\n",
                 "0\r\nA\r\n",
                 "0\r\n: b\r\n",
                 "0\r\nA: b\n",
                 "0\r\nA: b\rc",
                 "0\r\nA: b\r\n c\r\n",
                 "0\r\nA: \x01\r\n",
                 "0\r\nA(: b\r\n",
                 "00000000000000001\r\n",
                 "ffffffffffffffff0\r\n",
                 "10000000000000000\r\n",
             }) {
            CAPTURE(sent);
            const outcome found = decoded(sent);
            CHECK(found.state == progress::refused);
            CHECK(found.status == 400);
        }
        CHECK(decoded(std::string_view{"1;\0\r\n", 5}).status == 400);
        CHECK(decoded(std::string_view{"\0", 1}).status == 400);
    }

    TEST_CASE("chunked body: the content has a maximum, checked before it arrives") {
        CHECK(decoded("5\r\nhello\r\n0\r\n\r\n", 5).state == progress::complete);
        CHECK(decoded("6\r\n", 5) == outcome{progress::refused, 413, "", ""});
        CHECK(decoded("3\r\nabc\r\n3\r\n", 5) == outcome{progress::refused, 413, "abc", ""});
        CHECK(decoded("1\r\n", 0).status == 413);
        CHECK(decoded("0\r\n\r\n", 0).state == progress::complete);
        CHECK(decoded("ffffffffffffffff\r\n", 5).status == 413);
        CHECK(decoded("1\r\na\r\nffffffffffffffff\r\n", UINT64_MAX).status == 413);
        CHECK(decoded("ffffffffffffffff\r\na", UINT64_MAX) ==
              outcome{progress::incomplete, 0, "a", ""});
    }

    TEST_CASE("chunked body: chunk extensions have a maximum in total") {
        const std::string half =
            ";" + std::string(limits::http_chunk_extensions_bytes_max / 2 - 1, 'a');
        CHECK(decoded("0" + half + half + "\r\n\r\n").state == progress::complete);
        CHECK(decoded("0" + half + half + "a\r\n\r\n").status == 413);
        CHECK(decoded("1" + half + "\r\nx\r\n0" + half + "\r\n\r\n").state == progress::complete);
        CHECK(decoded("1" + half + "\r\nx\r\n0" + half + "a\r\n\r\n").status == 413);
        CHECK(decoded("1" + std::string(100000, ' ')).status == 413);
    }

    TEST_CASE("chunked body: trailers have a maximum in total") {
        const std::string half = "A:" + std::string(limits::http_trailers_bytes_max / 2 - 2, 'b');
        CHECK(decoded("0\r\n" + half + "\r\n" + half + "\r\n\r\n").state == progress::complete);
        CHECK(decoded("0\r\n" + half + "\r\n" + half + "b\r\n\r\n").status == 431);
        CHECK(decoded("0\r\n" + std::string(100000, 'a')).status == 431);
    }

    TEST_CASE("chunked body: nothing is complete before its last octet") {
        const std::string_view sent = "1;a\r\nx\r\n0\r\nA: b\r\n\r\n";
        for (std::size_t bytes = 0; bytes < sent.size(); ++bytes) {
            CHECK(decoded(sent.substr(0, bytes)).state == progress::incomplete);
        }
        CHECK(decoded(sent).state == progress::complete);
    }

    TEST_CASE("chunked body: the content is not copied") {
        const auto sent = bytes_of("3\r\nabc\r\n");
        auto input = sent;
        CHECK(chunked_body{9}.decode(input).data() == sent.data() + 3);
    }

} // TEST_SUITE
