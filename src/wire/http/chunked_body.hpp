// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "wire/http/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace zlink::wire::http {

/// Decodes the content of a request that is sent in chunks (RFC 9112, 7.1). Allocates nothing.
/// Chunk extensions and trailers are checked and dropped.
///
///   chunk-size [ chunk-ext ] CRLF chunk-data CRLF      any number of times; the size hexadecimal
///   "0" [ chunk-ext ] CRLF                             the last chunk
///   [ field-line CRLF ]                                any number of trailers
///   CRLF
class chunked_body {
public:
    enum class progress : std::uint8_t {
        incomplete, ///< More is needed.
        complete,   ///< The octets that follow are the next request's.
        refused,    ///< why_refused() is valid; the connection has to be closed.
    };

    /// @param content_bytes_max  The maximum of the content, decoded.
    explicit chunked_body(std::uint64_t content_bytes_max) noexcept
        : content_bytes_max_(content_bytes_max) {}

    /// Takes octets off the front of `input`: up to some content and including it, or up to the end
    /// of the body, or all. Called again while input is left and the body is incomplete.
    /// @return The content, a part of the input; or nothing.
    std::span<const std::byte> decode(std::span<const std::byte>& input) noexcept;

    progress state() const noexcept { return state_; }

    /// The sizes of all chunks that have begun.
    std::uint64_t content_bytes() const noexcept { return content_bytes_; }

    /// Once refused: with status 400, or 413 or 431 for one of the limits.
    const refusal& why_refused() const noexcept { return refusal_; }

private:
    enum class part : std::uint8_t {
        size,       ///< The digits of a chunk's size.
        size_space, ///< Behind them, where spaces have to precede a semicolon.
        extension,  ///< Behind a semicolon.
        size_lf,    ///< The LF of that line.
        data,       ///< The content.
        data_cr,    ///< The CR behind it.
        data_lf,    ///< The LF behind that.
        trailer,    ///< The beginning of a trailer, or of the line that ends the body.
        name,       ///< The name of a trailer.
        value,      ///< Its value.
        trailer_lf, ///< The LF of that line.
        last_lf,    ///< The LF that ends the body.
    };

    bool refuse(int status, std::string_view why) noexcept;
    bool take(char octet) noexcept;
    bool take_size(char octet) noexcept;
    bool take_extension(char octet) noexcept;
    bool take_trailer(char octet) noexcept;
    bool take_end(char octet, char wanted, part next) noexcept;
    bool on_size() noexcept;

    std::uint64_t content_bytes_max_;
    std::uint64_t content_bytes_ = 0;
    std::uint64_t chunk_bytes_ = 0; ///< The size that is read, then those still to come.
    std::size_t extension_bytes_ = 0;
    std::size_t trailer_bytes_ = 0;
    refusal refusal_;
    unsigned digit_count_ = 0;
    part part_ = part::size;
    progress state_ = progress::incomplete;
};

} // namespace zlink::wire::http
