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

/// The part of a ZMTP connection before messages: greetings, the commands of the mechanism, then
/// possibly a ZAP request. Does no I/O.
///
/// Peers with ZMTP 1.0 or 2.0 have no mechanism, and ZAP cannot check them. They are admitted if no
/// check is configured, and send their identity instead.
///
/// Bytes that a call appends to `out` must be sent, also after a failure, to tell the peer why.
///
/// @threads One at a time.
class handshake {
public:
    explicit handshake(const socket_options& options);
    handshake(const handshake&) = delete;
    handshake& operator=(const handshake&) = delete;

    /// Consumes bytes from the front of `input`. After is_complete() the rest is messages.
    /// @error protocol_violation  The peer does not speak ZMTP, or breaks it.
    /// @error invalid_argument    Its socket type is incompatible.
    /// @error message_too_large   A command or identity exceeds the limit.
    /// @error permission_denied   It sent ERROR.
    /// @error not_supported       Its version or mechanism is not supported.
    result<void> on_received(std::span<const std::byte>& input, std::vector<std::byte>& out);

    /// Appends the bytes to send before any input.
    void start(std::vector<std::byte>& out);

    /// The same after an upgrade to ZWS, which replaces the greetings (45/ZWS).
    /// @param has_mechanism  If false, each side sends its identity, and ZAP is not asked.
    result<void> start_upgraded(bool has_mechanism, std::vector<std::byte>& out);

    /// The pending ZAP request, returned once; its result goes to on_zap_reply, or
    /// on_no_zap_handler.
    /// @return Without the peer's address. Its views stay valid as long as this handshake.
    std::optional<wire::zap_request> take_question();
    /// Whether take_question() would return one.
    bool has_question() const noexcept { return about_.question.has_value(); }

    /// @error permission_denied   The peer is rejected.
    /// @error protocol_violation  The reply is invalid.
    result<void> on_zap_reply(std::variant<wire::zap_reply, wire::zap_fault> reply,
                              std::vector<std::byte>& out);

    /// There is no ZAP handler.
    /// @error bad_address  The peer needs one, and is rejected.
    result<void> on_no_zap_handler(std::vector<std::byte>& out);

    bool is_complete() const noexcept {
        return mechanism_ ? mechanism_->is_complete() : identity_ && identity_->is_complete();
    }

    /// The peer's version; 3.0 over ZWS.
    wire::zmtp::peer_version version() const noexcept { return greeting_.peer().version; }

    /// Whether the peer, libzmq 2.x, sends no subscriptions and expects every message.
    bool filters_by_itself() const noexcept {
        return identity_ && !is_upgraded_ && !greeting_.peer().type.has_value();
    }

    /// Whether the peer expects subscriptions as commands (3.1), not as messages.
    bool has_subscribe_command() const noexcept { return greeting_.peer().has_subscribe_command(); }

    /// The properties from the peer and from ZAP; once, after is_complete().
    std::unique_ptr<pipe::peer_info> take_peer() noexcept { return std::move(about_.peer); }

    /// The ciphers for messages; null: no encryption. After is_complete().
    /// @throws std::bad_alloc
    std::unique_ptr<crypto::curve_ciphers> take_ciphers() const {
        return mechanism_ ? mechanism_->take_ciphers() : nullptr;
    }

    /// The monitor event to report if the connection ends now.
    /// @param reason  The cause: the error of one of the calls above, if any.
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
    std::optional<wire::zmtp::identity_exchange> identity_; ///< The same for an older peer.
    secret_bytes partial_;       ///< Bytes of an incomplete frame, possibly a password.
    bool needs_handler_ = false; ///< For the request that was taken.
    bool has_failed_ = false;    ///< One of the calls has failed.
    bool is_upgraded_ = false;   ///< There are no greetings.
};

} // namespace zlink::security
