// SPDX-License-Identifier: MPL-2.0
#include "wire/http/chunked_body.hpp"

#include "base/limits.hpp"
#include "wire/field_text.hpp"
#include "wire/http/status.hpp"

#include <algorithm>

namespace zlink::wire::http {

namespace {

constexpr unsigned size_digits_max = 16; ///< Those of 64 bits: more would overflow.

} // namespace

std::span<const std::byte> chunked_body::decode(std::span<const std::byte>& input) noexcept {
    while (state_ == progress::incomplete && !input.empty()) {
        if (part_ == part::data) {
            const auto content = input.first(
                static_cast<std::size_t>(std::min<std::uint64_t>(input.size(), chunk_bytes_)));
            input = input.subspan(content.size());
            chunk_bytes_ -= content.size();
            part_ = chunk_bytes_ == 0 ? part::data_cr : part::data;
            return content;
        }
        const char octet = static_cast<char>(input.front());
        input = input.subspan(1);
        take(octet);
    }
    return {};
}

/// @return False, for callers that return whether they succeeded.
bool chunked_body::refuse(int status, std::string_view why) noexcept {
    state_ = progress::refused;
    refusal_ = {status, why};
    return false;
}

/// Takes an octet that is not content.
bool chunked_body::take(char octet) noexcept {
    switch (part_) {
    case part::size:
    case part::size_space:
        return take_size(octet);
    case part::extension:
        return take_extension(octet);
    case part::size_lf:
        return take_end(octet, '\n', part::data) && on_size();
    case part::data:
        break; // decode() takes it.
    case part::data_cr:
        return take_end(octet, '\r', part::data_lf);
    case part::data_lf:
        return take_end(octet, '\n', part::size);
    case part::trailer:
    case part::name:
    case part::value:
        return take_trailer(octet);
    case part::trailer_lf:
        return take_end(octet, '\n', part::trailer);
    case part::last_lf:
        if (take_end(octet, '\n', part::last_lf)) {
            state_ = progress::complete;
        }
        break;
    }
    return state_ != progress::refused;
}

/// Takes an octet of the size, or of what ends it.
bool chunked_body::take_size(char octet) noexcept {
    if (part_ == part::size && is_hex_digit(octet)) {
        constexpr unsigned digit_bits = 4;
        chunk_bytes_ = chunk_bytes_ << digit_bits | hex_value(octet);
        return ++digit_count_ <= size_digits_max ||
               refuse(bad_request, "The size of a chunk is too large.");
    }
    if (digit_count_ == 0) {
        return refuse(bad_request, "The size of a chunk is invalid.");
    }
    if (part_ == part::size && octet == '\r') {
        part_ = part::size_lf;
        return true;
    }
    if (octet == ';') {
        part_ = part::extension;
    } else if (octet == ' ' || octet == '\t') {
        part_ = part::size_space;
    } else {
        return refuse(bad_request, "The size of a chunk is invalid.");
    }
    return take_extension(octet);
}

/// Takes an octet of chunk extensions (RFC 9112, 7.1.1), which are limited in total: they are sent
/// for every chunk, and one octet of content may be a chunk.
bool chunked_body::take_extension(char octet) noexcept {
    if (octet == '\r') {
        part_ = part::size_lf;
        return true;
    }
    if (is_control(octet) && octet != '\t') {
        return refuse(bad_request, "A chunk extension contains a control character.");
    }
    return ++extension_bytes_ <= limits::http_chunk_extensions_bytes_max ||
           refuse(content_too_large, "The chunk extensions are too long.");
}

/// Takes an octet of the trailer section (RFC 9112, 7.1.2), whose lines are those of a head.
bool chunked_body::take_trailer(char octet) noexcept {
    if (octet == '\r' && part_ != part::name) {
        part_ = part_ == part::trailer ? part::last_lf : part::trailer_lf;
        return true;
    }
    if (++trailer_bytes_ > limits::http_trailers_bytes_max) {
        return refuse(fields_too_large, "The trailers are too long.");
    }
    if (part_ == part::name && octet == ':') {
        part_ = part::value;
        return true;
    }
    if (part_ == part::value) {
        return !is_control(octet) || octet == '\t' ||
               refuse(bad_request, "A trailer contains a control character.");
    }
    part_ = part::name;
    return is_token_character(octet) || refuse(bad_request, "The name of a trailer is invalid.");
}

/// Takes an octet that can only be the one that is wanted.
bool chunked_body::take_end(char octet, char wanted, part next) noexcept {
    if (octet != wanted) {
        return refuse(bad_request, "A line end is missing in the chunked content.");
    }
    part_ = next;
    return true;
}

/// Begins with a chunk whose size is known.
bool chunked_body::on_size() noexcept {
    digit_count_ = 0;
    if (chunk_bytes_ == 0) {
        part_ = part::trailer;
        return true;
    }
    if (chunk_bytes_ > content_bytes_max_ - content_bytes_) {
        return refuse(content_too_large, "The content is too large.");
    }
    content_bytes_ += chunk_bytes_;
    return true;
}

} // namespace zlink::wire::http
