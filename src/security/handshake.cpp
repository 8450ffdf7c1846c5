// SPDX-License-Identifier: MPL-2.0
#include "security/handshake.hpp"

#include "base/limits.hpp"
#include "wire/zmtp/command.hpp"
#include "wire/zmtp/frame.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace zlink::security {

using namespace wire::zmtp;

handshake::handshake(const socket_options& options)
    : about_(options),
      greeting_(mechanism_name(options.mechanism), options.routing_id.size(), options.type) {}

void handshake::start(std::vector<std::byte>& out) {
    flush_greeting(out);
}

result<void> handshake::start_upgraded(bool has_mechanism, std::vector<std::byte>& out) {
    is_upgraded_ = true;
    if (has_mechanism) {
        mechanism_ = make_mechanism(about_);
        return conclude(mechanism_->start(), out);
    }
    // The frame with the identity is that of version 2.0.
    identity_.emplace(peer_greeting{.version = peer_version::v2, .type = about_.options.type});
    identity_->start(about_.options.routing_id, out);
    return {};
}

void handshake::flush_greeting(std::vector<std::byte>& out) {
    const auto content = greeting_.outgoing();
    out.insert(out.end(), content.begin(), content.end());
    greeting_.on_sent(content.size());
}

/// Hands over the output of a step.
/// @return `step`.
result<void> handshake::conclude(result<void> step, std::vector<std::byte>& out) {
    out.insert(out.end(), about_.unsent.begin(), about_.unsent.end());
    wipe(about_.unsent);
    about_.unsent.clear();
    has_failed_ = has_failed_ || !step;
    return step;
}

result<void> handshake::on_received(std::span<const std::byte>& input,
                                    std::vector<std::byte>& out) {
    return conclude(receive(input, out), out);
}

result<void> handshake::receive(std::span<const std::byte>& input, std::vector<std::byte>& out) {
    if (!is_upgraded_ && greeting_.state() < greeting_state::complete) {
        if (const result<void> taken = receive_greeting(input, out); !taken) {
            return taken.error();
        }
    }
    if (identity_) {
        return receive_identity(input);
    }
    return mechanism_ ? receive_commands(input) : result<void>{};
}

result<void> handshake::receive_greeting(std::span<const std::byte>& input,
                                         std::vector<std::byte>& out) {
    const greeting_state state = greeting_.on_received(input);
    if (version() != peer_version::v3 && !is_open_to_older_peers()) {
        about_.record_fault(protocol_fault::mechanism_mismatch); // It has no mechanism.
        return errc::not_supported;
    }
    flush_greeting(out);
    switch (state) {
    case greeting_state::complete:
        mechanism_ = make_mechanism(about_);
        return mechanism_->start();
    case greeting_state::older_peer:
        return begin_with_older_peer(out);
    case greeting_state::mechanism_mismatch:
        about_.record_fault(protocol_fault::mechanism_mismatch);
        return errc::not_supported;
    default:
        return {};
    }
}

result<void> handshake::receive_commands(std::span<const std::byte>& input) {
    while (!is_complete() && !input.empty()) {
        // Bytes are collected in partial_ until one frame is complete; excess bytes are returned.
        const std::size_t before = partial_.size();
        const std::size_t wanted = limits::handshake_command_bytes_max + header_bytes_max - before;
        const auto taken = input.first(std::min(input.size(), wanted));
        partial_.insert(partial_.end(), taken.begin(), taken.end());
        frame_head head;
        switch (read_head(partial_.data(), partial_.size(), limits::handshake_command_bytes_max,
                          head)) {
        case head_status::incomplete:
            input = input.subspan(taken.size());
            continue;
        case head_status::violation:
            return about_.record_unreadable();
        case head_status::too_large:
            about_.record_unreadable();
            return errc::message_too_large;
        case head_status::complete:
            break;
        }
        if (partial_.size() < head.frame_bytes()) {
            input = input.subspan(taken.size());
            continue;
        }
        const std::span<const std::byte> body{partial_.data() + head.header_bytes, head.body_bytes};
        if (!head.command()) { // As in libzmq, it may still look like a command.
            return decode_command(body) ? about_.record_fault(protocol_fault::unexpected_command)
                                        : about_.record_unreadable();
        }
        input = input.subspan(head.frame_bytes() - before);
        if (const result<void> done = on_command(body); !done) {
            return done.error();
        }
        secret_bytes{}.swap(partial_);
    }
    return {};
}

