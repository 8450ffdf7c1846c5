// SPDX-License-Identifier: MPL-2.0
#include "wire/http/response_head.hpp"

#include "wire/field_text.hpp"
#include "wire/http/date.hpp"
#include "wire/http/status.hpp"

#include <algorithm>

namespace zlink::wire::http {

namespace {

constexpr struct {
    int status;
    std::string_view reason;
} reasons[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {200, "OK"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {426, "Upgrade Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
};

bool is_value_character(char character) noexcept {
    return !is_control(character) || character == '\t';
}

/// RFC 3986, 2.3.
bool is_unreserved(char character) noexcept {
    return is_letter_or_digit(character) ||
           std::string_view{"-._~"}.find(character) != std::string_view::npos;
}

} // namespace

std::string_view reason_of(int status) noexcept {
    for (const auto& each : reasons) {
        if (each.status == status) {
            return each.reason;
        }
    }
    return {};
}

response_head::response_head(std::string& out, int status) : out_(out) {
    out_ += "HTTP/1.1 ";
    out_ += std::to_string(status);
    out_ += ' '; // Even without a reason (RFC 9112, 4).
    out_ += reason_of(status);
    out_ += line_end;
}

result<void> response_head::add(std::string_view name, std::string_view value) {
    if (!is_token(name) || !std::ranges::all_of(value, is_value_character)) {
        return errc::invalid_argument;
    }
    append(name, value);
    return {};
}

void response_head::add_number(std::string_view name, std::uint64_t value) {
    append(name, std::to_string(value));
}

void response_head::add_first(std::chrono::sys_seconds now, bool persists, bool is_client_1_0) {
    add_date("Date", now);
    if (!persists) {
        append("Connection", "close");
    } else if (is_client_1_0) {
        append("Connection", "keep-alive"); // Closing is the default of 1.0 (RFC 9112, C.2.2).
    }
}

void response_head::add_date(std::string_view name, std::chrono::sys_seconds when) {
    append(name, date_text{when}.view());
}

void response_head::end() {
    out_ += line_end;
}

void response_head::append(std::string_view name, std::string_view value) {
    out_ += name;
    out_ += ": ";
    out_ += value;
    out_ += line_end;
}

std::string percent_encoded(std::string_view path) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    constexpr unsigned digit_bits = 4;
    constexpr unsigned digit_max = 15;
    std::string encoded;
    for (const char octet : path) {
        if (is_unreserved(octet) || (octet == '/' && encoded != "/")) {
            encoded += octet;
            continue;
        }
        const auto number = static_cast<unsigned char>(octet);
        encoded += '%';
        encoded += digits[number >> digit_bits];
        encoded += digits[number & digit_max];
    }
    return encoded;
}

std::string html_escaped(std::string_view text) {
    std::string escaped;
    for (const char each : text) {
        switch (each) {
        case '&':
            escaped += "&amp;";
            break;
        case '<':
            escaped += "&lt;";
            break;
        case '>':
            escaped += "&gt;";
            break;
        case '"':
            escaped += "&quot;";
            break;
        case '\'':
            escaped += "&#39;";
            break;
        default:
            escaped += each;
        }
    }
    return escaped;
}

} // namespace zlink::wire::http
