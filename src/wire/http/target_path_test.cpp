// SPDX-License-Identifier: MPL-2.0
#include "wire/http/target_path.hpp"

#include "base/limits.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace zlink;
using namespace zlink::wire::http;

namespace {

/// The status of a refusal; 0 if the target is accepted.
int status_of(std::string_view target) {
    const auto decoded = decode_target_path(target);
    const auto* const refused = std::get_if<refusal>(&decoded);
    CHECK((refused == nullptr || refused->why.ends_with('.')));
    return refused == nullptr ? 0 : refused->status;
}

} // namespace

TEST_SUITE("wire/http") {

    TEST_CASE("target path: is decoded to the path of a file") {
        const struct {
            const char* target;
            const char* file;
            const char* query;
            bool ends_with_slash;
        } rows[] = {
            {"/", "", "", true},
            {"/?a", "", "a", true},
            {"/a", "a", "", false},
            {"/a/", "a", "", true},
            {"/a/b.html", "a/b.html", "", false},
            {"/a/b/?c=d?e/../f%00", "a/b", "c=d?e/../f%00", true},
            {"/a?", "a", "", false},
            {"/a%20b", "a b", "", false},
            {"/a+b", "a+b", "", false},
            {"/%61%2D%5a", "a-Z", "", false},
            {"/caf%c3%A9/\xc3\xa9", "caf\xc3\xa9/\xc3\xa9", "", false},
            {"/100%25", "100%", "", false},
            {"/a%2541", "a%41", "", false},
            {"/%252e", "%2e", "", false},
            {"/%252e%252e/a", "%2e%2e/a", "", false},
            {"/a%252fb", "a%2fb", "", false},
            {"/a%255Cb", "a%5Cb", "", false},
            {"/a%2500", "a%00", "", false},
            {"/%2525252e", "%25252e", "", false},
            {"/a\\b", "a\\b", "", false},
            {"/a%5cb", "a\\b", "", false},
            {"/a%0Ab%7f", "a\nb\x7f", "", false},
            {"/a%3fb%23c", "a?b#c", "", false},
            {"/a..b", "a..b", "", false},
            {"/a.", "a.", "", false},
            {"/a...", "a...", "", false},
            {"/a:b;c=d,e@f", "a:b;c=d,e@f", "", false},
            {"/-/~a/_", "-/~a/_", "", false},
            {"/.well-known/acme-challenge/x", ".well-known/acme-challenge/x", "", false},
            {"/.well-known", ".well-known", "", false},
            {"/%2ewell-known/x", ".well-known/x", "", false},
        };
        for (const auto& row : rows) {
            CAPTURE(row.target);
            const auto decoded = decode_target_path(row.target);
            const auto* const found = std::get_if<target_path>(&decoded);
            REQUIRE(found != nullptr);
            CHECK(found->file == row.file);
            CHECK(found->query == row.query);
            CHECK(found->ends_with_slash == row.ends_with_slash);
        }
    }

    TEST_CASE("target path: is refused if it is malformed") {
        for (const char* target :
             {"",       "?a",   "a",       "*",       "http://a/", "/%",    "/%4",
              "/%g0",   "/%0g", "/%%",     "/a/%",    "/%u0041",   "/% 41", "/%-1",
              "/%%32e", "/%2",  "/../%zz", "/.git/%", "/a\tb",     "/a\x7f"}) {
            CAPTURE(target);
            CHECK(status_of(target) == 400);
        }
        CHECK(status_of(std::string_view{"/a\0b", 4}) == 400);
    }

    TEST_CASE("target path: names no file above or beside the folder") {
        for (const char* target : {
                 "/.",           "/..",       "/./a",           "/../a",
                 "/a/.",         "/a/..",     "/a/../b",        "/a/./b",
                 "/a/..?b",      "/%2e",      "/%2e%2e",        "/.%2E/a",
                 "/%2e./a",      "/%2E%2e/a", "/a%2fb",         "/a%2Fb",
                 "/..%2fa",      "/%2f",      "/%2fetc/passwd", "/..\\a",
                 "/..%5ca",      "/%00",      "/a%00.html",     "//",
                 "//a",          "/a//b",     "/a//",           "///",
                 "//etc/passwd", "/...",      "/.../a",
             }) {
            CAPTURE(target);
            CHECK(status_of(target) == 404);
        }
    }

    TEST_CASE("target path: names no hidden file") {
        for (const char* target :
             {"/.git", "/.git/config", "/a/.htpasswd", "/%2egit", "/%2Egit/config",
              "/a/.well-known", "/a/.well-known/b", "/.well-known/.git", "/.well-knownx",
              "/.Well-Known/a", "/.well-known/../a", "/.well-known/%2e%2e/a", "/..a", "/.a/"}) {
            CAPTURE(target);
            CHECK(status_of(target) == 404);
        }
    }

    TEST_CASE("target path: each name and the path have a maximum length, decoded") {
        const std::string longest(limits::http_path_segment_bytes_max, 'a');
        CHECK(status_of("/" + longest) == 0);
        CHECK(status_of("/" + longest + "/b") == 0);
        CHECK(status_of("/" + longest + "a") == 404);
        CHECK(status_of("/b/" + longest + "a/c") == 404);
        std::string escaped;
        for (std::size_t count = 0; count < longest.size(); ++count) {
            escaped += "%61";
        }
        CHECK(status_of("/" + escaped) == 0);
        CHECK(status_of("/" + escaped + "a") == 404);

        std::string path;
        while (path.size() < limits::http_path_bytes_max) {
            path += "/" + longest;
        }
        REQUIRE(path.size() == limits::http_path_bytes_max + 1);
        CHECK(status_of(path) == 0);
        CHECK(status_of(path.substr(0, path.size() - 1) + "/a") == 404);
    }

} // TEST_SUITE
