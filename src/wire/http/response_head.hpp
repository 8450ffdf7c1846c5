// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace zlink::wire::http {

/// The reason phrase of a status (RFC 9110, 15); empty if it is not one that servers of files use.
std::string_view reason_of(int status) noexcept;

/// Appends the head of a response to a buffer (RFC 9112, 4 and 5): the status line, fields, and the
/// empty line that ends it.
class response_head {
public:
    /// Appends the status line. The version is 1.1, whatever the client's is (RFC 9110, 2.5).
    /// @param out     Outlives this object.
    /// @param status  100 to 999.
    response_head(std::string& out, int status);

    /// Appends the fields that every response begins with: Date, and Connection if the client would
    /// otherwise expect the opposite (RFC 9112, 9.3).
    void add_first(std::chrono::sys_seconds now, bool persists, bool is_client_1_0);

    /// Appends a field. Texts that may be a client's, or of a file, are safe as its value.
    /// @error invalid_argument  The name is not a token, or the value contains a control character
    ///                          other than HTAB: it might end the line. Nothing was appended.
    [[nodiscard]] result<void> add(std::string_view name, std::string_view value);

    /// Appends a field whose value is a number.
    /// @param name  A token.
    void add_number(std::string_view name, std::uint64_t value);

    /// Appends a field whose value is a date, as Date and Last-Modified.
    /// @param name  A token.
    void add_date(std::string_view name, std::chrono::sys_seconds when);

    /// Appends the end of the head; nothing else may be added then.
    void end();

private:
    void append(std::string_view name, std::string_view value);

    std::string& out_;
};

/// A path for Location or a link: every octet is escaped but slashes and unreserved characters (RFC
/// 3986, 2.1 and 2.3), so that it is safe in a field and in HTML, too.
/// @param path  Decoded. Two slashes in front would name a host: the second one is escaped.
std::string percent_encoded(std::string_view path);

/// `text` for the content of an HTML element, or of an attribute in quotes.
std::string html_escaped(std::string_view text);

} // namespace zlink::wire::http
