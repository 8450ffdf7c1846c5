// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "session/protocol.hpp"

#include <memory>
#include <span>

namespace zlink::session {

/// Plain bytes (ZMQ_STREAM): no handshake, and each read becomes a message.
class raw_protocol final : public protocol {
public:
    explicit raw_protocol(connection& over) noexcept : over_(over) {}

    result<progress> start() override { return progress::established; }
    reading make_reading() override;
    std::unique_ptr<codec::encoder> make_encoder() override;
    void announce_peer() override;
    std::span<const std::byte> first_frame() const noexcept override;
    void announce_departure(errc reason) noexcept override;

private:
    connection& over_;
};

} // namespace zlink::session
