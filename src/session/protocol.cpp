// SPDX-License-Identifier: MPL-2.0
#include "session/protocol.hpp"

#include "session/connection.hpp"
#include "session/datagram_protocol.hpp"
#include "session/http_protocol.hpp"
#include "session/raw_protocol.hpp"
#include "session/session.hpp"
#include "session/stream_protocol.hpp"
#include "session/web_entry_protocol.hpp"
#include "session/zmtp_protocol.hpp"

namespace zlink::session {

using progress = protocol::progress;

result<progress> protocol::on_received(std::span<const std::byte>&) {
    return errc::protocol_violation;
}

std::unique_ptr<protocol> protocol::hand_on() {
    return {};
}

void protocol::send_close(std::uint16_t, std::string_view) {}

std::unique_ptr<protocol> make_protocol(connection& over) {
    if (is_http(over.call().where.via)) {
        return std::make_unique<http_protocol>(over);
    }
    if (is_web(over.call().where.via)) {
        return std::make_unique<web_entry_protocol>(over);
    }
    if (over.call().where.via == scheme::udp) {
        return std::make_unique<datagram_protocol>(over);
    }
    if (over.options().type == socket_type::stream) {
        return std::make_unique<stream_protocol>(over, nullptr);
    }
    if (over.options().raw) {
        return std::make_unique<raw_protocol>(over);
    }
    return std::make_unique<zmtp_protocol>(over);
}

} // namespace zlink::session
