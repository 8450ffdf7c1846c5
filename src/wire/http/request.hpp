// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "wire/http/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zlink::wire::http {

/// The forms of a request's target (RFC 9112, 3.2). The fourth one, authority-form, is of CONNECT
/// only, which is refused.
enum class target_form : std::uint8_t {
    origin,   ///< `/path?query`
    absolute, ///< `http://host/path?query`
    asterisk, ///< `*`, of OPTIONS only
};

/// How the length of a request's content is determined (RFC 9112, 6.3).
enum class body_framing : std::uint8_t {
    none,    ///< There is no content.
    length,  ///< Content-Length: so many octets follow.
    chunked, ///< Transfer-Encoding: chunks follow, which chunked_body decodes.
};

/// One line of a head: a name and its value, without the spaces around it.
struct field {
    std::string_view name;
    std::string_view value;

    friend bool operator==(const field&, const field&) = default;
};

/// The head of a request, as views into the octets of a request_decoder.
struct request {
    std::string_view method; ///< Case-sensitive.
    std::string_view target; ///< As it was sent.
    target_form form = target_form::origin;

    /// The target's path as it was sent, still encoded. `/` if it is empty; but `*` for OPTIONS
    /// with neither path nor query (RFC 9112, 3.2.4).
    std::string_view path;
    std::string_view query; ///< The target's part behind the question mark.

    /// The host that is addressed, with its port if one was sent: that of a target in
    /// absolute-form, otherwise that of the Host field. Empty if there is none.
    std::string_view host;

    /// Version 1.0, not 1.1. Higher minor versions count as 1.1 (RFC 9110, 2.5).
    bool is_version_1_0 = false;

    body_framing framing = body_framing::none;
    std::uint64_t content_bytes = 0; ///< Where the framing is length.

    /// Whether the connection may be used for another request afterwards (RFC 9112, 9.3).
    bool persists = false;

    /// Whether the client may be waiting for status 100 before it sends the content (RFC 9110,
    /// 10.1.1).
    bool expects_continue = false;

    std::vector<field> fields; ///< In the order in which they were sent.

    // Names of fields are compared case-insensitively (RFC 9110, 5.1).

    bool has(std::string_view name) const noexcept;

    /// The value of a field that is not a list (RFC 9110, 5.3).
    /// @return Nothing if it was not sent, or several times, which makes it invalid.
    std::optional<std::string_view> value(std::string_view name) const noexcept;

    /// The value of a field that is a list: of several lines, joined by commas (RFC 9110, 5.3).
    /// @param room  Holds the value if there are several lines.
    /// @return Nothing if it was not sent.
    std::optional<std::string_view> joined(std::string_view name, std::string& room) const;
};

/// Reads the heads of requests (RFC 9112, 2 to 6) from a connection, one after the other.
///
/// A head is refused unless every recipient would understand it the same way: a difference between
/// a proxy in front and the server behind it is an attack (RFC 9112, 11.2). Each octet is checked
/// when it arrives; Beast then parses the complete head, and both have to agree.
///
/// After a refusal the connection has to be closed, because the end of the request is not known.
class request_decoder {
public:
    enum class progress : std::uint8_t {
        incomplete, ///< All of the input was taken, and more is needed.
        complete,   ///< head() is valid.
        refused,    ///< why_refused() is valid, and nothing more is taken.
    };

    request_decoder() = default;
    request_decoder(const request_decoder&) = delete; // Has views into itself.
    request_decoder& operator=(const request_decoder&) = delete;

    /// Takes octets off the front of `input`, up to the end of the head. The octets behind it are
    /// the content's, or the next request's.
    progress decode(std::span<const std::byte>& input);

    progress state() const noexcept { return state_; }

    /// Whether octets of a head have arrived, not counting empty lines before it.
    bool has_begun() const noexcept { return !head_.empty(); }

    /// Once complete. Its views end with next(), release() and the decoder.
    const request& head() const noexcept { return request_; }

    /// Once complete: its octets, from the request line to the empty line.
    std::string_view octets() const noexcept { return head_; }

    /// Once refused.
    const refusal& why_refused() const noexcept { return refusal_; }

    /// Begins with the next request.
    void next() noexcept;

    /// Like next(); and frees the memory, for a connection that waits for its next request.
    void release() noexcept;

private:
    enum class part : std::uint8_t { method, target, version, fields };

    bool refuse(int status, std::string_view why) noexcept;
    void take(std::string_view piece);
    bool check(char octet) noexcept;
    bool check_in_request_line(char octet) noexcept;
    bool on_line();
    bool on_request_line() noexcept;
    bool on_field_line(std::string_view line) noexcept;
    bool on_end();
    bool find_target() noexcept;
    bool find_absolute_target() noexcept;
    bool find_host() noexcept;
    bool find_framing() noexcept;
    bool find_content_length() noexcept;
    bool find_transfer_coding() noexcept;
    bool find_expectation() noexcept;
    void find_persistence() noexcept;

    std::string head_; ///< From the request line to the empty line that ends the head.
    request request_;
    refusal refusal_;
    std::size_t line_begin_ = 0; ///< Of the line that is arriving.
    std::size_t part_bytes_ = 0; ///< Octets of the part of the request line that is arriving.
    std::size_t field_count_ = 0;
    unsigned empty_line_count_ = 0;
    progress state_ = progress::incomplete;
    part part_ = part::method;
    bool is_after_cr_ = false;
};

} // namespace zlink::wire::http
