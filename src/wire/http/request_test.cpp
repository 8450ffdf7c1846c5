// SPDX-License-Identifier: MPL-2.0
// Each request is decoded whole, one octet at a time, and cut in two at every octet: with the same
// result.
#include "wire/http/request.hpp"

#include "base/limits.hpp"
#include "testing/bytes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using namespace zlink;
using namespace zlink::wire::http;
using progress = request_decoder::progress;
using testing::bytes_of;

namespace {

std::string described(const request_decoder& decoder) {
    if (decoder.state() == progress::incomplete) {
        return "incomplete";
    }
    if (decoder.state() == progress::refused) {
        return std::to_string(decoder.why_refused().status) + " " +
               std::string{decoder.why_refused().why};
    }
    const request& head = decoder.head();
    std::string text{head.method};
    for (const std::string_view part : {head.target, head.path, head.query, head.host}) {
        text += " [" + std::string{part} + "]";
    }
    text += " " + std::to_string(static_cast<int>(head.form)) +
            std::to_string(static_cast<int>(head.framing)) + " " +
            std::to_string(head.content_bytes) + (head.is_version_1_0 ? " 1.0" : " 1.1") +
            (head.persists ? " persists" : "") + (head.expects_continue ? " continue" : "");
    for (const field& each : head.fields) {
        text += "\n" + std::string{each.name} + ":" + std::string{each.value};
    }
    return text;
}

/// Passes `sent` to the decoder in pieces.
void feed(request_decoder& decoder, std::string_view sent, std::size_t piece_bytes) {
    while (!sent.empty() && decoder.state() == progress::incomplete) {
        auto piece = bytes_of(sent.substr(0, piece_bytes));
        const std::size_t given = piece.size();
        decoder.decode(piece);
        sent.remove_prefix(given - piece.size());
    }
}

std::string outcome_of(std::string_view sent, std::size_t piece_bytes = SIZE_MAX) {
    request_decoder decoder;
    feed(decoder, sent, piece_bytes);
    return described(decoder);
}

/// The status that answers `sent`; 0 if it is complete, and 1 if not.
int status_of(std::string_view sent) {
    const std::string whole = outcome_of(sent);
    if (outcome_of(sent, 1) != whole) {
        FAIL_CHECK("differs if sent octet by octet: " << whole);
    }
    for (std::size_t cut = 1; cut < std::min(sent.size(), std::size_t{600}); ++cut) {
        request_decoder decoder;
        feed(decoder, sent.substr(0, cut), cut);
        feed(decoder, sent.substr(cut), SIZE_MAX);
        if (described(decoder) != whole) {
            FAIL_CHECK("differs if cut at " << cut << ": " << described(decoder));
        }
    }
    request_decoder decoder;
    feed(decoder, sent, SIZE_MAX);
    switch (decoder.state()) {
    case progress::incomplete:
        return 1;
    case progress::complete:
        return 0;
    case progress::refused:
        break;
    }
    CHECK(decoder.why_refused().why.ends_with('.'));
    return decoder.why_refused().status;
}

std::string get(std::string_view fields, std::string_view version = "1.1") {
    return "GET / HTTP/" + std::string{version} + "\r\nHost: a\r\n" + std::string{fields} + "\r\n";
}

/// Holds the octets that a decoder has decoded.
struct decoded {
    explicit decoded(std::string_view sent) {
        feed(decoder, sent, SIZE_MAX);
        REQUIRE(decoder.state() == progress::complete);
        CHECK(status_of(sent) == 0);
    }
    const request* operator->() const { return &decoder.head(); }

    request_decoder decoder;
};

} // namespace

