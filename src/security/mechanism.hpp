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

/// What a mechanism asks of whoever may let the peer in.
struct zap_question {
    std::vector<secret_text> credentials;
    bool needs_handler = false; ///< Where nobody can answer, the peer stays outside.
};

/// What a handshake and its mechanism have in common: what was said, and what came of it.
class conversation {
public:
    explicit conversation(const socket_options& chosen)
        : options(chosen), peer(new pipe::peer_info) {}

    /// Sends a command.
    /// @param body  Its name and data.
    void say(std::span<const std::byte> body);

    /// Sends ERROR with a status of ZAP, but for the one that asks the peer to come again, which it
    /// would not do after an ERROR (26/CURVEZMQ).
    void say_refused(wire::zap_status status);

    /// Takes note of what the peer's metadata says.
    /// @error  As decode_peer_metadata.
    result<void> take_metadata(std::span<const std::byte> metadata);

    /// The metadata of READY or INITIATE.
    std::vector<std::byte> own_metadata() const;

    /// Notes what the peer did. @return protocol_violation
    errc blame(protocol_fault fault) noexcept {
        failure = failure_of(fault);
        return errc::protocol_violation;
    }

    /// Notes that what the peer sent is no command, which NULL does not tell from one that comes at
    /// the wrong time, as in libzmq. @return protocol_violation
    errc blame_unreadable() noexcept {
        return blame(options.mechanism == security_mechanism::null
                         ? protocol_fault::unexpected_command
                         : protocol_fault::malformed_command);
    }

    const socket_options& options;
    std::unique_ptr<pipe::peer_info> peer;
    std::vector<std::byte> unsent;        ///< Frames.
    std::optional<zap_question> question; ///< Set by a mechanism; an answer follows.
    std::optional<handshake_failure> failure;
};

/// The commands between greeting and messages of one security mechanism in one role; the contract
/// of the classes whose names end in _mechanism.
///
/// What may be asked of ZAP is put into conversation.question. Until the answer, commands go on
/// arriving.
///
/// @threads One at a time.
class mechanism {
public:
    virtual ~mechanism() = default;

    /// The greetings are over.
    virtual result<void> start() = 0;

    /// A command came, other than ERROR.
    /// @error protocol_violation  Not this one, or not now: conversation.failure says more.
    /// @error invalid_argument    The peer's socket type does not go with ours.
    /// @error message_too_large   Its metadata is above a limit.
    virtual result<void> on_command(const wire::zmtp::command_view& command) = 0;

    /// The question was answered with yes.
    virtual result<void> on_admitted() = 0;

    virtual bool is_complete() const noexcept = 0;

    /// What messages pass through from now on; null where they pass as they are.
    /// @throws std::bad_alloc
    virtual std::unique_ptr<crypto::curve_ciphers> take_ciphers() const;
};

/// The mechanism that `about.options` names, in its role.
/// @param about  Outlives it.
std::unique_ptr<mechanism> make_mechanism(conversation& about);

} // namespace zlink::security
