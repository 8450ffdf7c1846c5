// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/endpoint.hpp"
#include "base/result.hpp"
#include "base/socket_options.hpp"
#include "wire/websocket/deflate_negotiation.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zlink::session {

/// The HTTP upgrade with which a connection over ws or wss begins (RFC 6455, 4), on either side. A
/// pattern's ends with one of the subprotocols of ZWS; who offers those only is no peer of a
/// STREAM. Does no I/O.
///
/// @threads One at a time.
class web_handshake {
public:
    enum class role : bool { client, server };

    /// @param where    The server's endpoint. Outlives this, as `options` do.
    /// @param options  Which origins may connect, and which subprotocols and extensions there are.
    web_handshake(role own, const endpoint& where, const socket_options& options);

    /// Appends what is to be sent before anything is received: a client's request.
    void start(std::vector<std::byte>& out);

    /// Takes bytes off the front of `input`. What remains after is_complete() are frames.
    /// @param out  What is to be sent is appended: the answer, also to a request that is refused.
    /// @error protocol_violation  It is no upgrade, or not one to what is here.
    /// @error message_too_large   It has more bytes than limits::upgrade_bytes_max.
    /// @error permission_denied   The origin of the page may not connect.
    /// @error connection_refused  The server answers with another status than 101: refused().
    /// @throws std::bad_alloc
    result<void> on_received(std::span<const std::byte>& input, std::vector<std::byte>& out);

    bool is_complete() const noexcept { return is_complete_; }

    /// What was asked for and agreed on. After is_complete().
    struct terms {
        std::string target;      ///< The path with its query.
        std::string origin;      ///< Empty: none was named.
        std::string subprotocol; ///< Empty: none was agreed on.
        std::string extensions;  ///< As the server answered. Empty: none.
        std::optional<wire::websocket::deflate_parameters> deflate; ///< Nothing: no compression.
    };
    terms take_agreed() noexcept { return std::move(agreed_); }

    /// What a server answered that does not let us in.
    struct refusal {
        int status = 0;   ///< Of HTTP, 200 or above; 0: none.
        std::string text; ///< The status and its reason, as far as they are ASCII; of a redirect
                          ///< also where it would lead, which is not followed.
    };
    const refusal& refused() const noexcept { return refused_; }

private:
    /// Whether it is for a pattern of ZMTP, not for a STREAM.
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
    std::string received_; ///< Of the header, which is not complete.
    std::string key_;      ///< A client's.
    terms agreed_;
    refusal refused_;
    unsigned interim_count_ = 0; ///< Answers with a status below 101, or of 102 to 199.
    bool has_begun_ = false;     ///< A request: more than an empty line was received.
    bool is_complete_ = false;
};

} // namespace zlink::session
