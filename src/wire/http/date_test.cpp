// SPDX-License-Identifier: MPL-2.0
#include "wire/http/date.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

using namespace zlink::wire::http;
using namespace std::chrono;

namespace {

constexpr sys_seconds at(std::int64_t seconds_since_epoch) {
    return sys_seconds{seconds{seconds_since_epoch}};
}

constexpr sys_seconds now = at(1790000000); // 21 September 2026

std::optional<std::int64_t> seconds_of(std::string_view text, sys_seconds today = now) {
    const auto found = decode_date(text, today);
    return found ? std::optional{static_cast<std::int64_t>(found->time_since_epoch().count())}
                 : std::nullopt;
}

} // namespace

TEST_SUITE("wire/http") {

    TEST_CASE("date: is written, and read again") {
        const struct {
            std::int64_t seconds;
            const char* text;
        } rows[] = {
            {784111777, "Sun, 06 Nov 1994 08:49:37 GMT"},
            {0, "Thu, 01 Jan 1970 00:00:00 GMT"},
            {-1, "Wed, 31 Dec 1969 23:59:59 GMT"},
            {951782400, "Tue, 29 Feb 2000 00:00:00 GMT"},
            {951868799, "Tue, 29 Feb 2000 23:59:59 GMT"},
            {1709164800, "Thu, 29 Feb 2024 00:00:00 GMT"},
            {2147483648, "Tue, 19 Jan 2038 03:14:08 GMT"},
            {4107542400, "Mon, 01 Mar 2100 00:00:00 GMT"},
            {253402300799, "Fri, 31 Dec 9999 23:59:59 GMT"},
            {-62167219200, "Sat, 01 Jan 0000 00:00:00 GMT"},
        };
        for (const auto& row : rows) {
            CAPTURE(row.text);
            CHECK(date_text{at(row.seconds)}.view() == row.text);
            CHECK(seconds_of(row.text) == row.seconds);
        }
    }

    TEST_CASE("date: one that no text can tell becomes the nearest") {
        CHECK(date_text{at(253402300800)}.view() == "Fri, 31 Dec 9999 23:59:59 GMT");
        CHECK(date_text{at(std::numeric_limits<std::int64_t>::max())}.view() ==
              "Fri, 31 Dec 9999 23:59:59 GMT");
        CHECK(date_text{at(std::numeric_limits<std::int64_t>::min())}.view() ==
              "Sat, 01 Jan 0000 00:00:00 GMT");
    }

    TEST_CASE("date: each day of four years is written and read") {
        for (std::int64_t day = 10957; day < 10957 + 4 * 366; ++day) {
            const std::int64_t seconds = day * 86400 + day % 86400;
            REQUIRE(seconds_of(date_text{at(seconds)}.view()) == seconds);
        }
    }

    TEST_CASE("date: the older forms are read") {
        CHECK(seconds_of("Sunday, 06-Nov-94 08:49:37 GMT") == 784111777);
        CHECK(seconds_of("Sun Nov  6 08:49:37 1994") == 784111777);
        CHECK(seconds_of("Wed Nov 16 08:49:37 1994") == 784111777 + 10 * 86400);
    }

    TEST_CASE("date: a two-digit year is at most 50 years in the future") {
        const auto year_of = [](std::string_view text, sys_seconds today) {
            const auto found = decode_date(text, today);
            REQUIRE(found);
            return static_cast<int>(year_month_day{floor<days>(*found)}.year());
        };
        const sys_seconds in_2026 = sys_days{year{2026} / 6 / 15} + hours{12};
        CHECK(year_of("Monday, 15-Jun-26 12:00:00 GMT", in_2026) == 2026);
        CHECK(year_of("Monday, 15-Jun-75 12:00:00 GMT", in_2026) == 2075);
        CHECK(year_of("Monday, 15-Jun-76 12:00:00 GMT", in_2026) == 2076);
        CHECK(year_of("Monday, 15-Jun-76 12:00:01 GMT", in_2026) == 1976);
        CHECK(year_of("Monday, 16-Jun-76 00:00:00 GMT", in_2026) == 1976);
        CHECK(year_of("Monday, 15-Jun-77 12:00:00 GMT", in_2026) == 1977);
        CHECK(year_of("Monday, 15-Jun-99 12:00:00 GMT", in_2026) == 1999);
        CHECK(year_of("Monday, 15-Jun-00 12:00:00 GMT", in_2026) == 2000);
        const sys_seconds in_2060 = sys_days{year{2060} / 1 / 1};
        CHECK(year_of("Monday, 15-Jun-05 12:00:00 GMT", in_2060) == 2105);
        CHECK(year_of("Monday, 15-Jun-59 12:00:00 GMT", in_2060) == 2059);
        CHECK(year_of("Monday, 15-Jun-10 12:00:00 GMT", in_2060) == 2010);
    }

    TEST_CASE("date: a leap second is the next one") {
        CHECK(seconds_of("Sat, 31 Dec 2016 23:59:60 GMT") == 1483228800);
    }

    TEST_CASE("date: anything else is none") {
        for (const char* text : {
                 "",
                 ",",
                 "now",
                 "784111777",
                 "1994-11-06T08:49:37Z",
                 "Sun, 06 Nov 1994 08:49:37",
                 "Sun, 06 Nov 1994 08:49:37 UTC",
                 "Sun, 06 Nov 1994 08:49:37 +0000",
                 "Sun, 06 Nov 1994 08:49:37 gmt",
                 "Sun, 06 Nov 1994 08:49:37 GMT ",
                 " Sun, 06 Nov 1994 08:49:37 GMT",
                 "sun, 06 Nov 1994 08:49:37 GMT",
                 "Sxn, 06 Nov 1994 08:49:37 GMT",
                 "Sun,06 Nov 1994 08:49:37 GMT",
                 "Sun, 6 Nov 1994 08:49:37 GMT",
                 "Sun,  6 Nov 1994 08:49:37 GMT",
                 "Sun, 06 nov 1994 08:49:37 GMT",
                 "Sun, 06 Nox 1994 08:49:37 GMT",
                 "Sun, 06 Nov 94 08:49:37 GMT",
                 "Sun, 06 Nov 19940 08:49:37 GMT",
                 "Sun, 06-Nov-1994 08:49:37 GMT",
                 "Sun, 00 Nov 1994 08:49:37 GMT",
                 "Sun, 31 Nov 1994 08:49:37 GMT",
                 "Sun, 29 Feb 2023 08:49:37 GMT",
                 "Sun, 29 Feb 2100 08:49:37 GMT",
                 "Sun, 06 Nov 1994 24:00:00 GMT",
                 "Sun, 06 Nov 1994 08:60:37 GMT",
                 "Sun, 06 Nov 1994 08:49:61 GMT",
                 "Sun, 06 Nov 1994 8:49:37 GMT",
                 "Sun, 06 Nov 1994 08:49:-7 GMT",
                 "Sun, 06 Nov 1994 08-49-37 GMT",
                 "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
                 "Sunday, 06-Nov-1994 08:49:37 GMT",
                 "Sunday, 31-Nov-94 08:49:37 GMT",
                 "Sunday, 06 Nov 94 08:49:37 GMT",
                 "Sunday, 06-Nov-94 08:49:37",
                 "Sun Nov 6 08:49:37 1994",
                 "Sun Nov 06 08:49:37 94",
                 "Sun Nov  6 08:49:37 1994 GMT",
                 "Sun Nov  6 08:49 1994",
                 "Sunday Nov  6 08:49:37 1994",
             }) {
            CAPTURE(text);
            CHECK(!seconds_of(text));
        }
    }

} // TEST_SUITE
