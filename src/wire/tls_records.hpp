// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace zlink::wire {

/// Finds the ends of TLS records in octets that are received in pieces (RFC 8446, 5.1). It accepts
/// any content; decryption checks it.
///
///   +----------+-------------+------------+-------------------+
///   | type (1) | version (2) | length (2) | content (length)  |
///   +----------+-------------+------------+-------------------+
class tls_records {
public:
    static constexpr std::size_t header_bytes = 5;

    /// Steps over records.
    /// @param data       Continues the octets of the previous call.
    /// @param count_max  At least 1.
    /// @return The octets up to the end of that many records, or all if fewer end there.
    std::size_t step_over(std::span<const std::byte> data, unsigned count_max) noexcept {
        std::size_t done = 0;
        while (done < data.size()) {
            if (header_seen_ < header_bytes) {
                take_header(std::to_integer<std::size_t>(data[done++]));
            } else {
                const std::size_t taken = std::min(content_rest_, data.size() - done);
                done += taken;
                content_rest_ -= taken;
            }
            if (header_seen_ == header_bytes && content_rest_ == 0) {
                header_seen_ = 0;
                if (--count_max == 0) {
                    break;
                }
            }
        }
        return done;
    }

private:
    void take_header(std::size_t byte) noexcept {
        constexpr std::size_t length_begin = 3;
        content_rest_ = header_seen_ < length_begin ? 0 : content_rest_ << 8 | byte;
        ++header_seen_;
    }

    std::size_t content_rest_ = 0; ///< Octets still to come; incomplete within the header.
    std::uint8_t header_seen_ = 0; ///< Octets of it so far.
};

} // namespace zlink::wire
