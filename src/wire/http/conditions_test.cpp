// SPDX-License-Identifier: MPL-2.0
#include "wire/http/conditions.hpp"

#include "wire/http/date.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <string_view>

using namespace zlink::wire::http;
using std::chrono::seconds;
using std::chrono::sys_seconds;

namespace {

// The resource has the tag "v1" and was modified on 6 November 1994; an hour has passed since.
constexpr sys_seconds modified{seconds{784111777}};
constexpr sys_seconds now = modified + seconds{3600};
constexpr const char* before = "Sun, 06 Nov 1994 08:49:36 GMT";
constexpr const char* same = "Sun, 06 Nov 1994 08:49:37 GMT";
constexpr const char* after = "Sun, 06 Nov 1994 08:49:38 GMT";

validators resource(std::string_view tag = "\"v1\"") {
    return {.exists = true, .tag = decode_entity_tag(tag), .modified = modified};
}

/// The status of a request with GET, or another method: 200, 304 or 412.
int status_of(const conditions& asked, const validators& current = resource(),
              bool is_get_or_head = true) {
    switch (evaluate(asked, current, is_get_or_head, now)) {
    case condition_outcome::proceed:
        return 200;
    case condition_outcome::not_modified:
        return 304;
    case condition_outcome::precondition_failed:
        break;
    }
    return 412;
}

} // namespace

