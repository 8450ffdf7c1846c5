// SPDX-License-Identifier: MPL-2.0
#include "session/http_exchange.hpp"

#include "wire/field_text.hpp"
#include "wire/http/response_head.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

namespace zlink::session {

using wire::http::body_framing;

namespace {

/// A text is written in pieces of so many bytes.
constexpr std::size_t piece_bytes_max = std::size_t{64} * 1024;

constexpr wire::http::refusal content_too_large{413, "The content of the request is too large."};

std::string_view text_of(std::span<const std::byte> data) noexcept {
    return {reinterpret_cast<const char*>(data.data()), data.size()};
}

/// Whether a field concerns only this connection's framing, not the request.
bool is_framing(std::string_view name) noexcept {
    constexpr std::array names{"host",    "content-length", "transfer-encoding", "te",
                               "trailer", "expect",         "keep-alive"};
    return std::ranges::any_of(names,
                               [&](const char* each) { return wire::is_same_text(name, each); });
}

/// Whether a field is one in which proxies tell the client.
bool is_forwarding(std::string_view name) noexcept {
    constexpr std::array names{"x-forwarded-for", "x-forwarded-proto", "forwarded"};
    return std::ranges::any_of(names,
                               [&](const char* each) { return wire::is_same_text(name, each); });
}

std::string head_of(const wire::http::request& asked, std::optional<std::size_t> content_bytes,
                    const std::optional<http_exchange::forwarding>& told) {
    std::string made{asked.method};
    made.append(" ").append(asked.path);
    if (!asked.query.empty()) {
        made.append("?").append(asked.query);
    }
    made.append(asked.is_version_1_0 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
    if (!asked.host.empty()) {
        made.append("Host: ").append(asked.host).append("\r\n");
    }
    for (const wire::http::field& each : asked.fields) {
        if (!is_framing(each.name) && !(told && is_forwarding(each.name))) {
            made.append(each.name).append(": ").append(each.value).append("\r\n");
        }
    }
    if (told && !told->client.empty()) {
        made.append("X-Forwarded-For: ").append(told->client).append("\r\n");
    }
    if (told && !told->scheme.empty()) {
        made.append("X-Forwarded-Proto: ").append(told->scheme).append("\r\n");
    }
    if (content_bytes) {
        made.append("Content-Length: ").append(std::to_string(*content_bytes)).append("\r\n");
    }
    return made.append("\r\n");
}

void append_hexadecimal(std::string& to, std::uint64_t number) {
    std::array<char, 16> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
    to.append(digits.data(), end);
}

} // namespace

http_exchange::http_exchange(const wire::http::request& asked,
                             std::uint64_t content_bytes_max) noexcept
    : chunks_(content_bytes_max), is_chunked_request_(asked.framing == body_framing::chunked),
      is_complete_(asked.framing == body_framing::none ||
                   (asked.framing == body_framing::length && asked.content_bytes == 0)),
      is_head_(asked.method == "HEAD"), is_version_1_0_(asked.is_version_1_0),
      persists_(asked.persists) {
    if (asked.framing == body_framing::length) {
        rest_bytes_ = asked.content_bytes;
        if (rest_bytes_ > content_bytes_max) {
            refused_ = content_too_large;
        }
    }
}

void http_exchange::take_content(std::span<const std::byte>& input) {
    while (!input.empty() && awaits_content()) {
        if (is_chunked_request_) {
            content_.append(text_of(chunks_.decode(input)));
            is_complete_ = chunks_.state() == wire::http::chunked_body::progress::complete;
            if (chunks_.state() == wire::http::chunked_body::progress::refused) {
                refused_ = chunks_.why_refused();
            }
            continue;
        }
        const auto taken = std::min<std::uint64_t>(input.size(), rest_bytes_);
        content_.append(text_of(input.first(taken)));
        input = input.subspan(taken);
        rest_bytes_ -= taken;
        is_complete_ = rest_bytes_ == 0;
    }
}

http_exchange::request_message http_exchange::make_message(const wire::http::request& asked,
                                                           const std::optional<forwarding>& told) {
    const bool has_content = asked.framing != body_framing::none;
    const std::string head =
        head_of(asked, has_content ? std::optional{content_.size()} : std::nullopt, told);
    const std::size_t bytes = head.size() + content_.size();
    pipe::block* const made = pipe::make_block(bytes);
    std::memcpy(made->data, head.data(), head.size());
    std::memcpy(made->data + head.size(), content_.data(), content_.size());
    std::string{}.swap(content_);
    return {made, bytes};
}

web::response http_exchange::respond(web::reply& said, std::chrono::sys_seconds now) {
    constexpr int no_content = 204;
    constexpr int not_modified = 304;
    web::response made;
    if (said.what == web::reply::sort::response) {
        made.status = said.status;
        has_content_ = !is_head_ && said.status != no_content && said.status != not_modified;
        is_chunked_ = said.more && !is_version_1_0_;
        persists_ = persists_ && (!said.more || is_chunked_);
        wire::http::response_head head{made.text, said.status};
        head.add_first(now, persists_, is_version_1_0_);
        made.text.append(said.fields);
        if (is_chunked_) {
            static_cast<void>(head.add("Transfer-Encoding", "chunked"));
        } else if (!said.more && said.status != no_content && said.status != not_modified) {
            head.add_number("Content-Length", said.content.size() + said.region.bytes);
        }
        head.end();
    }
    append(made, said);
    has_begun_ = true;
    is_answered_ = !said.more;
    made.persists = persists_;
    return made;
}

/// Appends the content of a part, and divides it into pieces.
void http_exchange::append(web::response& to, web::reply& said) const {
    if (has_content_ && is_chunked_ && !said.content.empty()) {
        append_hexadecimal(to.text, said.content.size());
        to.text.append("\r\n").append(said.content).append("\r\n");
    } else if (has_content_) {
        to.text.append(said.content);
    }
    if (has_content_ && is_chunked_ && !said.more) {
        to.text.append("0\r\n\r\n");
    }
    said.content = {};
    for (std::size_t rest = to.text.size(); rest != 0;) {
        const std::size_t bytes = std::min(rest, piece_bytes_max);
        to.pieces.push_back({.text_bytes = bytes});
        rest -= bytes;
    }
    if (to.pieces.empty()) {
        to.pieces.push_back({});
    }
    if (has_content_ && said.region.bytes != 0) {
        to.file = said.region.file;
        to.pieces.back().offset = said.region.offset;
        to.pieces.back().file_bytes = said.region.bytes;
    }
}

} // namespace zlink::session
