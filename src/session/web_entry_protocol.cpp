// SPDX-License-Identifier: MPL-2.0
#include "session/web_entry_protocol.hpp"

#include "security/handshake_failure.hpp"
#include "session/connection.hpp"
#include "session/forwarded_client.hpp"
#include "session/session.hpp"
#include "session/stream_protocol.hpp"
#include "session/zws_protocol.hpp"

#include <utility>

namespace zlink::session {

using progress = protocol::progress;

namespace {

/// Whether an upgrade failed because of its content, and not for lack of an answer.
bool is_refusal(errc reason) noexcept {
    return reason == errc::protocol_violation || reason == errc::message_too_large ||
           reason == errc::permission_denied;
}

} // namespace

web_entry_protocol::web_entry_protocol(connection& over)
    : over_(over),
      upgrade_(over.is_dialing() ? web_handshake::role::client : web_handshake::role::server,
               over.call().where, over.options()) {
    if (!over.is_dialing() && comes_through_proxy(over)) {
        upgrade_.set_admission([&over](const wire::http::forwarding_fields& said) -> result<void> {
            const auto client = client_of(over, said);
            return client ? over.stream().adopt_client(*client) : result<void>{};
        });
    }
}

result<progress> web_entry_protocol::start() {
    upgrade_.start(over_.output().own());
    return progress::waits;
}

result<progress> web_entry_protocol::on_received(std::span<const std::byte>& received) {
    if (const result<void> taken = upgrade_.on_received(received, over_.output().own()); !taken) {
        return taken.error();
    }
    return upgrade_.is_complete() ? progress::hands_on : progress::waits;
}

std::unique_ptr<protocol> web_entry_protocol::hand_on() {
    return upgraded(over_, upgrade_.take_agreed());
}

std::unique_ptr<protocol> web_entry_protocol::upgraded(connection& over,
                                                       web_handshake::terms agreed) {
    if (over.options().type != socket_type::stream) {
        return std::make_unique<zws_protocol>(over, std::move(agreed));
    }
    return std::make_unique<stream_protocol>(
        over, std::make_unique<web_handshake::terms>(std::move(agreed)));
}

void web_entry_protocol::tell_failure(errc reason) noexcept {
    const web_handshake::refusal& answer = upgrade_.refused();
    if (answer.status != 0) {
        return over_.tell(connection_event::handshake_failed_no_detail, answer.status, answer.text);
    }
    if (over_.options().type != socket_type::stream && is_refusal(reason)) {
        const security::handshake_failure refused =
            security::failure_of(protocol_fault::websocket_unspecified);
        return over_.tell(refused.what, refused.value);
    }
    over_.tell(connection_event::handshake_failed_no_detail, static_cast<int>(reason));
}

} // namespace zlink::session
