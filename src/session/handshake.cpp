// SPDX-License-Identifier: MPL-2.0
#include "session/handshake.hpp"

#include "base/limits.hpp"
#include "wire/zmtp/command.hpp"
#include "wire/zmtp/frame.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace zlink::session {

using namespace wire::zmtp;

namespace {

std::string text_of(std::span<const std::byte> octets) {
    return {reinterpret_cast<const char*>(octets.data()), octets.size()};
}

void append_frame(std::vector<std::byte>& out, std::span<const std::byte> body, unsigned flags) {
    std::byte header[header_bytes_max];
    const std::size_t header_bytes = write_header(header, body.size(), flags);
    out.insert(out.end(), header, header + header_bytes);
    out.insert(out.end(), body.begin(), body.end());
}

std::vector<std::byte> make_ready(const socket_options& options) {
    const bool announces_identity = options.type == socket_type::req ||
                                    options.type == socket_type::dealer ||
                                    options.type == socket_type::router;
    std::optional<std::span<const std::byte>> identity;
    if (announces_identity) {
        identity = std::as_bytes(std::span{options.routing_id});
    }
    return encode_ready(options.type, identity);
}

} // namespace

handshake::handshake(const socket_options& options)
    : options_(options), greeting_("NULL", options.routing_id.size()) {}

void handshake::start(std::vector<std::byte>& out) {
    flush_greeting(out);
}

void handshake::flush_greeting(std::vector<std::byte>& out) {
    const auto octets = greeting_.outgoing();
    out.insert(out.end(), octets.begin(), octets.end());
    greeting_.on_sent(octets.size());
}

result<void> handshake::on_received(std::span<const std::byte>& input,
                                    std::vector<std::byte>& out) {
    if (greeting_.state() < greeting_state::complete) {
        const greeting_state state = greeting_.on_received(input);
        flush_greeting(out);
        if (state == greeting_state::mechanism_mismatch) {
            return fail(errc::not_supported, protocol_fault::mechanism_mismatch);
        }
        if (state > greeting_state::complete) {
            return errc::not_supported;
        }
        if (state == greeting_state::complete) {
            append_frame(out, make_ready(options_), flag_command);
        }
    }
    while (greeting_.state() == greeting_state::complete && !complete_ && !input.empty()) {
        // Octets gather in partial_ until one frame is whole; what is too much goes back.
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
            return fail(errc::protocol_violation, protocol_fault::unexpected_command);
        case head_status::too_large:
            return errc::message_too_large;
        case head_status::complete:
            break;
        }
        if (partial_.size() < head.frame_bytes()) {
            input = input.subspan(taken.size());
            continue;
        }
        if (!head.command()) {
            return fail(errc::protocol_violation, protocol_fault::unexpected_command);
        }
        input = input.subspan(head.frame_bytes() - before);
        const std::span<const std::byte> body{partial_.data() + head.header_bytes, head.body_bytes};
        if (const result<void> done = on_command(body); !done) {
            return done.error();
        }
        partial_.clear();
    }
    return {};
}

result<void> handshake::on_command(std::span<const std::byte> body) {
    const result<command_view> command = decode_command(body);
    if (!command) {
        return fail(command.error(), protocol_fault::unexpected_command);
    }
    if (command->name == error_name) {
        return on_error(command->data);
    }
    if (command->name != ready_name) {
        return fail(errc::protocol_violation, protocol_fault::unexpected_command);
    }
    const result<peer_metadata> metadata = decode_peer_metadata(command->data, options_.type);
    if (!metadata) {
        return metadata.error() == errc::invalid_argument
                   ? metadata.error()
                   : fail(metadata.error(), protocol_fault::invalid_metadata);
    }
    peer_ = std::make_unique<pipe::peer_info>();
    peer_->routing_id = text_of(metadata->identity);
    const result<void> visited = decode_metadata(command->data, [&](const property_view& each) {
        peer_->properties.emplace_back(std::string{each.name}, text_of(each.value));
    });
    if (!visited) {
        return visited.error();
    }
    complete_ = true;
    return {};
}

/// A reason of three digits is the status that the peer's ZAP handler gave.
result<void> handshake::on_error(std::span<const std::byte> data) {
    const result<std::string_view> reason = decode_error(data);
    if (!reason) {
        return fail(errc::protocol_violation, protocol_fault::malformed_error);
    }
    if (*reason == "300" || *reason == "400" || *reason == "500") {
        failure_ = {connection_event::handshake_failed_auth, (reason->front() - '0') * 100};
    }
    return errc::connection_refused;
}

/// Notes what a monitor is told.
/// @return `reason`.
errc handshake::fail(errc reason, protocol_fault fault) noexcept {
    failure_ = {connection_event::handshake_failed_protocol, static_cast<std::int32_t>(fault)};
    return reason;
}

} // namespace zlink::session
