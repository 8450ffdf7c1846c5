// SPDX-License-Identifier: MPL-2.0
//
// How a socket undoes what bind and connect began.
#include "base/retry.hpp"
#include "session/session.hpp"
#include "socket/context.hpp"
#include "socket/listening.hpp"
#include "socket/server.hpp"
#include "socket/socket.hpp"

#include <algorithm>
#include <utility>

namespace zlink::socket {

result<void> socket::unbind(std::string_view address) {
    return undo(address, endpoint_use::listen);
}

result<void> socket::disconnect(std::string_view address) {
    return undo(address, endpoint_use::dial);
}

/// As in libzmq, either call undoes both kinds of calls, and all with that address.
result<void> socket::undo(std::string_view address, endpoint_use use) {
    if (const result<void> processed = process_mail(); !processed) {
        return processed.error();
    }
    result<endpoint> where = decode_endpoint(address, use);
    if (!where && use == endpoint_use::dial) {
        where = decode_endpoint(address, endpoint_use::listen);
    }
    if (!where) {
        return where.error();
    }
    const std::vector<std::uint64_t> meant = bindings_.with_address(address, *where, options_.ipv6);
    if (meant.empty()) {
        return errc::no_such_endpoint;
    }
    for (const std::uint64_t id : meant) {
        release_binding(*bindings_.find(id));
        bindings_.remove(id);
        meter_->remove(id);
    }
    return {};
}

result<void> socket::disconnect_peer(std::uint32_t routing_id) {
    if (options_.type != socket_type::server && options_.type != socket_type::peer) {
        return errc::not_supported;
    }
    if (const result<void> processed = process_mail(); !processed) {
        return processed.error();
    }
    peer* const found = static_cast<server&>(*pattern_).find_peer(routing_id);
    if (found == nullptr) {
        return errc::host_unreachable;
    }
    const std::uint64_t call_id = found->end().call_id;
    binding* const call = bindings_.find(call_id);
    if (call != nullptr && !call->listens) {
        release_binding(*call);
        bindings_.remove(call_id);
    } else {
        detach(*found, false);
        destroy_departed();
    }
    return {};
}

/// Whether a further connection to `address` is redundant, as zmq_connect(3) defines for some
/// types. A connection that has ended permanently does not count.
bool socket::is_connected_already(std::string_view address) const noexcept {
    const socket_type type = options_.type;
    if (type != socket_type::dealer && type != socket_type::sub && type != socket_type::pub &&
        type != socket_type::req) {
        return false;
    }
    return std::any_of(bindings_.begin(), bindings_.end(), [&](const binding& each) {
        return each.address == address &&
               (each.listens || options_.has_pipe_per_connection() ||
                std::any_of(peers_.begin(), peers_.end(), [&](const auto& with) {
                    return with->end().call_id == each.call_id && !with->is_closed_by_peer();
                }));
    });
}

/// Tells the session how long it may linger after the close.
void socket::set_linger(pipe::pipe_end& end) const noexcept {
    if (!end.has_ended() && !end.whole().is_inproc && options_.linger >= 0) {
        end.whole().linger = milliseconds(options_.linger);
    }
}

/// Ends a bind or connect call, with all its connections.
void socket::release_binding(binding& undone) noexcept {
    stop_binding(undone, {});
    for (const auto& each : peers_) {
        if (each->end().call_id == undone.call_id) {
            detach(*each, undone.listens);
        }
    }
    destroy_departed();
    if (!undone.listener) {
        tell_sessions(undone, {});
    }
}

/// Stops sending to a peer. Its connection closes once everything is written, or after ZMQ_LINGER.
/// @param keeps_received  Whether messages that have arrived from it can still be received.
void socket::detach(peer& left, bool keeps_received) noexcept {
    if (left.departing || &left == rest_from_) {
        return;
    }
    const bool is_open = !left.is_closed_by_peer();
    if (is_open) {
        set_linger(left.end());
        send_disconnect_message(left);
    }
    if (!keeps_received) {
        return drop_received(left);
    }
    if (!is_open) {
        return; // It closes once all its messages were received.
    }
    pipe::frame front;
    const bool may_have_more = left.is_held || pattern_->reads_after_close(left);
    const bool may_look = !left.is_held && may_have_more && left.wake_reader();
    if (!may_have_more || (may_look && !retry_allocation([&] { return left.peek_any(front); }))) {
        return on_peer_drained(left);
    }
    left.end().end_sending();
    left.mark_closed_by_peer();
    pattern_->on_closed(left);
    if (may_look) {
        retry_allocation([&] { pattern_->on_readable(left); });
    } // Else its pattern handles it later, or an event of the other end, which is just sending.
}

/// Ends a peer with the messages that have arrived from it. As messages are atomic, the rest of one
/// that is partly received can still be received.
void socket::drop_received(peer& left) noexcept {
    const bool is_partly_received = receives_more_ && pattern_->receiving() == &left;
    count_dropped_with(left, is_partly_received);
    if (!is_partly_received) {
        return on_peer_drained(left);
    }
    left.end().close(); // So that it raises no events.
    if (!left.is_closed_by_peer()) {
        left.mark_closed_by_peer();
        pattern_->on_closed(left);
    }
    pattern_->receive_only_rest();
    rest_from_ = &left;
}

/// Counts the messages that have arrived from a peer, and are dropped with it.
void socket::count_dropped_with(const peer& left, bool is_partly_received) noexcept {
    const socket_type type = options_.type;
    if (type == socket_type::pub || type == socket_type::xpub || type == socket_type::radio) {
        return; // Subscriptions are no messages.
    }
    const pipe::message_queue& in = left.end().in;
    const std::uint64_t count =
        in.published().message_count - in.taken_count() - (is_partly_received ? 1 : 0);
    departed_dropped_count_ += count;
    meter_->count_dropped(left, drop_reason::disconnected, count);
}

/// Over inproc, the last message to a peer is the one that it wants to receive
/// (ZMQ_DISCONNECT_MSG).
void socket::send_disconnect_message(peer& left) noexcept {
    const binding* const call = bindings_.find(left.end().call_id);
    if (call == nullptr || call->listens || call->via != scheme::inproc) {
        return;
    }
    retry_allocation([&] {
        const std::string said =
            context_.farewell_for(call->address.substr(sizeof "inproc://" - 1), left.end().other());
        if (!said.empty()) {
            left.rollback();
            left.end().send_message(said);
        }
    });
}

/// Accepts no more connections, and frees the address. Connections stay, except those without a
/// pipe.
/// @param told  Counts the I/O threads that know of a drain. Null: the connections end, too.
void socket::stop_binding(binding& undone, const countdown_ptr& told) noexcept {
    if (undone.via == scheme::inproc) {
        const std::string name =
            retry_allocation([&] { return undone.address.substr(sizeof "inproc://" - 1); });
        if (undone.listens) {
            context_.unbind_inproc(name, this);
        } else {
            context_.disconnect_inproc(name, *undone.joined, !options_.subscribes());
        }
    }
    if (!undone.listener) {
        return;
    }
    const int descriptor = undone.listener->descriptor();
    undone.listener->free_address();
    monitored_->on_connection_event(connection_event::closed, descriptor, at_bound(undone.address));
    stop_listener(context_, *undone.thread, undone.listener, undone.call_id, told);
}

/// Tells sessions without a pipe, on their own threads, that a connect call was undone.
/// @param told  As stop_binding().
void socket::tell_sessions(const binding& undone, const countdown_ptr& told) noexcept {
    if (undone.via != scheme::inproc) {
        tell_all_sessions(context_, undone.call_id, told);
    }
}

} // namespace zlink::socket
