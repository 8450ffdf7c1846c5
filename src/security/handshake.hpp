// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "base/socket_options.hpp"
#include "crypto/curve_cipher.hpp"
#include "pipe/peer_info.hpp"
#include "security/handshake_failure.hpp"
#include "security/mechanism.hpp"
#include "wire/zap.hpp"
#include "wire/zmtp/greeting.hpp"
#include "wire/zmtp/identity.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace zlink::security {

/// The part of a ZMTP connection before messages: greetings, then the commands of the mechanism,
/// then perhaps a question to ZAP. Does no I/O.
///
/// Peers that speak ZMTP 1.0 or 2.0 know no mechanism and cannot be asked about. They are let in
/// where there is nothing to ask, and send their identity instead.
///
/// What each call appends to `out` is to be sent, after a failure too: it tells the peer why.
///
/// @threads One at a time.
class handshake {
public:
    explicit handshake(const socket_options& options);
    handshake(const handshake&) = delete;
    handshake& operator=(const handshake&) = delete;

    /// Takes bytes off the front of `input`. What remains after is_complete() are messages.
    /// @error protocol_violation  The peer speaks no ZMTP, or breaks it.
    /// @error invalid_argument    Its socket type does not go with ours.
    /// @error message_too_large   A command or identity is larger than the limit.
    /// @error permission_denied   It sent ERROR.
    /// @error not_supported       It speaks a version or mechanism that we do not.
    result<void> on_received(std::span<const std::byte>& input, std::vector<std::byte>& out);

    /// Appends what is to be sent before anything is received.
    void start(std::vector<std::byte>& out);

    /// The same where an upgrade to ZWS has taken the greetings' place (45/ZWS).
    /// @param has_mechanism  Otherwise each side sends its identity, and is not asked about.
    result<void> start_upgraded(bool has_mechanism, std::vector<std::byte>& out);

    /// What is to be asked of ZAP, once for each question; the answer goes to on_zap_reply, or
    /// on_no_zap_handler.
    /// @return Without the peer's address. Its views last as long as this handshake.
    std::optional<wire::zap_request> take_question();

    /// @error permission_denied   The peer is not let in.
    /// @error protocol_violation  The reply is none.
    result<void> on_zap_reply(std::variant<wire::zap_reply, wire::zap_fault> reply,
                              std::vector<std::byte>& out);

    /// There is nobody to ask.
    /// @error bad_address  So the peer is not let in.
    result<void> on_no_zap_handler(std::vector<std::byte>& out);

    bool is_complete() const noexcept {
        return mechanism_ ? mechanism_->is_complete() : identity_ && identity_->is_complete();
    }

    /// What the peer speaks; 3.0 over ZWS.
    wire::zmtp::peer_version version() const noexcept { return greeting_.peer().version; }

    /// Whether the peer, of libzmq 2.x, sends no subscriptions and relies on getting everything.
    bool filters_by_itself() const noexcept {
        return identity_ && !is_upgraded_ && !greeting_.peer().type.has_value();
    }

    /// Whether the peer takes subscriptions as commands (3.1), not as messages.
    bool has_subscribe_command() const noexcept { return greeting_.peer().has_subscribe_command(); }

    /// What the peer told of itself, and ZAP of it; once, after is_complete().
    std::unique_ptr<pipe::peer_info> take_peer() noexcept { return std::move(about_.peer); }

    /// What messages pass through; null where they pass as they are. After is_complete().
    /// @throws std::bad_alloc
    std::unique_ptr<crypto::curve_ciphers> take_ciphers() const {
        return mechanism_ ? mechanism_->take_ciphers() : nullptr;
    }

    /// What a monitor is told if the connection ends now.
    /// @param reason  Why it ends: what one of the calls above failed with, if one has.
    handshake_failure failure(errc reason) const noexcept;

private:
    void flush_greeting(std::vector<std::byte>& out);
    result<void> conclude(result<void> step, std::vector<std::byte>& out);
    result<void> receive(std::span<const std::byte>& input, std::vector<std::byte>& out);
    result<void> receive_greeting(std::span<const std::byte>& input, std::vector<std::byte>& out);
    result<void> receive_commands(std::span<const std::byte>& input);
    result<void> begin_with_older_peer(std::vector<std::byte>& out);
    result<void> receive_identity(std::span<const std::byte>& input);
    bool is_open_to_older_peers() const noexcept;
    result<void> on_command(std::span<const std::byte> body);
    result<void> on_error(std::span<const std::byte> data);
    result<void> judge(std::variant<wire::zap_reply, wire::zap_fault> reply);

    conversation about_;
    wire::zmtp::greeting_exchange greeting_;
    std::unique_ptr<mechanism> mechanism_;                  ///< From the end of the greetings on.
    std::optional<wire::zmtp::identity_exchange> identity_; ///< With an older peer, likewise.
    secret_bytes partial_;       ///< Bytes of a frame that is not complete, perhaps a password.
    bool needs_handler_ = false; ///< For the question that was taken.
    bool has_failed_ = false;    ///< One of the calls has.
    bool is_upgraded_ = false;   ///< There are no greetings.
};

} // namespace zlink::security
