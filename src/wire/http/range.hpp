// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace zlink::wire::http {

/// Octets of a representation, both ends included.
struct byte_range {
    std::uint64_t first = 0;
    std::uint64_t last = 0; ///< At least `first`.

    std::uint64_t bytes() const noexcept { return last - first + 1; }

    friend bool operator==(const byte_range&, const byte_range&) = default;
};

/// The octets of a representation that are sent in response to a Range field.
class range_selection {
public:
    enum class kind : std::uint8_t {
        whole,         ///< Status 200: the representation, as without the field.
        parts,         ///< Status 206: parts(), as the content if it is one, otherwise a multipart.
        unsatisfiable, ///< Status 416.
    };

    kind what() const noexcept { return what_; }
    std::span<const byte_range> parts() const noexcept { return {parts_.data(), part_count_}; }

    /// Decodes a Range field (RFC 9110, 14.2) of a request with GET, and selects.
    ///
    /// The whole is selected if the field is malformed or has another unit than bytes; if it lists
    /// more than limits::http_ranges_max ranges, or more than limits::http_parts_max are left once
    /// they are coalesced; and if they would take more octets, as a multipart, than the whole.
    ///
    /// Ranges that overlap or adjoin become one. The parts are in the order in which the ranges
    /// come in the field, each at the place of its first (RFC 9110, 15.3.7.2).
    ///
    /// @param field                 The value of the only Range field.
    /// @param representation_bytes  The size of the representation that is selected.
    /// @param media_type            Its Content-Type, which each part of a multipart repeats.
    static range_selection decode(std::string_view field, std::uint64_t representation_bytes,
                                  std::string_view media_type) noexcept;

private:
    void select(std::span<byte_range> ranges, std::uint64_t representation_bytes,
                std::string_view media_type) noexcept;

    std::array<byte_range, limits::http_parts_max> parts_{};
    std::size_t part_count_ = 0;
    kind what_ = kind::whole;
};

/// The value of Content-Range with status 206: "bytes 0-99/1000" (RFC 9110, 14.4).
std::string content_range(byte_range part, std::uint64_t representation_bytes);

/// The value of Content-Range with status 416: "bytes */1000" (RFC 9110, 14.4).
std::string unsatisfied_range(std::uint64_t representation_bytes);

// A response with several parts (RFC 9110, 14.6) has the media type
// "multipart/byteranges; boundary=" and the boundary. Its content is, for each part, a head and the
// octets of the part; then an end.
//
//   CRLF "--" boundary CRLF "Content-Type: " type CRLF "Content-Range: " range CRLF CRLF
//   CRLF "--" boundary "--" CRLF

/// The length of a boundary. It should be random, from the characters of tokens, so that it does
/// not occur in a file on purpose.
constexpr std::size_t boundary_bytes = 24;

/// The size of a multipart's content, exactly.
std::uint64_t multipart_bytes(std::span<const byte_range> parts, std::uint64_t representation_bytes,
                              std::string_view media_type) noexcept;

/// Appends the head of a part.
/// @param boundary  Of boundary_bytes.
void append_part_head(std::string& out, byte_range part, std::uint64_t representation_bytes,
                      std::string_view media_type, std::string_view boundary);

/// Appends the end of a multipart.
void append_multipart_end(std::string& out, std::string_view boundary);

} // namespace zlink::wire::http
