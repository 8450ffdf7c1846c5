// SPDX-License-Identifier: MPL-2.0
#include "wire/http/content_coding.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace zlink::wire::http;

namespace {

std::string chosen(std::optional<std::string_view> field, available_codings available) {
    const auto coding = choose_coding(field, available);
    if (!coding) {
        return "none";
    }
    return *coding == content_coding::identity ? "identity" : std::string{name_of(*coding)};
}

constexpr available_codings both{.has_gzip = true, .has_br = true};
constexpr available_codings gzip_only{.has_gzip = true, .has_br = false};
constexpr available_codings neither{};

} // namespace

TEST_SUITE("wire/http") {

    TEST_CASE("content coding: is chosen by weight") {
        const struct {
            const char* field;
            const char* of_both;
            const char* of_gzip;
            const char* of_neither;
        } rows[] = {
            {"gzip, deflate, br", "br", "gzip", "identity"},
            {"gzip, deflate, br, zstd", "br", "gzip", "identity"},
            {"gzip", "gzip", "gzip", "identity"},
            {"GZIP", "gzip", "gzip", "identity"},
            {"x-gzip", "gzip", "gzip", "identity"},
            {"br", "br", "identity", "identity"},
            {"gzip;q=1.0, br;q=0.9", "gzip", "gzip", "identity"},
            {"gzip;q=0.9, br;q=0.9", "br", "gzip", "identity"},
            {"gzip;q=0.001", "gzip", "gzip", "identity"},
            {"gzip;q=0.5, identity", "identity", "identity", "identity"},
            {"gzip;q=0.5, identity;q=0.4", "gzip", "gzip", "identity"},
            {"gzip, identity", "gzip", "gzip", "identity"},
            {"gzip;q=0, br", "br", "identity", "identity"},
            {"gzip;q=0, br;q=0", "identity", "identity", "identity"},
            {"*", "br", "gzip", "identity"},
            {"*;q=0.5", "br", "gzip", "identity"},
            {"*, br;q=0", "gzip", "gzip", "identity"},
            {"gzip;q=0.5, *;q=0.8", "br", "identity", "identity"},
            {"identity", "identity", "identity", "identity"},
            {"deflate", "identity", "identity", "identity"},
            {"", "identity", "identity", "identity"},
            {" , ,", "identity", "identity", "identity"},
            {"gzip ; q=0.5 ,\tbr ;\tq=0.6", "br", "gzip", "identity"},
            {"gzip;Q=0.5", "gzip", "gzip", "identity"},
            // The excluded identity.
            {"identity;q=0", "none", "none", "none"},
            {"gzip, identity;q=0", "gzip", "gzip", "none"},
            {"br, *;q=0", "br", "none", "none"},
            {"*;q=0", "none", "none", "none"},
            {"*;q=0.000", "none", "none", "none"},
            {"*;q=0, identity", "identity", "identity", "identity"},
            {"*;q=0, identity;q=0.1", "identity", "identity", "identity"},
            {"gzip;q=0, identity;q=0", "none", "none", "none"},
            // Malformed elements say nothing, and the first of several counts.
            {"gzip;q=2", "identity", "identity", "identity"},
            {"gzip;q=1.001", "identity", "identity", "identity"},
            {"gzip;q=0.1234", "identity", "identity", "identity"},
            {"gzip;q=-1", "identity", "identity", "identity"},
            {"gzip;q=.5", "identity", "identity", "identity"},
            {"gzip;q=0,5", "identity", "identity", "identity"},
            {"gzip;q=", "identity", "identity", "identity"},
            {"gzip;q", "identity", "identity", "identity"},
            {"gzip;", "identity", "identity", "identity"},
            {"gzip;x=1", "identity", "identity", "identity"},
            {"gzip;q=1;x=1", "identity", "identity", "identity"},
            {"gzip q=1", "identity", "identity", "identity"},
            {"gzip;q= 1", "identity", "identity", "identity"},
            {"identity;q=x", "identity", "identity", "identity"},
            {"gzip;q=0, gzip", "identity", "identity", "identity"},
            {"gzip;q=0.", "identity", "identity", "identity"},
            {"gzip;q=1.", "gzip", "gzip", "identity"},
            {"gzip;q=1.000", "gzip", "gzip", "identity"},
            {"gzipped", "identity", "identity", "identity"},
        };
        for (const auto& row : rows) {
            CAPTURE(row.field);
            CHECK(chosen(row.field, both) == row.of_both);
            CHECK(chosen(row.field, gzip_only) == row.of_gzip);
            CHECK(chosen(row.field, neither) == row.of_neither);
        }
    }

    TEST_CASE("content coding: without the field it is identity") {
        CHECK(chosen(std::nullopt, both) == "identity");
    }

    TEST_CASE("content coding: has a name, but for identity") {
        CHECK(name_of(content_coding::gzip) == "gzip");
        CHECK(name_of(content_coding::br) == "br");
        CHECK(name_of(content_coding::identity).empty());
    }

} // TEST_SUITE
