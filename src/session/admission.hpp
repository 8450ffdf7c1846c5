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

/// Lets the peer of a pattern in: takes the handshake's steps, and asks the application's ZAP
/// handler where it has a say. Lasts until the first message.
class admission final : private security::zap_asker {
public:
    /// @param frames  Of the connection: what the handshake says is framed likewise.
    admission(connection& over, codec::frame_encoder::framing frames);
    admission(const admission&) = delete;
    admission& operator=(const admission&) = delete;

    /// Begins with a greeting.
    result<protocol::progress> start();
    /// Begins behind an upgrade to ZWS, which takes the greetings' place.
    /// @param has_mechanism  Otherwise each side sends its identity, and is not asked about.
    result<protocol::progress> start_upgraded(bool has_mechanism);

    /// Takes bytes off the front of `received`, which are frames of ZMTP.
    /// @error  As security::handshake, and bad_address: there is nobody who lets the peer in.
    result<protocol::progress> take(std::span<const std::byte>& received);

    security::handshake& agreed() noexcept { return handshake_; }

    /// What messages pass through, both ways; null: they are not encrypted. After is_complete().
    /// @throws std::bad_alloc
    crypto::curve_ciphers* ciphers();

    /// What passes through on its way out, with those ciphers; null: all passes as it is.
    /// @throws std::bad_alloc
    std::unique_ptr<codec::encoder> make_encoder();

    /// Tells the monitor why the peer was not let in.
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
    std::unique_ptr<security::zap_client> zap_; ///< While its answer is awaited.
    std::unique_ptr<crypto::curve_ciphers> ciphers_;
};

} // namespace zlink::session
