// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/connection_event.hpp"
#include "base/result.hpp"
#include "base/socket_options.hpp"
#include "pipe/peer_info.hpp"
#include "wire/zmtp/greeting.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace zlink::session {

/// What a monitor is told of a handshake that failed by what the peer said.
struct handshake_failure {
    connection_event what; ///< handshake_failed_protocol or handshake_failed_auth.
    std::int32_t value;    ///< As connection_event says.
};

/// The part of a ZMTP connection before messages: greetings, then the commands of the mechanism.
/// Does no I/O.
///
/// @threads One at a time.
class handshake {
public:
    explicit handshake(const socket_options& options);

    /// Takes octets off the front of `input`. What remains after is_complete() are messages.
    /// @param out  What to send is appended.
    /// @error protocol_violation  The peer speaks no ZMTP, or breaks it.
    /// @error invalid_argument    Its socket type does not go with ours.
    /// @error message_too_large   A command is larger than the limit.
    /// @error connection_refused  It sent ERROR.
    /// @error not_supported       It speaks a version or mechanism that we do not.
    result<void> on_received(std::span<const std::byte>& input, std::vector<std::byte>& out);

    /// Appends what is to be sent before anything is received.
    void start(std::vector<std::byte>& out);

    bool is_complete() const noexcept { return complete_; }

    /// Whether the peer takes subscriptions as commands (3.1), not as messages (3.0).
    bool has_subscribe_command() const noexcept { return greeting_.peer().has_subscribe_command(); }

    /// After on_received() failed: what there is to tell besides the error; nothing of a peer that
    /// speaks another protocol or has a socket of the wrong type.
    const std::optional<handshake_failure>& failure() const noexcept { return failure_; }

    /// What the peer told of itself; once, after is_complete().
    std::unique_ptr<pipe::peer_info> take_peer() noexcept { return std::move(peer_); }

private:
    void flush_greeting(std::vector<std::byte>& out);
    result<void> on_command(std::span<const std::byte> body);
    result<void> on_error(std::span<const std::byte> data);
    errc fail(errc reason, protocol_fault fault) noexcept;

    const socket_options& options_;
    wire::zmtp::greeting_exchange greeting_;
    std::vector<std::byte> partial_; ///< Octets of a frame that is not complete.
    std::unique_ptr<pipe::peer_info> peer_;
    bool complete_ = false;
    std::optional<handshake_failure> failure_;
};

} // namespace zlink::session
