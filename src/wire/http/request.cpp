// SPDX-License-Identifier: MPL-2.0
#include "wire/http/request.hpp"

#include "base/limits.hpp"
#include "wire/field_text.hpp"
#include "wire/http/authority.hpp"
#include "wire/http/status.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <charconv>
#include <limits>
#include <utility>

namespace zlink::wire::http {

namespace {

namespace beast = boost::beast;

constexpr std::string_view version_example = "HTTP/1.1";
constexpr std::string_view ambiguous = "The request can be understood in more than one way.";

std::string_view view(beast::string_view text) noexcept {
    return {text.data(), text.size()};
}

/// Beast's parser, which passes on views of its input.
class beast_parser final : public beast::http::basic_parser<true> {
public:
    explicit beast_parser(request& to) noexcept : to_(to) {
        header_limit(std::numeric_limits<std::uint32_t>::max()); // The limits are ours.
        body_limit(boost::none);
    }

    /// Parses a complete head.
    bool parse(std::string_view head) {
        beast::error_code failed;
        const std::size_t bytes = put(boost::asio::buffer(head), failed);
        return !failed && bytes == head.size() && is_header_done();
    }

    /// The same framing as in the request.
    bool has_same_framing() const {
        const auto length = content_length();
        return chunked() == (to_.framing == body_framing::chunked) &&
               length.has_value() == (to_.framing == body_framing::length) &&
               length.value_or(0) == to_.content_bytes;
    }

private:
    void on_request_impl(beast::http::verb /*method*/, beast::string_view method,
                         beast::string_view target, int version,
                         beast::error_code& /*failed*/) override {
        constexpr int version_1_0 = 10;
        to_.method = view(method);
        to_.target = view(target);
        to_.is_version_1_0 = version == version_1_0;
    }

    void on_field_impl(beast::http::field /*name*/, beast::string_view name,
                       beast::string_view value, beast::error_code& /*failed*/) override {
        to_.fields.push_back({view(name), view(value)});
    }

    // Only a head is parsed, so none of the others is called for a body.
    void on_response_impl(int /*status*/, beast::string_view /*reason*/, int /*version*/,
                          beast::error_code& /*failed*/) override {}
    void on_header_impl(beast::error_code& /*failed*/) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>& /*bytes*/,
                           beast::error_code& /*failed*/) override {}
    std::size_t on_body_impl(beast::string_view body, beast::error_code& /*failed*/) override {
        return body.size();
    }
    void on_chunk_header_impl(std::uint64_t /*bytes*/, beast::string_view /*extensions*/,
                              beast::error_code& /*failed*/) override {}
    std::size_t on_chunk_body_impl(std::uint64_t /*remaining*/, beast::string_view body,
                                   beast::error_code& /*failed*/) override {
        return body.size();
    }
    void on_finish_impl(beast::error_code& /*failed*/) override {}

    request& to_;
};

/// Removes the first line from the front of `head`, which has one, and returns it without its end.
std::string_view take_line(std::string_view& head) noexcept {
    const std::string_view line = head.substr(0, head.find(line_end));
    head.remove_prefix(line.size() + line_end.size());
    return line;
}

/// Whether a head in which each line was checked consists of what `parsed` says.
bool is_made_of(std::string_view head, const request& parsed) noexcept {
    std::string_view line = take_line(head);
    const auto takes = [&](std::string_view part) {
        const bool is_next = line.starts_with(part);
        line.remove_prefix(is_next ? part.size() : 0);
        return is_next;
    };
    if (!takes(parsed.method) || !takes(" ") || !takes(parsed.target) || !takes(" ") ||
        line != (parsed.is_version_1_0 ? "HTTP/1.0" : "HTTP/1.1")) {
        return false;
    }
    for (const field& each : parsed.fields) {
        line = take_line(head);
        if (!takes(each.name) || !takes(":") || trimmed(line) != each.value) {
            return false;
        }
    }
    return head == line_end;
}

/// A number of at most 63 bits, which file offsets have; digits only.
std::optional<std::uint64_t> number_of(std::string_view text) noexcept {
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [read_to, failure] = std::from_chars(text.data(), end, number);
    if (text.empty() || !is_digit(text.front()) || failure != std::errc{} || read_to != end) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(number);
}

/// Calls `on_element` with each element of all lines of a field that is a list, the empty ones too,
/// until it returns true.
/// @return Whether it returned true.
template<class Callback>
bool any_element(const request& in, std::string_view name, Callback on_element) {
    return std::ranges::any_of(in.fields, [&](const field& each) {
        if (!is_same_text(each.name, name)) {
            return false;
        }
        std::string_view list = each.value;
        bool is_last = false;
        while (!is_last) {
            is_last = list.find(',') == std::string_view::npos;
            if (on_element(take_element(list, ','))) {
                return true;
            }
        }
        return false;
    });
}

} // namespace

