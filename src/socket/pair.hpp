// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"
#include "socket/fair_queue.hpp"
#include "socket/load_balancer.hpp"
#include "socket/pattern.hpp"

#include <algorithm>
#include <vector>

namespace zlink::socket {

/// Talks to exactly one peer (31/EXPAIR). Further pipes wait in a list, in order of arrival: the
/// next one becomes the peer once the current one is closed and all its messages were received.
/// Until then the messages of the waiting pipes stay queued.
class pair final : public pattern {
public:
    void on_attached(peer& added) override {
        if (line_.size() >= limits::pairs_in_line_max) {
            added.end().deliver(pipe::event::closed); // This closes it.
            return;
        }
        line_.push_back(&added);
        added.is_held = line_.size() > 1;
        if (!added.is_held) {
            queue_.attach(added);
        }
        address_next();
    }
    void on_detached(peer& removed) override { leave(removed); }
    void on_readable(peer& woken) override { queue_.activate(woken); }
    void on_writable(peer& woken) override { balancer_.activate(woken); }
    void on_closed(peer& gone) override {
        balancer_.detach(gone);
        address_next();
    }
    void on_drained(peer& gone) override { leave(gone); }
    bool reads_after_close(const peer& gone) const noexcept override { return queue_.holds(gone); }

    result<void> send(outgoing& source) override { return balancer_.send(source); }
    result<void> recv(incoming& target) override { return queue_.recv(target); }
    bool send_at_once(const std::byte* body, std::size_t bytes, bool more) noexcept override {
        return balancer_.send_at_once(body, bytes, more);
    }
    std::size_t recv_at_once(void* to, std::size_t capacity) noexcept override {
        return queue_.recv_at_once(to, capacity);
    }
    bool recv_message_at_once(pipe::message& into) override {
        return queue_.recv_message_at_once(into);
    }
    bool can_send() override { return balancer_.can_send(); }
    std::uint64_t undeliverable_count() const noexcept override {
        return balancer_.undeliverable_count();
    }
    bool can_recv() override { return queue_.can_recv(); }

private:
    /// Sends to the first open pipe in the list.
    void address_next() {
        if (!balancer_.all().empty()) {
            return;
        }
        const auto next = std::find_if(line_.begin(), line_.end(),
                                       [](peer* each) { return !each->is_closed_by_peer(); });
        if (next != line_.end()) {
            balancer_.attach(**next);
        }
    }

    /// Starts to receive from the next pipe in the list.
    void leave(peer& gone) {
        balancer_.detach(gone);
        queue_.detach(gone);
        if (std::erase(line_, &gone) != 0 && !line_.empty() && line_.front()->is_held) {
            peer& next = *line_.front();
            next.is_held = false;
            queue_.attach(next);
            next.end().deliver(pipe::event::readable |
                               (next.is_closed_by_peer() ? pipe::event::closed : 0));
        }
        address_next();
    }

    std::vector<peer*> line_; ///< The first is received from; the others are held.
    fair_queue queue_;
    load_balancer balancer_;
};

} // namespace zlink::socket
