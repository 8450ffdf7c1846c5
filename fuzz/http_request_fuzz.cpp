// SPDX-License-Identifier: MPL-2.0
// Input: a byte, the size of the pieces in which a connection receives the bytes that follow:
// requests, one behind the other, without content.
#include "fuzz.hpp"

#include "base/limits.hpp"
#include "wire/field_text.hpp"
#include "wire/http/authority.hpp"
#include "wire/http/request.hpp"

#include <algorithm>
#include <string>
#include <string_view>

using namespace zlink::wire;
using zlink::fuzz::require;
using zlink::fuzz::touch;
using progress = http::request_decoder::progress;

namespace {

void touch_text(std::string_view text) {
    touch(std::as_bytes(std::span{text}));
}

bool is_clean(std::string_view text) {
    return std::ranges::none_of(text, [](char each) { return is_control(each) && each != '\t'; });
}

void check(const http::request& head) {
    require(is_token(head.method));
    for (const std::string_view text : {head.target, head.path, head.query, head.host}) {
        touch_text(text);
        require(is_clean(text) && text.find(' ') == std::string_view::npos);
    }
    require(head.path.starts_with('/') || head.path == "*");
    require(head.path.find('?') == std::string_view::npos);
    require(head.host.empty() || http::is_authority(head.host));
    require(head.fields.size() <= zlink::limits::http_fields_max);
    for (const http::field& each : head.fields) {
        touch_text(each.value);
        require(is_token(each.name) && is_clean(each.value) && trimmed(each.value) == each.value);
    }
    require(head.framing == http::body_framing::length || head.content_bytes == 0);
    require(head.has("Transfer-Encoding") == (head.framing == http::body_framing::chunked));
    require(head.has("Content-Length") == (head.framing == http::body_framing::length));
    require(head.is_version_1_0 || head.has("Host"));
    require(!head.expects_continue || head.framing != http::body_framing::none);
    std::string room;
    require(head.joined("Connection", room).has_value() == head.has("Connection"));
}

void require_same(const http::request_decoder& one, const http::request_decoder& other) {
    require(one.state() == other.state());
    if (one.state() == progress::refused) {
        require(one.why_refused() == other.why_refused());
    } else if (one.state() == progress::complete) {
        require(one.head().target == other.head().target);
        require(one.head().fields == other.head().fields);
        require(one.head().framing == other.head().framing);
        require(one.head().persists == other.head().persists);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::size_t piece_bytes = std::size_t{data[0]} + 1;
    auto whole_rest = std::as_bytes(std::span{data + 1, size - 1});
    auto pieces_rest = whole_rest;
    http::request_decoder whole;
    http::request_decoder pieces;
    for (;;) {
        whole.decode(whole_rest);
        while (pieces.state() == progress::incomplete && !pieces_rest.empty()) {
            auto piece = pieces_rest.first(std::min(piece_bytes, pieces_rest.size()));
            const std::size_t given = piece.size();
            pieces.decode(piece);
            pieces_rest = pieces_rest.subspan(given - piece.size());
        }
        require_same(whole, pieces);
        if (whole.state() != progress::complete) {
            break;
        }
        require(whole_rest.size() == pieces_rest.size());
        check(whole.head());
        whole.next();
        pieces.release();
    }
    require(whole.state() == progress::refused || whole_rest.empty());
    require(whole.state() == progress::incomplete || whole.why_refused().status >= 400);
    return 0;
}
