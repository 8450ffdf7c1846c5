// SPDX-License-Identifier: MPL-2.0
// Input: a byte, the size of the pieces in which a connection receives the rest; a byte, the
// maximum of the content; then a chunked body, and octets behind it.
#include "fuzz.hpp"

#include "wire/http/chunked_body.hpp"

#include <algorithm>
#include <string>

using zlink::fuzz::require;
using zlink::wire::http::chunked_body;
using progress = chunked_body::progress;

namespace {

/// Decodes `input` in pieces, and removes the body from its front.
std::string decode(chunked_body& body, std::span<const std::byte>& input, std::size_t piece_bytes) {
    std::string content;
    while (body.state() == progress::incomplete && !input.empty()) {
        auto piece = input.first(std::min(piece_bytes, input.size()));
        const std::size_t given = piece.size();
        const auto decoded = body.decode(piece);
        require(piece.size() < given);
        content.append(reinterpret_cast<const char*>(decoded.data()), decoded.size());
        input = input.subspan(given - piece.size());
    }
    return content;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    const std::size_t piece_bytes = std::size_t{data[0]} + 1;
    const std::uint64_t content_bytes_max = std::uint64_t{data[1]} * 16;
    auto whole_rest = std::as_bytes(std::span{data + 2, size - 2});
    auto pieces_rest = whole_rest;
    chunked_body whole{content_bytes_max};
    chunked_body pieces{content_bytes_max};
    const std::string content = decode(whole, whole_rest, SIZE_MAX);
    require(decode(pieces, pieces_rest, piece_bytes) == content);
    require(whole.state() == pieces.state());
    require(whole.why_refused() == pieces.why_refused());
    require(whole_rest.size() == pieces_rest.size());
    require(content.size() <= whole.content_bytes());
    require(whole.content_bytes() <= content_bytes_max);
    require(whole.state() != progress::complete || content.size() == whole.content_bytes());
    require(whole.state() != progress::incomplete || whole_rest.empty());
    return 0;
}
