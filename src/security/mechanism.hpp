// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "base/socket_options.hpp"
#include "pipe/peer_info.hpp"
#include "security/handshake_failure.hpp"
#include "wire/zap.hpp"
#include "wire/zmtp/command.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace zlink::crypto {
struct curve_ciphers;
}

namespace zlink::security {

/// A ZAP request by a mechanism.
struct zap_question {
    std::vector<secret_text> credentials;
    bool needs_handler = false; ///< Without a handler the peer is rejected.
};

/// The state that a handshake and its mechanism share: output and results.
class conversation {
public:
    explicit conversation(const socket_options& chosen)
        : options(chosen), peer(new pipe::peer_info) {}

    /// Sends a command.
    /// @param body  Its name and data.
    void say(std::span<const std::byte> body);

    /// Sends ERROR with a ZAP status, except for the temporary failure: after an ERROR the peer
    /// would not retry (26/CURVEZMQ).
    void say_refused(wire::zap_status status);

    /// Stores the peer's metadata.
    /// @error  As decode_peer_metadata.
    result<void> take_metadata(std::span<const std::byte> metadata);

    /// The metadata of READY or INITIATE.
    std::vector<std::byte> own_metadata() const;

    /// Records a fault of the peer. @return protocol_violation
    errc record_fault(protocol_fault fault) noexcept {
        failure = failure_of(fault);
        return errc::protocol_violation;
    }

    /// Records that the peer's input is not a command. As in libzmq, NULL does not distinguish that
    /// from a command at the wrong time. @return protocol_violation
    errc record_unreadable() noexcept {
        return record_fault(options.mechanism == security_mechanism::null
                                ? protocol_fault::unexpected_command
                                : protocol_fault::malformed_command);
    }

    const socket_options& options;
    std::unique_ptr<pipe::peer_info> peer;
    std::vector<std::byte> unsent;        ///< Frames.
    std::optional<zap_question> question; ///< Set by a mechanism; a reply follows.
    std::optional<handshake_failure> failure;
};

/// The commands between greeting and messages of one security mechanism in one role; the contract
/// of the classes whose names end in _mechanism.
///
/// A mechanism puts its ZAP request into conversation.question. Until the reply, commands may still
/// arrive.
///
/// @threads One at a time.
class mechanism {
public:
    virtual ~mechanism() = default;

    /// The greetings are complete.
    virtual result<void> start() = 0;

    /// A command other than ERROR was received.
    /// @error protocol_violation  It is wrong, or wrong at this time: see conversation.failure.
    /// @error invalid_argument    The peer's socket type is incompatible.
    /// @error message_too_large   Its metadata exceeds a limit.
    virtual result<void> on_command(const wire::zmtp::command_view& command) = 0;

    /// ZAP has admitted the peer, or no handler is needed.
    virtual result<void> on_admitted() = 0;

    virtual bool is_complete() const noexcept = 0;

    /// The ciphers for messages from now on; null: no encryption.
    /// @throws std::bad_alloc
    virtual std::unique_ptr<crypto::curve_ciphers> take_ciphers() const;
};

/// The mechanism that `about.options` names, in its role.
/// @param about  Outlives it.
std::unique_ptr<mechanism> make_mechanism(conversation& about);

} // namespace zlink::security
