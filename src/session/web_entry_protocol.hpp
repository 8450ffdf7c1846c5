// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "session/protocol.hpp"
#include "session/web_handshake.hpp"

#include <memory>
#include <span>

namespace zlink::session {

/// The start of a ws or wss connection, on either side: HTTP, upgraded to WebSocket (RFC 6455, 4).
/// Then hands the stream over to the protocol of the pattern, or of the STREAM.
class web_entry_protocol final : public protocol {
public:
    explicit web_entry_protocol(connection& over);

    bool is_entry() const noexcept override { return true; }
    result<progress> start() override;
    result<progress> on_received(std::span<const std::byte>& received) override;
    std::unique_ptr<protocol> hand_on() override;
    void tell_failure(errc reason) noexcept override;

    /// The protocol that speaks WebSocket on this connection.
    static std::unique_ptr<protocol> upgraded(connection& over, web_handshake::terms agreed);

private:
    // No message passes before the hand-over.
    reading make_reading() override { return {}; }
    void announce_peer() override {}

    connection& over_;
    web_handshake upgrade_;
};

} // namespace zlink::session