bool request::has(std::string_view name) const noexcept {
    return std::ranges::any_of(fields,
                               [&](const field& each) { return is_same_text(each.name, name); });
}

std::optional<std::string_view> request::value(std::string_view name) const noexcept {
    std::optional<std::string_view> found;
    for (const field& each : fields) {
        if (is_same_text(each.name, name)) {
            if (found) {
                return std::nullopt;
            }
            found = each.value;
        }
    }
    return found;
}

std::optional<std::string_view> request::joined(std::string_view name, std::string& room) const {
    std::optional<std::string_view> found;
    for (const field& each : fields) {
        if (!is_same_text(each.name, name)) {
            continue;
        }
        if (!found) {
            found = each.value;
            continue;
        }
        if (found->data() != room.data()) {
            room = *found;
        }
        room += ", ";
        room += each.value;
        found = room;
    }
    return found;
}

request_decoder::progress request_decoder::decode(std::span<const std::byte>& input) {
    while (state_ == progress::incomplete && !input.empty()) {
        // Line by line, so that no octet behind the head is copied.
        const std::size_t room = limits::http_head_bytes_max - head_.size();
        const std::string_view next{reinterpret_cast<const char*>(input.data()),
                                    std::min(input.size(), room)};
        const std::size_t end = std::min(next.find('\n'), next.size() - 1) + 1;
        input = input.subspan(end);
        take(next.substr(0, end));
    }
    return state_;
}

void request_decoder::next() noexcept {
    head_.clear();
    std::vector<field> fields = std::move(request_.fields);
    fields.clear();
    request_ = {};
    request_.fields = std::move(fields); // For their memory.
    refusal_ = {};
    line_begin_ = 0;
    part_bytes_ = 0;
    field_count_ = 0;
    empty_line_count_ = 0;
    state_ = progress::incomplete;
    part_ = part::method;
    is_after_cr_ = false;
}

void request_decoder::release() noexcept {
    next();
    std::string{}.swap(head_);
    std::vector<field>{}.swap(request_.fields);
}

/// @return False, for callers that return whether they succeeded.
bool request_decoder::refuse(int status, std::string_view why) noexcept {
    state_ = progress::refused;
    refusal_ = {status, why};
    return false;
}

/// @param piece  Octets of one line; its LF comes last, if it is there.
void request_decoder::take(std::string_view piece) {
    if (!std::ranges::all_of(piece, [this](char octet) { return check(octet); })) {
        return;
    }
    head_ += piece;
    if (piece.ends_with('\n') && !on_line()) {
        return;
    }
    if (state_ == progress::incomplete && head_.size() == limits::http_head_bytes_max) {
        refuse(fields_too_large, "The head of the request is too large.");
    }
}

/// Checks the next octet: lines end with CR LF, which come nowhere else (RFC 9112, 2.2), and no
/// other control characters are valid but HTAB in a field's value (RFC 9110, 5.5).
bool request_decoder::check(char octet) noexcept {
    const bool is_lf_due = std::exchange(is_after_cr_, octet == '\r');
    if (is_lf_due != (octet == '\n')) {
        return refuse(bad_request,
                      is_lf_due ? "A CR is not followed by LF." : "A line ends without CR.");
    }
    if (octet == '\r' || octet == '\n') {
        return true;
    }
    if (is_control(octet) && octet != '\t') {
        return refuse(bad_request, "The head of the request contains a control character.");
    }
    return part_ == part::fields || check_in_request_line(octet);
}

/// Checks the next octet of `method SP request-target SP HTTP-version` (RFC 9112, 3), without the
/// leniency that it permits: so nothing but one space separates the parts.
bool request_decoder::check_in_request_line(char octet) noexcept {
    if (octet == ' ') {
        if (part_bytes_ == 0 || part_ == part::version) {
            return refuse(bad_request, "The request line has a space too many.");
        }
        part_ = part_ == part::method ? part::target : part::version;
        part_bytes_ = 0;
        return true;
    }
    ++part_bytes_;
    if (part_ == part::method) {
        if (!is_token_character(octet)) {
            return refuse(bad_request, "The method is invalid.");
        }
        return part_bytes_ <= limits::http_method_bytes_max ||
               refuse(not_implemented, "The method is not known.");
    }
    if (part_ == part::target) {
        if (octet < '!' || octet > '~' || octet == '#') {
            return refuse(bad_request, "The target contains an invalid character.");
        }
        return part_bytes_ <= limits::http_target_bytes_max ||
               refuse(uri_too_long, "The target is too long.");
    }
    return part_bytes_ <= version_example.size() || refuse(bad_request, "The version is invalid.");
}

