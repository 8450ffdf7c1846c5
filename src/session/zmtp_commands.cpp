// SPDX-License-Identifier: MPL-2.0
#include "session/zmtp_commands.hpp"

#include "base/limits.hpp"
#include "session/connection.hpp"
#include "session/notices.hpp"
#include "session/session.hpp"
#include "wire/zmtp/command.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace zlink::session {

namespace zmtp = wire::zmtp;
using verdict = codec::command_sink::verdict;

namespace {

void answer_ping(connection& over, const zmtp::ping_view& ping) {
    std::array<std::byte, zmtp::heartbeat_body_bytes_max> pong;
    over.send_command(std::span{pong}.first(zmtp::encode_pong(pong, ping.context)));
    if (over.pulse() == nullptr && ping.ttl.count() > 0) {
        over.start_heartbeat();
    }
    if (over.pulse() != nullptr) {
        over.pulse()->on_ping(ping.ttl);
    }
}

bool takes_subscriptions(const socket_options& options) noexcept {
    return options.type == socket_type::pub || options.type == socket_type::xpub;
}

} // namespace

verdict on_zmtp_command(connection& over, std::span<const std::byte> body,
                        bool answers_pings) noexcept {
    over.input().count_control();
    const result<zmtp::command_view> command = zmtp::decode_command(body);
    if (!command) {
        return verdict::fail;
    }
    if (command->name == zmtp::ping_name && answers_pings) {
        const result<zmtp::ping_view> ping = zmtp::decode_ping(command->data);
        if (!ping) {
            return verdict::fail;
        }
        try {
            answer_ping(over, *ping);
        } catch (const std::bad_alloc&) {
            return verdict::fail;
        }
        return verdict::drop;
    }
    if (command->name == zmtp::ping_name || command->name == zmtp::pong_name) {
        return verdict::drop;
    }
    if (command->name == zmtp::error_name) {
        return verdict::fail;
    }
    const bool is_taken =
        over.options().type == socket_type::radio
            ? zmtp::decode_group_command(body).has_value()
            : takes_subscriptions(over.options()) &&
                  (command->name == zmtp::subscribe_name || command->name == zmtp::cancel_name);
    return is_taken ? verdict::keep : verdict::drop;
}

std::uint64_t body_bytes_max_of(const socket_options& options) noexcept {
    // Raw input is split into messages by this library.
    return options.message_bytes_max < 0 || options.raw
               ? zmtp::body_bytes_limit
               : static_cast<std::uint64_t>(options.message_bytes_max);
}

reading zmtp_reading(const socket_options& options, codec::command_sink& commands) noexcept {
    const std::uint64_t body_bytes_max = body_bytes_max_of(options);
    return {.commands = &commands,
            .body_bytes_max = body_bytes_max,
            .unfinished_bytes_max =
                options.message_bytes_max < 0
                    ? UINT64_MAX
                    : std::max(body_bytes_max, limits::unfinished_message_bytes_max)};
}

std::span<const std::byte> first_frame_of(const socket_options& options,
                                          bool filters_by_itself) noexcept {
    static constexpr std::array subscription{std::byte{0}, std::byte{1}, std::byte{1}};
    static constexpr std::array<std::byte, 2> empty_message{};
    if (takes_subscriptions(options) && filters_by_itself) {
        return subscription;
    }
    return (options.router_notify & zlink::router_notify::connect) != 0
               ? empty_message
               : std::span<const std::byte>{};
}

void tell_end(connection& over) noexcept {
    const socket_options& options = over.options();
    const bool is_notified = (options.router_notify & zlink::router_notify::disconnect) != 0;
    const bool is_dialing = over.is_dialing();
    const bool has_message = is_dialing ? options.hears_hiccups() : options.hears_disconnects();
    if (!over.owner().is_open() || (options.router_notify == 0 && !has_message)) {
        return;
    }
    over.input().drop_unfinished();
    if (is_dialing && !over.end().out.has_credit()) {
        return; // The application does not receive, and the peer disconnects again and again.
    }
    try {
        if (is_notified) {
            over.end().send_message({});
        }
        if (has_message) {
            over.end().send_message(is_dialing ? options.hiccup_message
                                               : options.disconnect_message);
        }
        count_departure(over);
    } catch (const std::bad_alloc&) {
        // The socket learns only that the pipe ends.
    }
}

} // namespace zlink::session
