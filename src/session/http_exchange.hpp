// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/block.hpp"
#include "web/reply.hpp"
#include "web/response.hpp"
#include "wire/http/chunked_body.hpp"
#include "wire/http/refusal.hpp"
#include "wire/http/request.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace zlink::session {

/// A request that the application answers: collects its content, makes the message for the
/// application, and the responses from what it replies. Does no I/O.
///
/// @threads The connection's.
class http_exchange {
public:
    /// @param asked              The head; valid until the content is complete.
    /// @param content_bytes_max  The largest content accepted, decoded.
    http_exchange(const wire::http::request& asked, std::uint64_t content_bytes_max) noexcept;

    /// Why the request cannot be taken: its content is too large, or not in valid chunks.
    const std::optional<wire::http::refusal>& refused() const noexcept { return refused_; }

    bool awaits_content() const noexcept { return !is_complete_ && !refused_; }

    /// Takes content off the front of `input`.
    /// @throws std::bad_alloc
    void take_content(std::span<const std::byte>& input);

    struct request_message {
        pipe::block* payload; ///< With one reference.
        std::size_t bytes;
    };
    /// What trusted proxies have told of a request; empty texts: nothing.
    struct forwarding {
        std::string client; ///< An address.
        std::string scheme;
    };
    /// The message for the application, once the content is complete: the head in origin-form
    /// without the fields that only frame the content, with its length; then the content.
    /// @param told  Takes the place of the fields in which proxies tell this; nothing: they stay.
    /// @throws std::bad_alloc
    request_message make_message(const wire::http::request& asked,
                                 const std::optional<forwarding>& told);

    /// The response of a reply, or a part of it. `persists` says whether the connection goes on
    /// once the last part is written.
    /// @param said  Its texts are moved out.
    /// @throws std::bad_alloc
    web::response respond(web::reply& said, std::chrono::sys_seconds now);

    /// Whether a part of the response has been made.
    bool has_begun() const noexcept { return has_begun_; }

    /// Whether the last part of the response has been made.
    bool is_answered() const noexcept { return is_answered_; }

private:
    void append(web::response& to, web::reply& said) const;

    wire::http::chunked_body chunks_;
    std::uint64_t rest_bytes_ = 0; ///< Of a content with a known length.
    std::string content_;
    std::optional<wire::http::refusal> refused_;
    bool is_chunked_request_;
    bool is_complete_;
    bool is_head_;        ///< The method is HEAD.
    bool is_version_1_0_; ///< The client's.
    bool persists_;
    bool has_content_ = true; ///< The response has content.
    bool is_chunked_ = false; ///< The response is.
    bool has_begun_ = false;  ///< The response is.
    bool is_answered_ = false;
};

} // namespace zlink::session
