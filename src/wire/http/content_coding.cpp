// SPDX-License-Identifier: MPL-2.0
#include "wire/http/content_coding.hpp"

#include "wire/field_text.hpp"

#include <algorithm>
#include <array>

namespace zlink::wire::http {

namespace {

// Weights in thousandths, and 1 more, so that 1 is left for identity where no element is about it.
constexpr unsigned not_acceptable = 0;
constexpr unsigned unnamed_identity = 1;
constexpr unsigned weight_max = 1001;

/// A weight: `"0" [ "." *3DIGIT ]` or `"1" [ "." *3"0" ]` (RFC 9110, 12.4.2).
std::optional<unsigned> decode_qvalue(std::string_view text) noexcept {
    constexpr std::size_t bytes_max = 5;
    if (text.empty() || text.size() > bytes_max || text[0] < '0' || text[0] > '1' ||
        (text.size() > 1 && text[1] != '.')) {
        return std::nullopt;
    }
    unsigned thousandths = hex_value(text[0]) * 1000;
    unsigned place = 100;
    for (const char digit : text.substr(std::min<std::size_t>(text.size(), 2))) {
        if (!is_digit(digit)) {
            return std::nullopt;
        }
        thousandths += hex_value(digit) * place;
        place /= 10;
    }
    if (thousandths == 0) {
        return not_acceptable;
    }
    return thousandths + 1 <= weight_max ? std::optional{thousandths + 1} : std::nullopt;
}

/// The weight behind a coding: `[ OWS ";" OWS "q=" qvalue ]`.
std::optional<unsigned> decode_weight(std::string_view parameters) noexcept {
    if (parameters.empty()) {
        return weight_max;
    }
    constexpr std::string_view prefix = "q=";
    return is_same_text(parameters.substr(0, prefix.size()), prefix)
               ? decode_qvalue(parameters.substr(prefix.size()))
               : std::nullopt;
}

/// The weights that the field gives; none for codings that it does not name.
struct weights {
    std::optional<unsigned> identity;
    std::optional<unsigned> gzip;
    std::optional<unsigned> br;
    std::optional<unsigned> any;
};

weights decode(std::string_view field) noexcept {
    weights found;
    while (!field.empty()) {
        std::string_view parameters = take_element(field, ',');
        const bool has_parameters = parameters.find(';') != std::string_view::npos;
        const std::string_view coding = take_element(parameters, ';');
        const std::optional<unsigned> weight = has_parameters && trimmed(parameters).empty()
                                                   ? std::nullopt
                                                   : decode_weight(trimmed(parameters));
        if (is_same_text(coding, "identity")) {
            found.identity = found.identity ? found.identity : weight;
        } else if (is_same_text(coding, "gzip") || is_same_text(coding, "x-gzip")) {
            found.gzip = found.gzip ? found.gzip : weight; // RFC 9110, 8.4.1.3.
        } else if (is_same_text(coding, "br")) {
            found.br = found.br ? found.br : weight;
        } else if (coding == "*") {
            found.any = found.any ? found.any : weight;
        }
    }
    return found;
}

} // namespace

std::string_view name_of(content_coding coding) noexcept {
    switch (coding) {
    case content_coding::identity:
        break;
    case content_coding::gzip:
        return "gzip";
    case content_coding::br:
        return "br";
    }
    return {};
}

std::optional<content_coding> choose_coding(std::optional<std::string_view> accept_encoding,
                                            available_codings available) noexcept {
    if (!accept_encoding) {
        return content_coding::identity;
    }
    const weights asked = decode(*accept_encoding);
    const unsigned any = asked.any.value_or(not_acceptable);
    const struct {
        content_coding coding;
        unsigned weight;
    } candidates[] = {
        {content_coding::br, available.has_br ? asked.br.value_or(any) : not_acceptable},
        {content_coding::gzip, available.has_gzip ? asked.gzip.value_or(any) : not_acceptable},
        {content_coding::identity, asked.identity.value_or(asked.any.value_or(unnamed_identity))},
    };
    const auto* const best = std::ranges::max_element(
        candidates, {}, [](const auto& each) { return each.weight; }); // The first of equal ones.
    return best->weight != not_acceptable ? std::optional{best->coding} : std::nullopt;
}

} // namespace zlink::wire::http
