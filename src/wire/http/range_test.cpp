// SPDX-License-Identifier: MPL-2.0
#include "wire/http/range.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace zlink;
using namespace zlink::wire::http;
using kind = range_selection::kind;

namespace {

/// "whole", "unsatisfiable", or the parts as "0-1 4-9".
std::string selected(std::string_view field, std::uint64_t representation_bytes,
                     std::string_view media_type = "a/b") {
    const auto selection = range_selection::decode(field, representation_bytes, media_type);
    CHECK(selection.parts().empty() == (selection.what() != kind::parts));
    if (selection.what() == kind::unsatisfiable) {
        return "unsatisfiable";
    }
    std::string text;
    for (const byte_range& part : selection.parts()) {
        text += (text.empty() ? "" : " ") + std::to_string(part.first) + "-" +
                std::to_string(part.last);
    }
    return text.empty() ? "whole" : text;
}

} // namespace

TEST_SUITE("wire/http") {

    TEST_CASE("range: one range of 1000 octets") {
        const struct {
            const char* field;
            const char* selected;
        } rows[] = {
            {"bytes=0-499", "0-499"},
            {"bytes=500-999", "500-999"},
            {"bytes=0-0", "0-0"},
            {"bytes=999-999", "999-999"},
            {"bytes=0-", "0-999"},
            {"bytes=999-", "999-999"},
            {"bytes=0-999", "0-999"},
            {"bytes=0-1000", "0-999"},
            {"bytes=500-99999999999999999999999999", "500-999"},
            {"bytes=-500", "500-999"},
            {"bytes=-1", "999-999"},
            {"bytes=-1000", "0-999"},
            {"bytes=-1001", "0-999"},
            {"bytes=-99999999999999999999999999", "0-999"},
            {"bytes=00-0001", "0-1"},
            {"BYTES=0-1", "0-1"},
            {"bytes= 0-1 ", "0-1"},
            {"bytes=\t,, 0-1, ,", "0-1"},
        };
        for (const auto& row : rows) {
            CAPTURE(row.field);
            CHECK(selected(row.field, 1000) == row.selected);
        }
    }

    TEST_CASE("range: without an octet to send it is unsatisfiable") {
        for (const char* field : {"bytes=1000-", "bytes=1000-1000", "bytes=1000-2000", "bytes=-0",
                                  "bytes=1000-,-0", "bytes=99999999999999999999999999-"}) {
            CAPTURE(field);
            CHECK(selected(field, 1000) == "unsatisfiable");
        }
        CHECK(selected("bytes=0-", 0) == "unsatisfiable");
        CHECK(selected("bytes=0-0", 0) == "unsatisfiable");
        CHECK(selected("bytes=-0", 0) == "unsatisfiable");
    }

    TEST_CASE("range: a suffix of nothing is the whole of it") {
        CHECK(selected("bytes=-5", 0) == "whole");
        CHECK(selected("bytes=0-,-5", 0) == "whole");
    }

    TEST_CASE("range: one that is malformed, or of another unit, is ignored") {
        for (const char* field : {
                 "",
                 "bytes",
                 "bytes=",
                 "bytes=,",
                 "bytes=-",
                 "bytes=0",
                 "bytes=1-0",
                 "bytes=0-1,5-4",
                 "bytes=0-1,x",
                 "bytes=0-1 2-3",
                 "bytes=0-1;2-3",
                 "bytes=a-b",
                 "bytes=0x0-1",
                 "bytes=+0-1",
                 "bytes=0-+1",
                 "bytes=--1",
                 "bytes=0--1",
                 "bytes=0-1-2",
                 "bytes=0 -1",
                 "bytes=0- 1",
                 "bytes=-1.5",
                 "bytes:0-1",
                 "bytes 0-1",
                 "bytes =0-1",
                 " bytes=0-1",
                 "byte=0-1",
                 "items=0-1",
                 "=0-1",
                 "0-1",
                 "bytes=bytes=0-1",
                 "bytes=99999999999999999999-1",
             }) {
            CAPTURE(field);
            CHECK(selected(field, 1000) == "whole");
        }
    }

    TEST_CASE("range: several become parts in the order of the field") {
        CHECK(selected("bytes=0-9,100-109", 1000) == "0-9 100-109");
        CHECK(selected("bytes=100-109, 0-9", 1000) == "100-109 0-9");
        CHECK(selected("bytes=-1,0-0", 1000) == "999-999 0-0");
        CHECK(selected("bytes=1000-,0-0,2000-", 1000) == "0-0");
    }

    TEST_CASE("range: those that overlap or adjoin become one, at the place of the first") {
        const struct {
            const char* field;
            const char* selected;
        } rows[] = {
            {"bytes=0-9,5-14", "0-14"},
            {"bytes=5-14,0-9", "0-14"},
            {"bytes=0-9,10-19", "0-19"},
            {"bytes=10-19,0-9", "0-19"},
            {"bytes=0-9,11-19", "0-9 11-19"},
            {"bytes=0-9,0-9,0-9", "0-9"},
            {"bytes=0-99,10-19", "0-99"},
            {"bytes=10-19,0-99", "0-99"},
            {"bytes=500-509,0-9,510-519", "500-519 0-9"},
            {"bytes=0-9,20-29,500-509,10-19", "0-29 500-509"},
            {"bytes=500-509,20-29,0-9,10-19", "500-509 0-29"},
            {"bytes=500-509,20-29,0-9,0-999", "0-999"},
            {"bytes=-10,0-9,-20", "980-999 0-9"},
            {"bytes=0-,0-,0-,0-,0-,0-,0-,0-,0-,0-,0-,0-,0-,0-,0-,0-,0-,0-", "0-999"},
        };
        for (const auto& row : rows) {
            CAPTURE(row.field);
            CHECK(selected(row.field, 1000) == row.selected);
        }
        CHECK(selected("bytes=0-1,18446744073709551613-", UINT64_MAX) ==
              "0-1 18446744073709551613-18446744073709551614");
        CHECK(selected("bytes=0-,-18446744073709551615", UINT64_MAX) == "0-18446744073709551614");
    }

    TEST_CASE("range: the number of parts has a maximum") {
        const auto field = [](std::size_t count, std::size_t step) {
            std::string text = "bytes=";
            for (std::size_t index = 0; index < count; ++index) {
                text += std::to_string(index * step) + "-" + std::to_string(index * step) + ",";
            }
            return text;
        };
        constexpr std::uint64_t bytes = 1000000;
        const auto parts_of = [](const std::string& text) {
            return range_selection::decode(text, bytes, "a/b").parts().size();
        };
        CHECK(parts_of(field(limits::http_parts_max, 2)) == limits::http_parts_max);
        CHECK(selected(field(limits::http_parts_max + 1, 2), bytes) == "whole");
        // The number that counts is the one once they are coalesced.
        CHECK(selected(field(limits::http_parts_max + 1, 2) + "0-99", bytes) == "0-99");
        CHECK(selected(field(limits::http_ranges_max, 1), bytes) == "0-99");
        CHECK(selected(field(limits::http_ranges_max + 1, 1), bytes) == "whole");
    }

    TEST_CASE("range: the whole is sent where parts with their heads would take more") {
        CHECK(selected("bytes=0-0,9-9", 1000, "text/plain") == "0-0 9-9");
        const byte_range parts[] = {{0, 0}, {9, 9}};
        const std::uint64_t bytes = multipart_bytes(parts, 200, "text/plain");
        CHECK(bytes > 100);
        CHECK(bytes < 1000);
        CHECK(selected("bytes=0-0,9-9", bytes, "text/plain") == "0-0 9-9");
        CHECK(selected("bytes=0-0,9-9", bytes - 1, "text/plain") == "whole");
        CHECK(selected("bytes=0-0,9-9", bytes, "text/plain2") == "whole");
        CHECK(selected("bytes=0-0", 1, "text/plain") == "0-0");
    }

    TEST_CASE("range: the fields of a response") {
        CHECK(content_range({0, 99}, 1000) == "bytes 0-99/1000");
        CHECK(content_range({0, UINT64_MAX - 1}, UINT64_MAX) ==
              "bytes 0-18446744073709551614/18446744073709551615");
        CHECK(unsatisfied_range(1000) == "bytes */1000");
        CHECK(unsatisfied_range(0) == "bytes */0");
    }

    TEST_CASE("range: a multipart has the size that was computed") {
        const std::string boundary(boundary_bytes, 'b');
        const std::string file(12345, 'x');
        const byte_range parts[] = {{0, 0}, {10, 99}, {5000, 12344}};
        std::string out;
        for (const byte_range& part : parts) {
            append_part_head(out, part, file.size(), "video/mp4", boundary);
            out += file.substr(part.first, part.bytes());
        }
        append_multipart_end(out, boundary);
        CHECK(out.size() == multipart_bytes(parts, file.size(), "video/mp4"));
        CHECK(out.starts_with("\r\n--bbbbbbbbbbbbbbbbbbbbbbbb\r\nContent-Type: video/mp4\r\n"
                              "Content-Range: bytes 0-0/12345\r\n\r\nx\r\n--bbb"));
        CHECK(out.ends_with("x\r\n--bbbbbbbbbbbbbbbbbbbbbbbb--\r\n"));
    }

} // TEST_SUITE
