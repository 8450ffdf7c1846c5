// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "codec/inbound.hpp"
#include "session/admission.hpp"
#include "session/protocol.hpp"
#include "session/zmtp_commands.hpp"

#include <cstddef>
#include <memory>
#include <span>

namespace zlink::session {

/// All versions of ZMTP over a byte stream (23/ZMTP, 37/ZMTP).
class zmtp_protocol final : public protocol {
public:
    explicit zmtp_protocol(connection& over) noexcept : over_(over) {}

    result<progress> start() override;
    result<progress> on_received(std::span<const std::byte>& received) override;
    void tell_failure(errc reason) noexcept override;
    reading make_reading() override;
    std::unique_ptr<codec::encoder> make_encoder() override;
    void announce_peer() override;
    std::span<const std::byte> first_frame() const noexcept override;
    bool has_heartbeats() const noexcept override;
    void on_begun() noexcept override { admission_.reset(); }
    verdict on_command(std::span<const std::byte> body) noexcept override;
    void announce_departure(errc) noexcept override { tell_end(over_); }
    void send_ping(wire::zmtp::heartbeat_ttl ttl) override;

private:
    connection& over_;
    std::unique_ptr<admission> admission_; ///< Until the first message.
};

} // namespace zlink::session
