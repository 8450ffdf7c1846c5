// SPDX-License-Identifier: MPL-2.0
//
// How a socket lets its peers go in good order.
#include "socket/context.hpp"
#include "socket/socket.hpp"
#include "socket/stream_socket.hpp"

#include <algorithm>

namespace zlink::socket {

using namespace std::chrono_literals;

result<void> socket::drain(pipe::deadline until) {
    if (const result<void> processed = process_mail(); !processed) {
        return processed.error();
    }
    std::uint32_t thread_count = 0;
    context_.for_each_thread([&](runtime::io_thread&) { ++thread_count; });
    const auto network_count = static_cast<std::uint32_t>(
        std::count_if(bindings_.begin(), bindings_.end(),
                      [](const binding& each) { return each.via != scheme::inproc; }));
    if (!drain_acks_) {
        drain_acks_.reset(new countdown(mailbox_));
    }
    drain_acks_->expect(network_count * thread_count);
    for (binding& each : bindings_) {
        stop_binding(each, drain_acks_);
        if (!each.listener) {
            tell_sessions(each, drain_acks_);
        }
    }
    for (const binding& each : bindings_) {
        meter_->remove(each.call_id);
    }
    bindings_.clear();
    is_draining_ = true;
    while (true) {
        // Before the mailbox is processed: pipes that were made by then are in it.
        const bool is_closed = drain_acks_->is_over();
        if (const result<void> processed = process_mail(); !processed) {
            return processed.error();
        }
        for (const auto& each : peers_) {
            close_when_drained(*each);
        }
        destroy_departed();
        if (is_closed && !has_connections()) {
            is_draining_ = false;
            return {};
        }
        if (const result<void> waited = wait_for_mail(until, awaited::news); !waited) {
            if (waited.error() == errc::again) {
                is_draining_ = false;
                end_connections();
            }
            return waited.error();
        }
    }
}

void socket::close_when_drained(peer& asked) {
    if (asked.closes_when_drained || asked.departing || asked.is_closed_by_peer()) {
        return;
    }
    if (asked.end().whole().is_inproc) {
        on_peer_drained(asked); // Sent messages have already arrived.
    } else if (stream_) {
        stream_->rules().close_gracefully(asked);
    } else {
        asked.end().ask_to_close();
    }
    asked.closes_when_drained = true;
}

/// Whether a connection is still open.
bool socket::has_connections() const noexcept {
    return std::any_of(peers_.begin(), peers_.end(),
                       [](const auto& each) { return !each->is_closed_by_peer(); });
}

void socket::end_connections() noexcept {
    for (const auto& each : peers_) {
        if (!each->is_closed_by_peer() && !each->departing) {
            each->end().whole().linger = 0ms;
            on_peer_drained(*each);
        }
    }
    destroy_departed();
}

} // namespace zlink::socket
