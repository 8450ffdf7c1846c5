// SPDX-License-Identifier: MPL-2.0
#include "session/datagram_protocol.hpp"

#include "codec/datagram_decoder.hpp"
#include "codec/datagram_encoder.hpp"
#include "session/connection.hpp"
#include "session/session.hpp"
#include "session/zmtp_commands.hpp"
#include "transport/datagram_stream.hpp"
#include "wire/zmtp/frame.hpp"

#include <cstdint>

namespace zlink::session {

bool datagram_protocol::is_addressed() const noexcept {
    return over_.options().type == socket_type::dgram;
}

reading datagram_protocol::make_reading() {
    return {.decoder = std::make_unique<codec::datagram_decoder>(
                is_addressed() ? transport::datagram_address_bytes : 0,
                body_bytes_max_of(over_.options()), over_.call().counters),
            .commands = this,
            .body_bytes_max = wire::zmtp::body_bytes_limit,
            .unfinished_bytes_max = UINT64_MAX};
}

std::unique_ptr<codec::encoder> datagram_protocol::make_encoder() {
    return std::make_unique<codec::datagram_encoder>(is_addressed());
}

void datagram_protocol::announce_peer() {
    over_.announce(std::unique_ptr<pipe::peer_info>(new pipe::peer_info));
}

} // namespace zlink::session
