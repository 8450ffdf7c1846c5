// SPDX-License-Identifier: MPL-2.0
#include "session/web_handshake.hpp"

#include "base/limits.hpp"
#include "session/zws.hpp"
#include "wire/field_text.hpp"
#include "wire/websocket/sha1.hpp"
#include "wire/websocket/upgrade.hpp"

#include <algorithm>
#include <array>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstdint>
#include <sodium.h>
#include <utility>

namespace zlink::session {

namespace http = boost::beast::http;
namespace websocket = wire::websocket;

namespace {

constexpr std::string_view line_end = "\r\n";
constexpr std::string_view header_end = "\r\n\r\n";
constexpr int status_switching = 101;
constexpr int status_final = 200;
constexpr int status_redirects = 300;
constexpr int status_errors = 400;
constexpr std::string_view unknown_reason = "<unknown-status>"; ///< Beast's placeholder.
constexpr std::size_t shown_reason_max = 80;
constexpr std::size_t shown_location_max = 400;
constexpr std::size_t key_bytes = 16;
constexpr std::size_t key_characters = 24;

std::string base64(std::span<const std::uint8_t> data) {
    constexpr int variant = sodium_base64_VARIANT_ORIGINAL;
    std::string text(sodium_base64_encoded_len(data.size(), variant), '\0');
    sodium_bin2base64(text.data(), text.size(), data.data(), data.size(), variant);
    text.pop_back(); // The terminating null.
    return text;
}

/// The value that proves that the server has read `key` (RFC 6455, 4.2.2).
std::string accept_of(std::string_view key) {
    const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    return base64(websocket::sha1(text));
}

/// Whether `text` is the base64 form of 16 bytes.
bool is_key(std::string_view text) noexcept {
    return text.size() == key_characters && text.ends_with("==") &&
           std::all_of(text.begin(), text.end() - 2, [](char each) {
               return wire::is_letter_or_digit(each) || each == '+' || each == '/';
           });
}

std::string_view view(boost::beast::string_view text) noexcept {
    return {text.data(), text.size()};
}

/// The values of all fields with that name, separated by commas.
template<class Fields>
std::string values(const Fields& fields, http::field name) {
    std::string joined;
    const auto [first, last] = fields.equal_range(name);
    for (auto each = first; each != last; ++each) {
        joined += joined.empty() ? "" : ",";
        joined += view(each->value());
    }
    return joined;
}

/// The same for a name that Beast does not know; nothing if there is none.
template<class Fields>
std::optional<std::string> joined_values(const Fields& fields, std::string_view name) {
    std::optional<std::string> joined;
    const auto [first, last] = fields.equal_range({name.data(), name.size()});
    for (auto each = first; each != last; ++each) {
        joined = joined ? *joined + "," : std::string{};
        *joined += view(each->value());
    }
    return joined;
}

template<class Fields>
bool is_upgrade(const Fields& fields) {
    return wire::has_token(values(fields, http::field::upgrade), "websocket") &&
           wire::has_token(values(fields, http::field::connection), "upgrade");
}

std::vector<std::string> split(std::string_view list) {
    std::vector<std::string> parts;
    while (!list.empty()) {
        if (const std::string_view part = wire::take_element(list, ','); !part.empty()) {
            parts.emplace_back(part);
        }
    }
    return parts;
}

void append(std::vector<std::byte>& out, std::string_view text) {
    const auto data = std::as_bytes(std::span{text});
    out.insert(out.end(), data.begin(), data.end());
}

/// Answers with `status` and nothing else.
errc refuse(std::vector<std::byte>& out, std::string_view status, errc why,
            std::string_view fields = {}) {
    append(out, "HTTP/1.1 ");
    append(out, status);
    append(out, "\r\nConnection: close\r\nContent-Length: 0\r\n");
    append(out, fields);
    append(out, "\r\n");
    return why;
}

/// `text` with every character replaced that is not printable ASCII.
std::string shown(std::string_view text, std::size_t characters_max) {
    std::string made{text.substr(0, characters_max)};
    std::ranges::replace_if(
        made, [](char each) { return each < ' ' || each > '~'; }, '?');
    return made;
}

std::string describe(int status, std::string_view reason, std::string_view location) {
    std::string text = std::to_string(status);
    if (!reason.empty() && reason != unknown_reason) {
        text += " " + shown(reason, shown_reason_max);
    }
    if (status >= status_redirects && status < status_errors && !location.empty()) {
        text += ", not followed to " + shown(location, shown_location_max);
    }
    return text;
}

websocket::deflate_parameters wanted_deflation(const socket_options& options) {
    const websocket::deflate_direction each{
        .window_bits = static_cast<std::uint8_t>(options.web_deflate_window),
        .keeps_context = options.web_deflate_context};
    return {each, each};
}

/// Parses a complete header.
template<class Parser>
bool parse(Parser& parser, std::string_view header) {
    boost::beast::error_code failed;
    parser.header_limit(limits::upgrade_bytes_max);
    parser.put(boost::asio::buffer(header), failed);
    return (!failed || failed == http::error::need_more) && parser.is_header_done();
}

} // namespace

web_handshake::web_handshake(role own, const endpoint& where, const socket_options& options)
    : role_(own), where_(where), options_(options) {}

std::string_view web_handshake::subprotocols() const noexcept {
    return is_zws() ? zws_subprotocols(options_) : options_.web_subprotocols;
}

/// The server's choice. @return Empty if no offered subprotocol is acceptable.
std::optional<std::string_view>
web_handshake::choose_subprotocol(std::string_view offered,
                                  std::span<const std::string> ours) const noexcept {
    const std::string_view chosen = is_zws() ? websocket::first_subprotocol(offered, ours)
                                             : websocket::preferred_subprotocol(offered, ours);
    const bool is_wanted = !chosen.empty() || !(is_zws() || offers_only_zws(offered));
    return is_wanted ? std::optional{chosen} : std::nullopt;
}

void web_handshake::start(std::vector<std::byte>& out) {
    if (role_ == role::server) {
        return;
    }
    std::array<std::uint8_t, key_bytes> data;
    randombytes_buf(data.data(), data.size());
    key_ = base64(data);
    const host_address& at = where_.address;
    const bool is_v6 = at.host.find(':') != std::string::npos;
    append(out, "GET " + where_.path + " HTTP/1.1\r\nHost: " +
                    (is_v6 ? "[" + at.host + "]" : at.host) + ":" + std::to_string(at.port) +
                    "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
                    key_ + "\r\n");
    if (!subprotocols().empty()) {
        append(out, "Sec-WebSocket-Protocol: " + std::string(subprotocols()) + "\r\n");
    }
    if (may_deflate()) {
        append(out, "Sec-WebSocket-Extensions: " +
                        websocket::encode_deflate_offer(wanted_deflation(options_)) + "\r\n");
    }
    append(out, "\r\n");
}

result<void> web_handshake::on_received(std::span<const std::byte>& input,
                                        std::vector<std::byte>& out) {
    while (!is_complete_ && !input.empty()) {
        const result<bool> is_whole = gather(input);
        if (!is_whole && role_ == role::server) {
            return refuse(out, "431 Request Header Fields Too Large", is_whole.error());
        }
        if (!is_whole || !*is_whole) {
            return is_whole ? result<void>{} : is_whole.error();
        }
        const std::string header = std::exchange(received_, {});
        if (role_ == role::server) {
            return answer(header, out);
        }
        if (const result<void> examined = examine(header); !examined) {
            return examined;
        }
    }
    return {};
}

/// Moves bytes from the front of `input` to received_, up to the end of the header.
/// @return Whether the header is complete.
/// @error message_too_large
result<bool> web_handshake::gather(std::span<const std::byte>& input) {
    const std::size_t known = received_.size();
    const std::size_t taken = std::min(input.size(), limits::upgrade_bytes_max - known);
    received_.append(reinterpret_cast<const char*>(input.data()), taken);
    std::size_t skipped = 0;
    if (role_ == role::server && !has_begun_ && received_.size() >= line_end.size()) {
        has_begun_ = true;
        if (received_.starts_with(
                line_end)) { // One empty line before a request is skipped (RFC 9112, 2.2).
            skipped = line_end.size();
            received_.erase(0, skipped);
        }
    }
    const std::size_t search_from = known < header_end.size() ? 0 : known - header_end.size();
    const std::size_t found = received_.find(header_end, search_from);
    if (found == std::string::npos) {
        input = input.subspan(taken);
        return received_.size() < limits::upgrade_bytes_max ? result<bool>{false}
                                                            : errc::message_too_large;
    }
    const std::size_t header_bytes = found + header_end.size();
    received_.resize(header_bytes);
    input = input.subspan(header_bytes + skipped - known);
    return true;
}

/// Answers a client's request.
result<void> web_handshake::answer(std::string_view header, std::vector<std::byte>& out) {
    http::request_parser<http::empty_body> parser;
    if (!parse(parser, header)) {
        return refuse(out, "400 Bad Request", errc::protocol_violation);
    }
    const auto& request = parser.get();
    const std::optional<std::string> target = websocket::origin_form(view(request.target()));
    // Patterns take any path, as libzmq does.
    if (!is_zws() && !(target && websocket::is_path(*target, where_.path))) {
        return refuse(out, "404 Not Found", errc::protocol_violation);
    }
    const std::string version = values(request, http::field::sec_websocket_version);
    if (!is_upgrade(request) || version != "13") {
        return refuse(out, "426 Upgrade Required", errc::protocol_violation,
                      "Connection: upgrade\r\nUpgrade: websocket\r\n"
                      "Sec-WebSocket-Version: 13\r\n");
    }
    const std::string key = values(request, http::field::sec_websocket_key);
    const bool has_body = request.find(http::field::transfer_encoding) != request.end() ||
                          parser.content_length().value_or(0) != 0;
    if (request.method() != http::verb::get || request.version() < 11 || has_body ||
        request.count(http::field::host) != 1 || !is_key(key)) {
        return refuse(out, "400 Bad Request", errc::protocol_violation);
    }
    const std::string origin = values(request, http::field::origin);
    if (!origin.empty() && !options_.web_origins.empty() &&
        !websocket::is_origin_allowed(origin, split(options_.web_origins))) {
        return refuse(out, "403 Forbidden", errc::permission_denied);
    }
    const std::vector<std::string> ours = split(subprotocols());
    const auto subprotocol =
        choose_subprotocol(values(request, http::field::sec_websocket_protocol), ours);
    if (!subprotocol) {
        return refuse(out, "400 Bad Request", errc::protocol_violation);
    }
    if (admits_) {
        const auto list = joined_values(request, "X-Forwarded-For");
        const auto standard = joined_values(request, "Forwarded");
        const result<void> admitted =
            admits_({.x_forwarded_for = list, .x_forwarded_proto = {}, .forwarded = standard});
        if (!admitted) {
            return refuse(out, "429 Too Many Requests", admitted.error());
        }
    }
    agreed_.target = target.value_or(std::string{view(request.target())});
    agreed_.origin = origin;
    agreed_.subprotocol = *subprotocol;
    append(out, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                "Sec-WebSocket-Accept: " +
                    accept_of(key) + "\r\n");
    if (!agreed_.subprotocol.empty()) {
        append(out, "Sec-WebSocket-Protocol: " + agreed_.subprotocol + "\r\n");
    }
    if (may_deflate()) {
        accept_deflate(values(request, http::field::sec_websocket_extensions), out);
    }
    append(out, "\r\n");
    is_complete_ = true;
    return {};
}

/// @param offered  The client's list of extensions.
void web_handshake::accept_deflate(std::string_view offered, std::vector<std::byte>& out) {
    if (auto answer = websocket::accept_deflate(offered, wanted_deflation(options_)); answer) {
        append(out, "Sec-WebSocket-Extensions: " + answer->field + "\r\n");
        agreed_.extensions = std::move(answer->field);
        agreed_.deflate = answer->agreed;
    }
}

/// Checks the server's choice against the offer.
result<void> web_handshake::examine_extensions(std::string chosen) {
    if (!may_deflate()) {
        return chosen.empty() ? result<void>{} : errc::protocol_violation;
    }
    const auto agreed = websocket::decode_deflate_answer(chosen, wanted_deflation(options_));
    if (!agreed) {
        return agreed.error();
    }
    agreed_.extensions = std::move(chosen);
    agreed_.deflate = *agreed;
    return {};
}

/// Checks a server's answer.
result<void> web_handshake::examine(std::string_view header) {
    http::response_parser<http::empty_body> parser;
    parser.skip(true);
    if (!parse(parser, header)) {
        return errc::protocol_violation;
    }
    const auto& response = parser.get();
    const auto status = static_cast<int>(response.result_int());
    if (status < status_final && status != status_switching) {
        // Several may precede the final answer (RFC 9110, 15.2), up to a limit.
        return ++interim_count_ <= limits::interim_answers_max ? result<void>{}
                                                               : errc::protocol_violation;
    }
    if (status != status_switching) {
        refused_ = {status, describe(status, view(response.reason()),
                                     view(response[http::field::location]))};
        return errc::connection_refused;
    }
    const std::string subprotocol = values(response, http::field::sec_websocket_protocol);
    const std::vector<std::string> ours = split(subprotocols());
    const bool is_offered =
        (subprotocol.empty() && !is_zws()) || std::ranges::find(ours, subprotocol) != ours.end();
    if (!is_upgrade(response) || !is_offered ||
        values(response, http::field::sec_websocket_accept) != accept_of(key_)) {
        return errc::protocol_violation;
    }
    if (const auto known =
            examine_extensions(values(response, http::field::sec_websocket_extensions));
        !known) {
        return known.error();
    }
    agreed_.target = where_.path;
    agreed_.subprotocol = subprotocol;
    is_complete_ = true;
    return {};
}

} // namespace zlink::session