/// Takes the line that is complete now.
bool request_decoder::on_line() {
    const std::string_view line =
        std::string_view{head_}.substr(line_begin_, head_.size() - line_begin_ - line_end.size());
    if (part_ != part::fields) {
        if (line.empty()) { // Skipped before a request (RFC 9112, 2.2).
            head_.clear();
            return ++empty_line_count_ <= limits::http_empty_lines_max ||
                   refuse(bad_request, "There are too many empty lines before the request.");
        }
        line_begin_ = head_.size();
        return on_request_line();
    }
    line_begin_ = head_.size();
    return line.empty() ? on_end() : on_field_line(line);
}

/// Examines the version; the other parts were checked when they arrived.
bool request_decoder::on_request_line() noexcept {
    const std::size_t version_begin = head_.size() - line_end.size() - part_bytes_;
    const std::string_view version = std::string_view{head_}.substr(version_begin, part_bytes_);
    const std::size_t minor = version_example.size() - 1;
    const std::size_t major = minor - 2;
    if (part_ != part::version || version.size() != version_example.size() ||
        !version.starts_with(version_example.substr(0, major)) || !is_digit(version[major]) ||
        version[major + 1] != '.' || !is_digit(version[minor])) {
        return refuse(bad_request, "The version is missing or invalid.");
    }
    if (version[major] != '1') {
        return refuse(version_not_supported, "The version of HTTP is not supported.");
    }
    if (version[minor] > '1') {
        head_[version_begin + minor] = '1'; // Counts as 1.1; Beast knows no higher ones.
    }
    part_ = part::fields;
    return true;
}

/// Examines `field-name ":" OWS field-value OWS` (RFC 9112, 5).
bool request_decoder::on_field_line(std::string_view line) noexcept {
    if (line.starts_with(' ') || line.starts_with('\t')) { // RFC 9112, 2.2 and 5.2.
        return refuse(bad_request, "A line of the head begins with a space.");
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
        return refuse(bad_request, "A line of the head has no colon.");
    }
    if (!is_token(line.substr(0, colon))) { // Nor may a space precede the colon (RFC 9112, 5.1).
        return refuse(bad_request, "The name of a field is invalid.");
    }
    return ++field_count_ <= limits::http_fields_max ||
           refuse(fields_too_large, "The request has too many fields.");
}

/// Takes the complete head.
bool request_decoder::on_end() {
    beast_parser parser{request_};
    if (!parser.parse(head_) || !is_made_of(head_, request_)) {
        return refuse(bad_request, ambiguous);
    }
    if (!find_target() || !find_host() || !find_framing() || !find_expectation()) {
        return false;
    }
    if (!parser.has_same_framing()) {
        return refuse(bad_request, ambiguous);
    }
    find_persistence();
    state_ = progress::complete;
    return true;
}

/// Finds the target's form and parts (RFC 9112, 3.2).
bool request_decoder::find_target() noexcept {
    const std::string_view target = request_.target;
    if (request_.method == "CONNECT") {
        return is_authority(target) ? refuse(not_implemented, "This server is not a proxy.")
                                    : refuse(bad_request, "The target is invalid.");
    }
    if (target == "*" && request_.method == "OPTIONS") {
        request_.form = target_form::asterisk;
        request_.path = target;
        return true;
    }
    if (!target.starts_with('/')) {
        return find_absolute_target();
    }
    request_.path = target.substr(0, target.find('?'));
    request_.query = target.substr(std::min(request_.path.size() + 1, target.size()));
    return true;
}

/// Finds the parts of `scheme "://" authority path [ "?" query ]` (RFC 9112, 3.2.2).
bool request_decoder::find_absolute_target() noexcept {
    constexpr std::string_view scheme_end = "://";
    constexpr std::array schemes{"http", "https", "ws", "wss"};
    const std::size_t scheme_bytes = request_.target.find(scheme_end);
    const std::string_view scheme = request_.target.substr(0, scheme_bytes);
    if (scheme_bytes == std::string_view::npos ||
        std::ranges::none_of(schemes, [&](auto each) { return is_same_text(scheme, each); })) {
        return refuse(bad_request, "The target is invalid.");
    }
    std::string_view rest = request_.target.substr(scheme_bytes + scheme_end.size());
    request_.host = rest.substr(0, rest.find_first_of("/?"));
    if (!is_authority(request_.host)) {
        return refuse(bad_request, "The host in the target is invalid.");
    }
    rest.remove_prefix(request_.host.size());
    request_.form = target_form::absolute;
    request_.path = rest.substr(0, rest.find('?'));
    request_.query = rest.substr(std::min(request_.path.size() + 1, rest.size()));
    if (request_.path.empty()) {
        request_.path = rest.empty() && request_.method == "OPTIONS" ? "*" : "/";
    }
    return true;
}