TEST_SUITE("wire/http") {

    TEST_CASE("entity tag: is strong or weak") {
        const auto strong = decode_entity_tag("\"xyzzy\"");
        REQUIRE(strong);
        CHECK(strong->opaque == "\"xyzzy\"");
        CHECK(!strong->is_weak);
        const auto weak = decode_entity_tag("W/\"xyzzy\"");
        REQUIRE(weak);
        CHECK(weak->opaque == "\"xyzzy\"");
        CHECK(weak->is_weak);
        CHECK(decode_entity_tag("\"\""));
        CHECK(decode_entity_tag("\"a,b\\!\x80\""));
    }

    TEST_CASE("entity tag: nothing else is one") {
        for (const char* text :
             {"",        "\"",          "xyzzy",     "'xyzzy'",    "\"xyzzy",
              "xyzzy\"", "w/\"xyzzy\"", "W/xyzzy",   "W\"xyzzy\"", "W/ \"xyzzy\"",
              "\"a b\"", "\"a\tb\"",    "\"a\x7f\"", "\"a\"b\"",   "\"a\"b",
              " \"a\"",  "\"a\" ",      "*",         "W/",         "\"a\",\"b\""}) {
            CAPTURE(text);
            CHECK(!decode_entity_tag(text));
        }
    }

    TEST_CASE("entity tag: both comparisons") { // The table of RFC 9110, 8.8.3.2.
        const struct {
            const char* one;
            const char* other;
            bool is_strong;
            bool is_weak;
        } rows[] = {
            {"W/\"1\"", "W/\"1\"", false, true}, {"W/\"1\"", "W/\"2\"", false, false},
            {"W/\"1\"", "\"1\"", false, true},   {"\"1\"", "\"1\"", true, true},
            {"\"1\"", "\"2\"", false, false},    {"\"a\"", "\"A\"", false, false},
        };
        for (const auto& row : rows) {
            const auto one = *decode_entity_tag(row.one);
            const auto other = *decode_entity_tag(row.other);
            CHECK(is_strong_match(one, other) == row.is_strong);
            CHECK(is_strong_match(other, one) == row.is_strong);
            CHECK(is_weak_match(one, other) == row.is_weak);
            CHECK(is_weak_match(other, one) == row.is_weak);
        }
    }

    TEST_CASE("conditions: without any the request proceeds") {
        CHECK(status_of({}) == 200);
    }

    TEST_CASE("conditions: If-Match and If-None-Match") {
        const struct {
            const char* field;
            bool is_match_strong;
            bool is_match_weak;
        } rows[] = {
            {"*", true, true},
            {"\"v1\"", true, true},
            {"W/\"v1\"", false, true},
            {"\"v2\"", false, false},
            {"\"v2\", \"v1\"", true, true},
            {"\"v2\",W/\"v1\"", false, true},
            {"\"v1\",\"v2\"", true, true},
            {", ,\"v1\",,", true, true},
            {"\"a,b\", \"v1\"", true, true},
            {"\"a,\\\", \"v1\"", true, true}, // A backslash is a character like others.
            {"\t\"v1\"\t", true, true},
            {"", false, false},
            {",", false, false},
            {"v1", false, false},
            {"'v1'", false, false},
            {"\"V1\"", false, false},
            {"\"v1\" \"v2\"", false, false},
            {"\"v1\"\"v2\"", false, false},
            {"\"v1\", *", false, false},
            {"*, \"v1\"", false, false},
            {"**", false, false},
            {"\"v1", false, false},
            {"\"v1\", v2", false, false},
            {"\"v1\", \"v2", false, false},
            {"\"v1\";a", false, false},
            {"\"\"v1\"\"", false, false},
            {"w/\"v1\"", false, false},
        };
        for (const auto& row : rows) {
            CAPTURE(row.field);
            CHECK(status_of({.if_match = row.field}) == (row.is_match_strong ? 200 : 412));
            CHECK(status_of({.if_match = row.field}, resource(), false) ==
                  (row.is_match_strong ? 200 : 412));
            CHECK(status_of({.if_none_match = row.field}) == (row.is_match_weak ? 304 : 200));
            CHECK(status_of({.if_none_match = row.field}, resource(), false) ==
                  (row.is_match_weak ? 412 : 200));
        }
    }

    TEST_CASE("conditions: a weak tag of the resource matches weakly only") {
        CHECK(status_of({.if_match = "\"v1\""}, resource("W/\"v1\"")) == 412);
        CHECK(status_of({.if_match = "W/\"v1\""}, resource("W/\"v1\"")) == 412);
        CHECK(status_of({.if_none_match = "\"v1\""}, resource("W/\"v1\"")) == 304);
        CHECK(status_of({.if_none_match = "W/\"v1\""}, resource("W/\"v1\"")) == 304);
    }

    TEST_CASE("conditions: of a resource without a tag, or that does not exist") {
        const validators no_tag{.exists = true, .tag = std::nullopt, .modified = modified};
        CHECK(status_of({.if_match = "*"}, no_tag) == 200);
        CHECK(status_of({.if_match = "\"v1\""}, no_tag) == 412);
        CHECK(status_of({.if_none_match = "*"}, no_tag) == 304);
        CHECK(status_of({.if_none_match = "\"v1\""}, no_tag) == 200);
        const validators absent{.exists = false, .tag = std::nullopt, .modified = std::nullopt};
        CHECK(status_of({.if_match = "*"}, absent, false) == 412);
        CHECK(status_of({.if_match = "\"v1\""}, absent, false) == 412);
        CHECK(status_of({.if_none_match = "*"}, absent, false) == 200);
        CHECK(status_of({.if_none_match = "\"v1\""}, absent, false) == 200);
        CHECK(status_of({.if_modified_since = same}, absent) == 200);
        CHECK(status_of({.if_unmodified_since = before}, absent) == 200);
    }

    TEST_CASE("conditions: If-Modified-Since and If-Unmodified-Since") {
        const struct {
            const char* date;
            int modified_status;
            int unmodified_status;
        } rows[] = {
            {before, 200, 412},
            {same, 304, 200},
            {after, 304, 200},
            {"Sunday, 06-Nov-94 08:49:36 GMT", 200, 412},
            {"Sunday, 06-Nov-94 08:49:37 GMT", 304, 200},
            {"Sun Nov  6 08:49:36 1994", 200, 412},
            {"Sun Nov  6 08:49:37 1994", 304, 200},
            {"Fri, 31 Dec 9999 23:59:59 GMT", 304, 200},
            // Texts that are no dates are ignored.
            {"", 200, 200},
            {"784111777", 200, 200},
            {"Sun, 06 Nov 1994 08:49:36", 200, 200},
            {"Sun, 06 Nov 1994 08:49:36 GMT, Sun, 06 Nov 1994 08:49:36 GMT", 200, 200},
            {"\"v1\"", 200, 200},
        };
        for (const auto& row : rows) {
            CAPTURE(row.date);
            CHECK(status_of({.if_modified_since = row.date}) == row.modified_status);
            CHECK(status_of({.if_modified_since = row.date}, resource(), false) == 200);
            CHECK(status_of({.if_unmodified_since = row.date}) == row.unmodified_status);
            CHECK(status_of({.if_unmodified_since = row.date}, resource(), false) ==
                  row.unmodified_status);
        }
    }

    TEST_CASE("conditions: have an order of precedence") {
        // If-Match replaces If-Unmodified-Since.
        CHECK(status_of({.if_match = "\"v1\"", .if_unmodified_since = before}) == 200);
        CHECK(status_of({.if_match = "\"v2\"", .if_unmodified_since = after}) == 412);
        // If-None-Match replaces If-Modified-Since.
        CHECK(status_of({.if_none_match = "\"v2\"", .if_modified_since = after}) == 200);
        CHECK(status_of({.if_none_match = "\"v1\"", .if_modified_since = before}) == 304);
        CHECK(status_of({.if_none_match = "malformed", .if_modified_since = after}) == 200);
        // The first two come before the others.
        CHECK(status_of({.if_match = "\"v2\"", .if_none_match = "\"v1\""}) == 412);
        CHECK(status_of({.if_match = "\"v1\"", .if_none_match = "\"v1\""}) == 304);
        CHECK(status_of({.if_match = "\"v1\"", .if_modified_since = after}) == 304);
        CHECK(status_of({.if_none_match = "\"v1\"", .if_unmodified_since = before}) == 412);
        CHECK(status_of({.if_none_match = "\"v1\"", .if_unmodified_since = after}) == 304);
        CHECK(status_of({.if_modified_since = after, .if_unmodified_since = before}) == 412);
        CHECK(status_of({.if_modified_since = after, .if_unmodified_since = after}) == 304);
    }

    TEST_CASE("conditions: If-Range") {
        const struct {
            const char* field;
            bool is_current;
        } rows[] = {
            {"\"v1\"", true},
            {"W/\"v1\"", false},
            {"\"v2\"", false},
            {"\"v1\", \"v2\"", false},
            {"\"v1", false},
            {"*", false},
            {"v1", false},
            {"", false},
            {same, true},
            {"Sunday, 06-Nov-94 08:49:37 GMT", true},
            {"Sun Nov  6 08:49:37 1994", true},
            {before, false},
            {after, false},
            {"Sun, 06 Nov 1994", false},
        };
        for (const auto& row : rows) {
            CAPTURE(row.field);
            CHECK(is_range_current(row.field, resource(), now) == row.is_current);
        }
        CHECK(!is_range_current("W/\"v1\"", resource("W/\"v1\""), now));
        CHECK(!is_range_current("\"v1\"", resource("W/\"v1\""), now));
        CHECK(!is_range_current("\"v1\"", {}, now));
        CHECK(!is_range_current(same, {}, now));
    }

    TEST_CASE("conditions: the date of If-Range is strong once a second has passed") {
        CHECK(is_range_current(same, resource(), modified + seconds{1}));
        CHECK(!is_range_current(same, resource(), modified));
        CHECK(!is_range_current(same, resource(), modified - seconds{1}));
    }

} // TEST_SUITE
