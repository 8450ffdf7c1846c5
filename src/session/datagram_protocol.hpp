// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "session/protocol.hpp"

#include <memory>

namespace zlink::session {

/// Datagrams of RADIO, DISH and DGRAM: no connection, so no handshake and no end.
class datagram_protocol final : public protocol {
public:
    explicit datagram_protocol(connection& over) noexcept : over_(over) {}

    result<progress> start() override { return progress::established; }
    reading make_reading() override;
    std::unique_ptr<codec::encoder> make_encoder() override;
    void announce_peer() override;

private:
    bool is_addressed() const noexcept;

    connection& over_;
};

} // namespace zlink::session