/// Finds the Host field, of which there has to be one, except in version 1.0 (RFC 9112, 3.2).
bool request_decoder::find_host() noexcept {
    constexpr std::string_view name = "Host";
    const std::optional<std::string_view> host = request_.value(name);
    if (!host) {
        if (request_.has(name)) {
            return refuse(bad_request, "The request has more than one Host field.");
        }
        return request_.is_version_1_0 || refuse(bad_request, "The request has no Host field.");
    }
    if (!host->empty() && !is_authority(*host)) {
        return refuse(bad_request, "The Host field is invalid.");
    }
    if (request_.form != target_form::absolute) { // RFC 9112, 3.2.2.
        request_.host = *host;
    }
    return true;
}

/// Finds the length of the content (RFC 9112, 6.3).
bool request_decoder::find_framing() noexcept {
    const bool has_length = request_.has("Content-Length");
    if (!request_.has("Transfer-Encoding")) {
        return !has_length || find_content_length();
    }
    if (has_length) { // RFC 9112, 6.1, "Transfer-Encoding", and 11.2.
        return refuse(bad_request, "The request has both Content-Length and Transfer-Encoding.");
    }
    if (request_.is_version_1_0) {
        return refuse(bad_request, "HTTP/1.0 has no Transfer-Encoding.");
    }
    return find_transfer_coding();
}

/// Finds the Content-Length. It may be repeated only if it is always the same (RFC 9110, 8.6).
bool request_decoder::find_content_length() noexcept {
    std::optional<std::uint64_t> found;
    const bool is_wrong =
        any_element(request_, "Content-Length", [&found](std::string_view element) {
            const std::optional<std::uint64_t> number = number_of(element);
            const bool is_other = !number || (found && *found != *number);
            found = number;
            return is_other;
        });
    if (is_wrong) {
        return refuse(bad_request, "The Content-Length is invalid.");
    }
    request_.framing = body_framing::length;
    request_.content_bytes = *found;
    return true;
}

/// Finds the transfer codings. The last one has to be chunked, or the length is not known (RFC
/// 9112, 6.3); and no other is known here.
bool request_decoder::find_transfer_coding() noexcept {
    unsigned chunked_count = 0;
    bool is_last_chunked = false;
    bool has_others = false;
    const bool is_wrong = any_element(request_, "Transfer-Encoding", [&](std::string_view element) {
        is_last_chunked = is_same_text(element, "chunked");
        chunked_count += is_last_chunked ? 1 : 0;
        has_others = has_others || !is_last_chunked;
        const std::string_view coding = take_element(element, ';');
        // chunked has no parameters (RFC 9112, 7.1).
        return !is_token(coding) || (!is_last_chunked && is_same_text(coding, "chunked"));
    });
    if (is_wrong || !is_last_chunked || chunked_count != 1) {
        return refuse(bad_request, "The Transfer-Encoding is invalid.");
    }
    if (has_others) { // RFC 9112, 6.1.
        return refuse(not_implemented, "The Transfer-Encoding is not supported.");
    }
    request_.framing = body_framing::chunked;
    return true;
}

/// Finds whether the client expects status 100, the only expectation that there is (RFC 9110,
/// 10.1.1). Of version 1.0 that one is ignored; and without content there is nothing to wait for.
bool request_decoder::find_expectation() noexcept {
    bool is_expected = false;
    const bool has_others = any_element(request_, "Expect", [&](std::string_view element) {
        const bool is_100 = is_same_text(element, "100-continue");
        is_expected = is_expected || is_100;
        return !is_100 && !element.empty();
    });
    if (has_others) {
        return refuse(expectation_failed, "The expectation is not known.");
    }
    const bool has_content =
        request_.framing == body_framing::chunked || request_.content_bytes > 0;
    request_.expects_continue = is_expected && has_content && !request_.is_version_1_0;
    return true;
}

/// Finds whether the connection persists (RFC 9112, 9.3).
void request_decoder::find_persistence() noexcept {
    const auto has_option = [this](std::string_view option) {
        return any_element(request_, "Connection", [option](std::string_view element) {
            return is_same_text(element, option);
        });
    };
    request_.persists =
        !has_option("close") && (!request_.is_version_1_0 || has_option("keep-alive"));
}

} // namespace zlink::wire::http
