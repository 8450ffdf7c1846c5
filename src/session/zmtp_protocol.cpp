// SPDX-License-Identifier: MPL-2.0
#include "session/zmtp_protocol.hpp"

#include "codec/curve_decoder.hpp"
#include "codec/v1_decoder.hpp"
#include "session/connection.hpp"
#include "session/zmtp_commands.hpp"

#include <array>
#include <utility>

namespace zlink::session {

namespace zmtp = wire::zmtp;
using progress = protocol::progress;

result<progress> zmtp_protocol::start() {
    admission_ = std::make_unique<admission>(over_, codec::frame_encoder::framing::zmtp);
    return admission_->start();
}

result<progress> zmtp_protocol::on_received(std::span<const std::byte>& received) {
    return admission_->ask_after(admission_->take(received));
}

void zmtp_protocol::tell_failure(errc reason) noexcept {
    if (admission_) {
        admission_->tell_failure(reason);
    }
}

reading zmtp_protocol::make_reading() {
    reading chosen = zmtp_reading(over_.options(), *this);
    if (admission_->ciphers()) {
        chosen.decoder = std::make_unique<codec::curve_decoder>(admission_->ciphers()->opener,
                                                                chosen.body_bytes_max);
    } else if (admission_->agreed().version() == zmtp::peer_version::v1) {
        chosen.decoder = std::make_unique<codec::v1_decoder>();
    }
    return chosen;
}

std::unique_ptr<codec::encoder> zmtp_protocol::make_encoder() {
    return admission_->make_encoder();
}

void zmtp_protocol::announce_peer() {
    over_.announce(admission_->agreed().take_peer());
    over_.tell(connection_event::handshake_succeeded, 0);
}

std::span<const std::byte> zmtp_protocol::first_frame() const noexcept {
    return first_frame_of(over_.options(), admission_->agreed().filters_by_itself());
}

bool zmtp_protocol::has_heartbeats() const noexcept {
    return admission_->agreed().version() == zmtp::peer_version::v3;
}

void zmtp_protocol::send_ping(zmtp::heartbeat_ttl ttl) {
    std::array<std::byte, zmtp::heartbeat_body_bytes_max> ping;
    over_.send_command(std::span{ping}.first(zmtp::encode_ping(ping, ttl, {})));
}

zmtp_protocol::verdict zmtp_protocol::on_command(std::span<const std::byte> body) noexcept {
    return on_zmtp_command(over_, body, true);
}

} // namespace zlink::session
