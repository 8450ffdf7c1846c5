// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

namespace zlink::wire::http {

/// A date, e.g. "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, 5.6.7, IMF-fixdate).
class date_text {
public:
    /// @param when  Of the years 0 to 9999; others become the nearest of these.
    explicit date_text(std::chrono::sys_seconds when) noexcept;

    std::string_view view() const noexcept { return {text_.data(), text_.size()}; }

private:
    static constexpr std::size_t bytes = 29;

    std::array<char, bytes> text_;
};

/// Decodes a date in one of the three forms that recipients have to accept (RFC 9110, 5.6.7):
/// IMF-fixdate, that of RFC 850, and asctime's. Case-sensitive. The name of the day has to be one
/// of the form, but need not be the right one.
///
/// @param now  Decides the century of RFC 850's two-digit years: a date more than 50 years after it
///             is one in the past.
/// @return Nothing if it is not a date.
std::optional<std::chrono::sys_seconds> decode_date(std::string_view text,
                                                    std::chrono::sys_seconds now) noexcept;

} // namespace zlink::wire::http
