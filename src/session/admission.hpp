// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "codec/frame_encoder.hpp"
#include "crypto/curve_cipher.hpp"
#include "pipe/peer_info.hpp"
#include "security/handshake.hpp"
#include "security/zap_client.hpp"
#include "session/protocol.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <variant>
#include <vector>

namespace zlink::session {

/// Admits the peer of a pattern: runs the steps of the handshake, and asks the application's ZAP
/// handler where one is configured. Lives until the first message.
class admission final : private security::zap_asker {
public:
    /// @param frames  The connection's framing: handshake commands use the same.
    admission(connection& over, codec::frame_encoder::framing frames);
    admission(const admission&) = delete;
    admission& operator=(const admission&) = delete;

    /// Starts with a greeting.
    result<protocol::progress> start();
    /// Starts behind an upgrade to ZWS, which replaces the greetings.
    /// @param has_mechanism  If false, each side sends its identity, and ZAP is not asked.
    result<protocol::progress> start_upgraded(bool has_mechanism);

    /// Consumes bytes, which are ZMTP frames, from the front of `received`. ask_after() must follow
    /// once everything that was received is consumed.
    /// @error  As security::handshake.
    result<protocol::progress> take(std::span<const std::byte>& received);

    /// Asks the ZAP handler, if the handshake has a question now. Its reply may be there at once:
    /// then the connection may be established, and this destroyed, when the call returns.
    /// @param step  The outcome of what was consumed.
    /// @return `step`, or the outcome without a handler.
    /// @error bad_address  The ZAP handler is gone.
    result<protocol::progress> ask_after(const result<protocol::progress>& step);

    security::handshake& agreed() noexcept { return handshake_; }

    /// The ciphers for messages in both directions; null: no encryption. After is_complete().
    /// @throws std::bad_alloc
    crypto::curve_ciphers* ciphers();

    /// The encoder for outgoing messages, with those ciphers; null: messages need no encoding.
    /// @throws std::bad_alloc
    std::unique_ptr<codec::encoder> make_encoder();

    /// Reports to the monitor why the peer was rejected.
    void tell_failure(errc reason) const noexcept;

private:
    using action = std::function<result<void>(std::vector<std::byte>& out)>;
    result<protocol::progress> step(const action& taken);
    result<protocol::progress> ask(wire::zap_request& request);
    void on_zap_reply(std::variant<wire::zap_reply, wire::zap_fault> reply) noexcept override;
    void on_zap_handler_gone() noexcept override;

    connection& over_;
    codec::frame_encoder::framing frames_;
    security::handshake handshake_;
    std::unique_ptr<security::zap_client> zap_; ///< Set while a reply is pending.
    std::unique_ptr<crypto::curve_ciphers> ciphers_;
};

} // namespace zlink::session