TEST_SUITE("wire/http") {

    TEST_CASE("request: its parts are found") {
        const decoded head{"GET /video/a%20b.mp4?t=1?2 HTTP/1.1\r\nHost: example.org:8080\r\n"
                           "Accept:  text/html ,\ttext/plain \t\r\nX-Empty:\r\nX-Colon:a:b\r\n"
                           "X-Obs: caf\xc3\xa9\r\n\r\n"};
        CHECK(head->method == "GET");
        CHECK(head->form == target_form::origin);
        CHECK(head->target == "/video/a%20b.mp4?t=1?2");
        CHECK(head->path == "/video/a%20b.mp4");
        CHECK(head->query == "t=1?2");
        CHECK(head->host == "example.org:8080");
        CHECK(!head->is_version_1_0);
        CHECK(head->framing == body_framing::none);
        CHECK(head->content_bytes == 0);
        CHECK(head->persists);
        CHECK(!head->expects_continue);
        CHECK(head->fields == std::vector<field>{{"Host", "example.org:8080"},
                                                 {"Accept", "text/html ,\ttext/plain"},
                                                 {"X-Empty", ""},
                                                 {"X-Colon", "a:b"},
                                                 {"X-Obs", "caf\xc3\xa9"}});
    }

    TEST_CASE("request: fields are found by name, without regard to case") {
        const decoded head{get("Range: bytes=0-\r\nAccept-Encoding: gzip\r\nIF-MATCH: \"a\"\r\n"
                               "accept-encoding: br\r\nAccept-Encoding:\r\n")};
        std::string room;
        CHECK(head->has("range"));
        CHECK(head->has("Accept-Encoding"));
        CHECK(!head->has("Accept"));
        CHECK(head->value("RANGE") == "bytes=0-");
        CHECK(head->value("if-match") == "\"a\"");
        CHECK(!head->value("If-Range"));
        CHECK(head->joined("Range", room) == "bytes=0-");
        CHECK(head->joined("Accept-Encoding", room) == "gzip, br, ");
        CHECK(!head->joined("TE", room));
    }

    TEST_CASE("request: a field that is no list is worth nothing if it comes twice") {
        const decoded head{get("Range: bytes=0-1\r\nRange: bytes=2-3\r\n")};
        CHECK(!head->value("Range"));
        CHECK(head->has("Range"));
    }

    TEST_CASE("request: the forms of a target") {
        const struct {
            const char* line;
            target_form form;
            const char* path;
            const char* query;
            const char* host;
        } rows[] = {
            {"GET /", target_form::origin, "/", "", "field"},
            {"GET /?", target_form::origin, "/", "", "field"},
            {"GET /a?b", target_form::origin, "/a", "b", "field"},
            {"GET //other/a", target_form::origin, "//other/a", "", "field"},
            {"GET /http://other/a", target_form::origin, "/http://other/a", "", "field"},
            {"GET /|[]{}\"<>\\^`", target_form::origin, "/|[]{}\"<>\\^`", "", "field"},
            {"GET http://other/a?b", target_form::absolute, "/a", "b", "other"},
            {"GET HTTPS://Other:8443/", target_form::absolute, "/", "", "Other:8443"},
            {"GET ws://[::1]:80/chat", target_form::absolute, "/chat", "", "[::1]:80"},
            {"GET http://other", target_form::absolute, "/", "", "other"},
            {"GET http://other?a/b", target_form::absolute, "/", "a/b", "other"},
            {"OPTIONS http://other?", target_form::absolute, "/", "", "other"},
            {"OPTIONS http://other", target_form::absolute, "*", "", "other"},
            {"OPTIONS http://other/", target_form::absolute, "/", "", "other"},
            {"OPTIONS *", target_form::asterisk, "*", "", "field"},
            {"OPTIONS /a", target_form::origin, "/a", "", "field"},
        };
        for (const auto& row : rows) {
            CAPTURE(row.line);
            const decoded head{std::string{row.line} + " HTTP/1.1\r\nHost: field\r\n\r\n"};
            CHECK(head->form == row.form);
            CHECK(head->path == row.path);
            CHECK(head->query == row.query);
            CHECK(head->host == row.host);
        }
    }

    TEST_CASE("request: is refused for its request line") {
        const struct {
            std::string line;
            int status;
        } rows[] = {
            {"GET", 400},
            {"GET /", 400},
            {"GET / ", 400},
            {" GET / HTTP/1.1", 400},
            {"\tGET / HTTP/1.1", 400},
            {"GET  / HTTP/1.1", 400},
            {"GET /  HTTP/1.1", 400},
            {"GET / HTTP/1.1 ", 400},
            {"GET / a HTTP/1.1", 400},
            {"GET\t/\tHTTP/1.1", 400},
            {"GET /\tHTTP/1.1", 400},
            {"G(T / HTTP/1.1", 400},
            {"G\x80T / HTTP/1.1", 400},
            {"GET: / HTTP/1.1", 400},
            {std::string(32, 'M') + " / HTTP/1.1", 0},
            {std::string(33, 'M') + " / HTTP/1.1", 501},
            {"GET /\x01 HTTP/1.1", 400},
            {"GET /\x7f HTTP/1.1", 400},
            {"GET /\x80 HTTP/1.1", 400},
            {"GET /a#b HTTP/1.1", 400},
            {"GET a HTTP/1.1", 400},
            {"GET * HTTP/1.1", 400},
            {"GET a:80 HTTP/1.1", 400},
            {"OPTIONS ** HTTP/1.1", 400},
            {"GET ftp://a/ HTTP/1.1", 400},
            {"GET http:/a HTTP/1.1", 400},
            {"GET http:///a HTTP/1.1", 400},
            {"GET ://a/ HTTP/1.1", 400},
            {"GET http://?a HTTP/1.1", 400},
            {"GET http://user@a/ HTTP/1.1", 400},
            {"GET http://a:b/ HTTP/1.1", 400},
            {"GET http://a:65536/ HTTP/1.1", 400},
            {"GET http://a\\b/ HTTP/1.1", 400},
            {"CONNECT a:80 HTTP/1.1", 501},
            {"CONNECT / HTTP/1.1", 400},
            {"GET / HTTP/1.0", 0},
            {"GET / HTTP/1.1", 0},
            {"GET / HTTP/1.2", 0},
            {"GET / HTTP/1.9", 0},
            {"GET / HTTP/0.9", 505},
            {"GET / HTTP/2.0", 505},
            {"GET / HTTP/3.1", 505},
            {"PRI * HTTP/2.0", 505},
            {"GET / HTTP/1", 400},
            {"GET / HTTP/1.", 400},
            {"GET / HTTP/1.10", 400},
            {"GET / HTTP/11.1", 400},
            {"GET / HTTP/1.x", 400},
            {"GET / HTTP/x.1", 400},
            {"GET / HTTP/1,1", 400},
            {"GET / HTTP/-1.1", 400},
            {"GET / http/1.1", 400},
            {"GET / HTTPS/1.1", 400},
            {"GET / ICAP/1.0", 400},
        };
        for (const auto& row : rows) {
            CAPTURE(row.line);
            CHECK(status_of(row.line + "\r\nHost: a\r\n\r\n") == row.status);
        }
    }

    TEST_CASE("request: a higher minor version counts as 1.1") {
        const decoded head{"GET / HTTP/1.7\r\nHost: a\r\nConnection: x\r\n\r\n"};
        CHECK(!head->is_version_1_0);
        CHECK(head->persists);
    }

    TEST_CASE("request: is refused for its fields") {
        const struct {
            std::string fields;
            int status;
        } rows[] = {
            {"", 0},
            {"A: b\r\n", 0},
            {"A:\r\n", 0},
            {"A: \t \r\n", 0},
            {"A:b\tc\r\n", 0},
            {"A: \x80\xff\r\n", 0},
            {"!#$%&'*+-.^_`|~0Az: b\r\n", 0},
            {"A : b\r\n", 400},
            {"A\t: b\r\n", 400},
            {" A: b\r\n", 400},
            {"\tA: b\r\n", 400},
            {"A: b\r\n c\r\n", 400},
            {"A: b\r\n\tc\r\n", 400},
            {"A: b\r\n \r\n", 400},
            {"A: b\r\n c: d\r\n", 400},
            {"A\r\n", 400},
            {": b\r\n", 400},
            {"A B: c\r\n", 400},
            {"A(: b\r\n", 400},
            {"A\x80: b\r\n", 400},
            {"\"A\": b\r\n", 400},
            {"A@b: c\r\n", 400},
            {"A: b\n", 400},
            {"A: b\rc\r\n", 400},
            {"A: b\r\r\n", 400},
            {"A: b\nc: d\r\n", 400},
            {"A\n: b\r\n", 400},
            {"\n", 400},
            {"A: b\x01\r\n", 400},
            {"A: b\x0b\r\n", 400},
            {"A: b\x1f\r\n", 400},
            {"A: b\x7f\r\n", 400},
            {"A\x01: b\r\n", 400},
            {std::string{"A: b\0c\r\n", 8}, 400},
            {std::string{"A\0: b\r\n", 7}, 400},
            {std::string{"\0\r\n", 3}, 400},
        };
        for (const auto& row : rows) {
            CAPTURE(row.fields);
            CHECK(status_of(get(row.fields)) == row.status);
        }
    }

    TEST_CASE("request: a line that ends with LF alone is refused when it arrives") {
        CHECK(status_of("GET / HTTP/1.1\n") == 400);
        CHECK(status_of("GET / HTTP/1.1\r\nHost: a\n") == 400);
        CHECK(status_of("GET / HTTP/1.1\r\nHost: a\r\n\n") == 400);
        CHECK(status_of("\nGET / HTTP/1.1\r\n") == 400);
        CHECK(status_of("GET / HTTP/1.1\r\nHost: a\r\n\rX") == 400);
    }

    TEST_CASE("request: another protocol is refused at its first octet") {
        CHECK(status_of("\x16\x03\x01") == 400); // TLS
        CHECK(status_of("\xff") == 400);         // ZMTP
        CHECK(status_of(std::string_view{"\0", 1}) == 400);
    }

    TEST_CASE("request: has one Host field, which is valid") {
        const struct {
            const char* version;
            const char* fields;
            int status;
        } rows[] = {
            {"1.1", "Host: a\r\n", 0},
            {"1.1", "HOST: a:80\r\n", 0},
            {"1.1", "Host: [::1]:80\r\n", 0},
            {"1.1", "Host:\r\n", 0},
            {"1.1", "", 400},
            {"1.2", "", 400},
            {"1.0", "", 0},
            {"1.0", "Host: a\r\n", 0},
            {"1.1", "Host: a\r\nHost: a\r\n", 400},
            {"1.1", "Host: a\r\nhost: b\r\n", 400},
            {"1.0", "Host: a\r\nHost: a\r\n", 400},
            {"1.1", "Host:\r\nHost:\r\n", 400},
            {"1.1", "Host: a, b\r\n", 400},
            {"1.1", "Host: a b\r\n", 400},
            {"1.1", "Host: a/b\r\n", 400},
            {"1.1", "Host: user@a\r\n", 400},
            {"1.1", "Host: a:x\r\n", 400},
            {"1.1", "Host: :80\r\n", 400},
            {"1.1", "Host: [::1\r\n", 400},
            {"1.1", "Host: http://a\r\n", 400},
            {"1.0", "Host: a\\b\r\n", 400},
        };
        for (const auto& row : rows) {
            CAPTURE(row.version);
            CAPTURE(row.fields);
            const std::string version{row.version};
            CHECK(status_of("GET / HTTP/" + version + "\r\n" + row.fields + "\r\n") == row.status);
            // The host of an absolute target replaces the field's value, not the rules.
            CHECK(status_of("GET http://other/ HTTP/" + version + "\r\n" + row.fields + "\r\n") ==
                  row.status);
        }
    }

    TEST_CASE("request: the length of the content") {
        const struct {
            const char* fields;
            body_framing framing;
            std::uint64_t bytes;
        } rows[] = {
            {"", body_framing::none, 0},
            {"Content-Length: 0\r\n", body_framing::length, 0},
            {"Content-Length: 5\r\n", body_framing::length, 5},
            {"content-length:\t5 \r\n", body_framing::length, 5}, // RFC 9110, 5.5
            {"Content-Length: 0005\r\n", body_framing::length, 5},
            {"Content-Length: 5, 5\r\n", body_framing::length, 5},
            {"Content-Length: 5\r\nContent-Length: 5\r\n", body_framing::length, 5},
            {"Content-Length: 9223372036854775807\r\n", body_framing::length, 9223372036854775807U},
            {"Transfer-Encoding: chunked\r\n", body_framing::chunked, 0},
            {"transfer-encoding: CHUNKED\r\n", body_framing::chunked, 0},
        };
        for (const auto& row : rows) {
            CAPTURE(row.fields);
            const decoded head{"POST / HTTP/1.1\r\nHost: a\r\n" + std::string{row.fields} + "\r\n"};
            CHECK(head->framing == row.framing);
            CHECK(head->content_bytes == row.bytes);
        }
    }

    TEST_CASE("request: is refused if its length could be understood in two ways") {
        const struct {
            const char* fields;
            int status;
        } rows[] = {
            {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400},
            {"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400},
            {"Transfer-Encoding: chunked\r\nA: b\r\nContent-Length: 0\r\n", 400},
            {"Content-Length: 5\r\nContent-Length: 6\r\n", 400},
            {"Content-Length: 5\r\nA: b\r\ncontent-length: 6\r\n", 400},
            {"Content-Length: 5, 6\r\n", 400},
            {"Content-Length: 5,5,6\r\n", 400},
            {"Content-Length: 5, 5\r\nContent-Length: 6\r\n", 400},
            {"Content-Length:\r\n", 400},
            {"Content-Length: ,\r\n", 400},
            {"Content-Length: 5,\r\n", 400},
            {"Content-Length: ,5\r\n", 400},
            {"Content-Length: 5,,5\r\n", 400},
            {"Content-Length: 5\r\nContent-Length:\r\n", 400},
            {"Content-Length: +1\r\n", 400},
            {"Content-Length: -1\r\n", 400},
            {"Content-Length: 1 1\r\n", 400},
            {"Content-Length: 1_0\r\n", 400},
            {"Content-Length: 1.0\r\n", 400},
            {"Content-Length: 0x1\r\n", 400},
            {"Content-Length: 1e1\r\n", 400},
            {"Content-Length: \"1\"\r\n", 400},
            {"Content-Length: 1;a\r\n", 400},
            {"Content-Length: 1\xa0\r\n", 400},
            {"Content-Length: 9223372036854775808\r\n", 400},
            {"Content-Length: 18446744073709551616\r\n", 400},
            {"Content-Length: 99999999999999999999999999\r\n", 400},
            {"Content-Length : 5\r\n", 400},
            {"Content-Length: 5\r\n 6\r\n", 400},
            {"Transfer-Encoding:\r\n", 400},
            {"Transfer-Encoding: chunked, chunked\r\n", 400},
            {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
            {"Transfer-Encoding: chunked, gzip\r\n", 400},
            {"Transfer-Encoding: chunked, identity\r\n", 400},
            {"Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n", 400},
            {"Transfer-Encoding: chunked,\r\n", 400},
            {"Transfer-Encoding: , chunked\r\n", 400},
            {"Transfer-Encoding: chunked;a=b\r\n", 400},
            {"Transfer-Encoding: \"chunked\"\r\n", 400},
            {"Transfer-Encoding: chunked foo\r\n", 400},
            {"Transfer-Encoding: x\x80, chunked\r\n", 400},
            {"Transfer-Encoding: a=\"b, chunked\r\n", 400},
            {"Transfer-Encoding: gzip\r\n", 400}, // The length is unknown (RFC 9112, 6.3).
            {"Transfer-Encoding: identity\r\n", 400},
            {"Transfer-Encoding: xchunked\r\n", 400},
            {"Transfer-Encoding : chunked\r\n", 400},
            {"Transfer-Encoding:\x0b"
             "chunked\r\n",
             400},
            {"Transfer-Encoding: gzip, chunked\r\n", 501},
            {"Transfer-Encoding: gzip;level=\"1\", chunked\r\n", 501},
            {"Transfer-Encoding: identity, chunked\r\n", 501},
            {"Transfer-Encoding: foo\r\nTransfer-Encoding: chunked\r\n", 501},
        };
        for (const auto& row : rows) {
            CAPTURE(row.fields);
            CHECK(status_of(get(row.fields)) == row.status);
        }
        CHECK(status_of(get("Transfer-Encoding: chunked\r\n", "1.0")) == 400);
        CHECK(status_of(get("Transfer-Encoding: gzip\r\n", "1.0")) == 400);
    }

    TEST_CASE("request: whether the connection persists") {
        const struct {
            const char* version;
            const char* fields;
            bool persists;
        } rows[] = {
            {"1.1", "", true},
            {"1.1", "Connection: keep-alive\r\n", true},
            {"1.1", "Connection: close\r\n", false},
            {"1.1", "Connection: Upgrade, CLOSE\r\n", false},
            {"1.1", "Connection: keep-alive\r\nConnection: close\r\n", false},
            {"1.1", "Connection: closed\r\n", true},
            {"1.1", "Connection:\r\n", true},
            {"1.0", "", false},
            {"1.0", "Connection: Keep-Alive\r\n", true},
            {"1.0", "Connection: x, keep-alive\r\n", true},
            {"1.0", "Connection: keep-alive, close\r\n", false},
            {"1.0", "Connection: close\r\n", false},
        };
        for (const auto& row : rows) {
            CAPTURE(row.version);
            CAPTURE(row.fields);
            CHECK(decoded { get(row.fields, row.version) } -> persists == row.persists);
        }
        CHECK(status_of(get("Connection: \"close\"\r\n")) == 400);
    }

    TEST_CASE("request: the expectation of status 100") {
        const struct {
            const char* version;
            const char* fields;
            int status;
            bool expects;
        } rows[] = {
            {"1.1", "Expect: 100-continue\r\nContent-Length: 1\r\n", 0, true},
            {"1.1", "Expect: 100-Continue\r\nTransfer-Encoding: chunked\r\n", 0, true},
            {"1.1", "Expect: 100-continue\r\nContent-Length: 0\r\n", 0, false},
            {"1.1", "Expect: 100-continue\r\n", 0, false},
            {"1.0", "Expect: 100-continue\r\nContent-Length: 1\r\n", 0, false},
            {"1.1", "Expect:\r\nContent-Length: 1\r\n", 0, false},
            {"1.1", "Expect: 200-ok\r\nContent-Length: 1\r\n", 417, false},
            {"1.1", "Expect: 100-continue, x\r\nContent-Length: 1\r\n", 417, false},
            {"1.1", "Expect: 100-continue\r\nExpect: x\r\n", 417, false},
            {"1.1", "Expect: 100-continue;a=b\r\n", 417, false},
        };
        for (const auto& row : rows) {
            CAPTURE(row.version);
            CAPTURE(row.fields);
            const std::string sent = get(row.fields, row.version);
            CHECK(status_of(sent) == row.status);
            CHECK((row.status != 0 || decoded { sent } -> expects_continue == row.expects));
        }
    }

    TEST_CASE("request: empty lines before it are skipped, up to a limit") {
        std::string sent = get("");
        for (unsigned count = 0; count <= limits::http_empty_lines_max; ++count) {
            CHECK(status_of(sent) == 0);
            sent.insert(0, "\r\n");
        }
        CHECK(status_of(sent) == 400);
        request_decoder decoder;
        feed(decoder, "\r\n", 1);
        CHECK(!decoder.has_begun());
        feed(decoder, "G", 1);
        CHECK(decoder.has_begun());
    }

    TEST_CASE("request: a target has a maximum length") {
        const auto sent = [](std::size_t target_bytes) {
            return "GET /" + std::string(target_bytes - 1, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n";
        };
        CHECK(status_of(sent(limits::http_target_bytes_max)) == 0);
        CHECK(status_of(sent(limits::http_target_bytes_max + 1)) == 414);
        CHECK(outcome_of("GET " + std::string(limits::http_target_bytes_max + 1, '/'), 1)
                  .starts_with("414"));
    }

    TEST_CASE("request: the head has a maximum length") {
        const auto sent = [](std::size_t head_bytes) {
            const std::string rest = get("A: \r\n");
            return get("A: " + std::string(head_bytes - rest.size(), 'b') + "\r\n");
        };
        REQUIRE(sent(limits::http_head_bytes_max).size() == limits::http_head_bytes_max);
        CHECK(status_of(sent(limits::http_head_bytes_max)) == 0);
        CHECK(status_of("\r\n" + sent(limits::http_head_bytes_max)) == 0);
        CHECK(status_of(sent(limits::http_head_bytes_max + 1)) == 431);
        CHECK(status_of(get("").substr(0, 20) + std::string(100000, 'a')) == 431);
        CHECK(status_of(sent(limits::http_head_bytes_max).substr(0, 16383)) == 1);
    }

    TEST_CASE("request: has a maximum of fields") {
        const auto sent = [](std::size_t field_count) {
            std::string fields;
            for (std::size_t index = 1; index < field_count; ++index) {
                fields += "A: b\r\n";
            }
            return get(fields);
        };
        CHECK(status_of(sent(limits::http_fields_max)) == 0);
        CHECK(status_of(sent(limits::http_fields_max + 1)) == 431);
    }

    TEST_CASE("request: nothing is complete before its last octet") {
        const std::string sent = get("A: b\r\n");
        for (std::size_t bytes = 0; bytes < sent.size(); ++bytes) {
            CHECK(outcome_of(std::string_view{sent}.substr(0, bytes)) == "incomplete");
        }
    }

    TEST_CASE("request: those that come together are decoded one after the other") {
        const std::string first = "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n";
        const std::string sent = first + "abcGET /2 HTTP/1.0\r\n\r\n" + get("");
        auto input = bytes_of(sent);
        request_decoder decoder;
        CHECK(decoder.decode(input) == progress::complete);
        CHECK(decoder.head().path == "/1");
        CHECK(input.size() == sent.size() - first.size());
        CHECK(decoder.decode(input) == progress::complete); // Takes nothing.
        CHECK(input.size() == sent.size() - first.size());

        input = input.subspan(decoder.head().content_bytes);
        decoder.next();
        CHECK(decoder.decode(input) == progress::complete);
        CHECK(decoder.head().path == "/2");
        CHECK(decoder.head().framing == body_framing::none);
        CHECK(decoder.head().fields.empty());
        CHECK(decoder.head().is_version_1_0);

        decoder.release();
        CHECK(decoder.state() == progress::incomplete);
        CHECK(!decoder.has_begun());
        CHECK(decoder.decode(input) == progress::complete);
        CHECK(decoder.head().path == "/");
        CHECK(!decoder.head().is_version_1_0);
        CHECK(input.empty());
    }

    TEST_CASE("request: after a refusal nothing more is taken") {
        request_decoder decoder;
        feed(decoder, "bad\n", SIZE_MAX);
        auto input = bytes_of("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        const std::size_t bytes = input.size();
        CHECK(decoder.decode(input) == progress::refused);
        CHECK(input.size() == bytes);
    }

} // TEST_SUITE
