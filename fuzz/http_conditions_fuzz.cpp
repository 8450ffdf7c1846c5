// SPDX-License-Identifier: MPL-2.0
// Input: a byte whose two lowest bits select the resource and the method, then the value of a
// field, which is decoded as each of those that select a response.
#include "fuzz.hpp"

#include "wire/http/conditions.hpp"
#include "wire/http/content_coding.hpp"
#include "wire/http/date.hpp"

#include <string>

using namespace zlink::wire::http;
using std::chrono::seconds;
using std::chrono::sys_seconds;
using zlink::fuzz::require;

namespace {

constexpr sys_seconds modified{seconds{784111777}};
constexpr sys_seconds now = modified + seconds{3600};

void check_date(std::string_view field) {
    const auto date = decode_date(field, now);
    if (date) {
        const date_text text{*date};
        const bool is_last = text.view() == "Fri, 31 Dec 9999 23:59:59 GMT"; // A leap second's.
        require(is_last || decode_date(text.view(), now) == date);
    }
}

void check_conditions(std::string_view field, const validators& current, bool is_get_or_head) {
    const auto outcome_of = [&](const conditions& asked) {
        return evaluate(asked, current, is_get_or_head, now);
    };
    const auto if_match = outcome_of({.if_match = field});
    const auto if_none_match = outcome_of({.if_none_match = field});
    const auto modified_since = outcome_of({.if_modified_since = field});
    const auto unmodified_since = outcome_of({.if_unmodified_since = field});
    const bool is_none_matching = if_none_match == condition_outcome::proceed;
    require(if_match != condition_outcome::not_modified);
    require(unmodified_since != condition_outcome::not_modified);
    require(modified_since != condition_outcome::precondition_failed);
    require(is_none_matching ||
            if_none_match == (is_get_or_head ? condition_outcome::not_modified
                                             : condition_outcome::precondition_failed));
    // A strong match is a weak one too.
    require(if_match == condition_outcome::precondition_failed || !is_none_matching);
    const bool is_current = is_range_current(field, current, now);
    require(!is_current || if_match == condition_outcome::proceed ||
            decode_date(field, now) == modified);
}

void check_coding(std::string_view field) {
    const auto both = choose_coding(field, {.has_gzip = true, .has_br = true});
    const auto neither = choose_coding(field, {});
    require(!neither || *neither == content_coding::identity);
    require(both || !neither);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string_view field{reinterpret_cast<const char*>(data + 1), size - 1};
    const validators current{.exists = true,
                             .tag = decode_entity_tag((data[0] & 1) != 0 ? "\"v1\"" : "W/\"v1\""),
                             .modified = modified};
    check_date(field);
    check_conditions(field, current, (data[0] & 2) != 0);
    check_coding(field);
    return 0;
}
