// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/endpoint.hpp"
#include "base/result.hpp"
#include "base/socket_options.hpp"
#include "wire/http/forwarded.hpp"
#include "wire/websocket/deflate_negotiation.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zlink::session {

/// The HTTP upgrade at the start of a ws or wss connection (RFC 6455, 4), on either side. A pattern
/// always agrees on one of the subprotocols of ZWS; a client that offers only those is rejected by
/// a STREAM. Does no I/O.
///
/// @threads One at a time.
class web_handshake {
public:
    enum class role : bool { client, server };

    /// @param where    The server's endpoint. Outlives this object, as does `options`.
    /// @param options  The allowed origins, subprotocols and extensions.
    web_handshake(role own, const endpoint& where, const socket_options& options);

    /// Appends the bytes to send before any input: a client's request.
    void start(std::vector<std::byte>& out);

    /// Consumes bytes from the front of `input`. After is_complete() the rest is frames.
    /// @param out  Bytes to send are appended: the answer, also to a rejected request.
    /// @error protocol_violation  It is no upgrade, or asks for something unavailable here.
    /// @error message_too_large   It is longer than limits::upgrade_bytes_max.
    /// @error permission_denied   The origin of the page may not connect.
    /// @error connection_refused  The server's status is not 101: see refused().
    /// @throws std::bad_alloc
    result<void> on_received(std::span<const std::byte>& input, std::vector<std::byte>& out);

    bool is_complete() const noexcept { return is_complete_; }

    /// The request and the result of the negotiation. After is_complete().
    struct terms {
        std::string target;      ///< The path and query.
        std::string origin;      ///< Empty: not given.
        std::string subprotocol; ///< Empty: none agreed.
        std::string extensions;  ///< As the server answered. Empty: none.
        std::optional<wire::websocket::deflate_parameters> deflate; ///< Empty: no compression.
    };

    /// Decides, before a server accepts a request, whether its client may connect.
    /// @error Of which the request is refused with 429.
    using admission = std::function<result<void>(const wire::http::forwarding_fields& said)>;
    void set_admission(admission admits) { admits_ = std::move(admits); }

    terms take_agreed() noexcept { return std::move(agreed_); }

    /// A server's answer that rejects the upgrade.
    struct refusal {
        int status = 0;   ///< HTTP status, 200 or above; 0: none.
        std::string text; ///< Status and reason, ASCII only; for a redirect also its target, which
                          ///< is not followed.
    };
    const refusal& refused() const noexcept { return refused_; }

private:
    /// Whether this is for a ZMTP pattern, not for a STREAM.
    bool is_zws() const noexcept { return !options_.has_foreign_peers(); }
    std::string_view subprotocols() const noexcept;
    std::optional<std::string_view>
    choose_subprotocol(std::string_view offered, std::span<const std::string> ours) const noexcept;
    result<bool> gather(std::span<const std::byte>& input);
    result<void> answer(std::string_view request, std::vector<std::byte>& out);
    result<void> examine(std::string_view response);
    void accept_deflate(std::string_view offered, std::vector<std::byte>& out);
    result<void> examine_extensions(std::string chosen);
    bool may_deflate() const noexcept {
        return options_.web_deflate && options_.type == socket_type::stream;
    }

    role role_;
    const endpoint& where_;
    const socket_options& options_;
    admission admits_;     ///< Empty: every client may.
    std::string received_; ///< The incomplete header.
    std::string key_;      ///< A client's.
    terms agreed_;
    refusal refused_;
    unsigned interim_count_ = 0; ///< Answers with a status below 101, or 102 to 199.
    bool has_begun_ = false;     ///< More than an empty line of the request was received.
    bool is_complete_ = false;
};

} // namespace zlink::session
