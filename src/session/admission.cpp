// SPDX-License-Identifier: MPL-2.0
#include "session/admission.hpp"

#include "base/secret.hpp"
#include "session/connection.hpp"
#include "session/session.hpp"
#include "session/zws.hpp"
#include "transport/address.hpp"

#include <string>
#include <utility>

namespace zlink::session {

using framing = codec::frame_encoder::framing;
using progress = protocol::progress;

admission::admission(connection& over, framing frames)
    : over_(over), frames_(frames), handshake_(over.options()) {}

result<progress> admission::start() {
    handshake_.start(over_.output().own());
    return progress::waits;
}

result<progress> admission::start_upgraded(bool has_mechanism) {
    return ask_after(
        step([&](auto& out) { return handshake_.start_upgraded(has_mechanism, out); }));
}

result<progress> admission::take(std::span<const std::byte>& received) {
    return step([&](auto& out) { return handshake_.on_received(received, out); });
}

/// Runs a handshake step, and queues its output in this connection's framing.
result<progress> admission::step(const action& taken) {
    std::vector<std::byte>& own = over_.output().own();
    result<void> came_to{};
    if (frames_ == framing::zws || frames_ == framing::masked_zws) {
        std::vector<std::byte> said;
        came_to = taken(said);
        append_as_zws(said, frames_ == framing::masked_zws, own);
        wipe(said); // It may contain a password.
    } else {
        came_to = taken(own);
    }
    if (!came_to) {
        return came_to.error();
    }
    const bool is_over = handshake_.is_complete() && !handshake_.has_question();
    return is_over ? progress::established : progress::waits;
}

result<progress> admission::ask_after(const result<progress>& step) {
    if (step && *step == progress::waits) {
        if (auto question = handshake_.take_question()) {
            return ask(*question);
        }
    }
    return step;
}

result<progress> admission::ask(wire::zap_request& request) {
    session_host& host = *over_.call().host;
    pipe::end_ptr to_handler = host.reach_zap_handler(over_.owner().thread().mailbox());
    if (!to_handler) {
        if (host.has_had_zap_handler()) {
            return errc::bad_address; // Rejected: the handler is gone.
        }
        return step([this](auto& out) { return handshake_.on_no_zap_handler(out); });
    }
    const std::string address =
        transport::peer_name(over_.stream().peer(), over_.stream().descriptor());
    request.address = address;
    zap_.reset(new security::zap_client(std::move(to_handler), *this));
    zap_->ask(request);
    return progress::waits; // Meanwhile the peer may send more, or close.
}

void admission::on_zap_reply(std::variant<wire::zap_reply, wire::zap_fault> reply) noexcept {
    const std::unique_ptr<security::zap_client> done = std::move(zap_);
    over_.owner().enter([&] {
        over_.after_step(ask_after(
            step([&](auto& out) { return handshake_.on_zap_reply(std::move(reply), out); })));
    });
}

void admission::on_zap_handler_gone() noexcept {
    const std::unique_ptr<security::zap_client> done = std::move(zap_);
    over_.owner().enter([this] { over_.lose(errc::bad_address); });
}

crypto::curve_ciphers* admission::ciphers() {
    if (!ciphers_) {
        ciphers_ = handshake_.take_ciphers();
    }
    return ciphers_.get();
}

std::unique_ptr<codec::encoder> admission::make_encoder() {
    const socket_options& options = over_.options();
    const bool subscribes = options.type == socket_type::sub || options.type == socket_type::xsub;
    const bool is_v1 = handshake_.version() == wire::zmtp::peer_version::v1;
    codec::frame_encoder::needs needs{
        .sealer = ciphers() != nullptr ? std::move(ciphers()->sealer) : nullptr,
        .subscriptions_as_messages = subscribes && !handshake_.has_subscribe_command(),
        .frames = is_v1 ? framing::v1 : frames_};
    const bool passes_as_it_is = needs.sealer == nullptr && !needs.subscriptions_as_messages &&
                                 needs.frames == framing::zmtp && !over_.end().in.conflates();
    return passes_as_it_is ? nullptr : std::make_unique<codec::frame_encoder>(std::move(needs));
}

void admission::tell_failure(errc reason) const noexcept {
    const security::handshake_failure failure = handshake_.failure(reason);
    over_.tell(failure.what, failure.value);
}

} // namespace zlink::session