result<void> handshake::on_command(std::span<const std::byte> body) {
    const result<command_view> command = decode_command(body);
    if (!command) {
        return about_.record_unreadable();
    }
    return command->name == error_name ? on_error(command->data) : mechanism_->on_command(*command);
}

/// The peer rejects this side. A reason that is a ZAP status comes from its handler.
result<void> handshake::on_error(std::span<const std::byte> data) {
    const result<std::string_view> reason = decode_error(data);
    if (!reason) {
        return about_.record_fault(protocol_fault::malformed_error);
    }
    using wire::zap_status;
    for (const zap_status each :
         {zap_status::temporary_failure, zap_status::refused, zap_status::internal_error}) {
        if (*reason == std::to_string(static_cast<unsigned>(each))) {
            about_.failure = failure_of(each);
        }
    }
    return errc::permission_denied;
}

// Older peers.

/// A side with a mechanism or a ZAP domain accepts nothing less.
bool handshake::is_open_to_older_peers() const noexcept {
    return about_.options.mechanism == security_mechanism::null &&
           about_.options.zap_domain.empty();
}

result<void> handshake::begin_with_older_peer(std::vector<std::byte>& out) {
    const peer_greeting& peer = greeting_.peer();
    if (peer.type && !may_talk(about_.options.type, *peer.type)) {
        about_.record_fault(protocol_fault::invalid_metadata);
        return errc::invalid_argument;
    }
    identity_.emplace(peer);
    identity_->start(about_.options.routing_id, out);
    if (peer.type) {
        return {};
    }
    auto begun = greeting_.received();
    return receive_identity(begun);
}

result<void> handshake::receive_identity(std::span<const std::byte>& input) {
    const result<void> taken = identity_->on_received(input);
    if (taken && identity_->is_complete()) {
        about_.peer->routing_id = identity_->identity();
    }
    return taken;
}

// ZAP.

std::optional<wire::zap_request> handshake::take_question() {
    std::optional<zap_question> question = std::exchange(about_.question, {});
    if (!question) {
        return {};
    }
    needs_handler_ = question->needs_handler;
    return wire::zap_request{about_.options.zap_domain,
                             {},
                             about_.options.routing_id,
                             mechanism_name(about_.options.mechanism),
                             std::move(question->credentials)};
}

result<void> handshake::on_zap_reply(std::variant<wire::zap_reply, wire::zap_fault> reply,
                                     std::vector<std::byte>& out) {
    return conclude(judge(std::move(reply)), out);
}

result<void> handshake::judge(std::variant<wire::zap_reply, wire::zap_fault> reply) {
    if (const auto* const fault = std::get_if<wire::zap_fault>(&reply); fault != nullptr) {
        return about_.record_fault(fault_of(*fault));
    }
    auto& given = std::get<wire::zap_reply>(reply);
    if (given.status != wire::zap_status::accepted) {
        about_.failure = failure_of(given.status);
        about_.say_refused(given.status);
        return errc::permission_denied;
    }
    // Before the peer's own claims: the first property of a name takes precedence.
    pipe::property_list first;
    first.add(pipe::user_id_property, given.user_id);
    for (const auto& [name, value] : given.metadata) {
        if (!pipe::is_own_property(name)) {
            first.add(name, value);
        }
    }
    about_.peer->properties.prepend(first);
    return mechanism_->on_admitted();
}

result<void> handshake::on_no_zap_handler(std::vector<std::byte>& out) {
    if (needs_handler_) {
        return errc::bad_address; // Not this side's failure: the caller reports its own reason.
    }
    return conclude(mechanism_->on_admitted(), out);
}

// Failure.

handshake_failure handshake::failure(errc reason) const noexcept {
    if (about_.failure) {
        return *about_.failure;
    }
    if (has_failed_ && (reason == errc::protocol_violation || reason == errc::message_too_large)) {
        return failure_of(protocol_fault::zmtp_unspecified);
    }
    return handshake_failure{connection_event::handshake_failed_no_detail,
                             static_cast<std::int32_t>(reason)};
}

} // namespace zlink::security
