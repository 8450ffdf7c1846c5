// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"
#include "socket/exchange.hpp"

#include <algorithm>
#include <vector>

namespace zlink::socket {

/// Talks to exactly one peer (31/EXPAIR). Further pipes wait in a list, in order of arrival: the
/// next one becomes the peer once the current one is closed and all its messages were received.
/// Until then the messages of the waiting pipes stay queued.
class pair : public exchange {
public:
    void on_attached(peer& added) override {
        if (line_.size() >= limits::waiting_pairs_max) {
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
    void on_closed(peer& gone) override {
        balancer_.detach(gone);
        address_next();
    }
    void on_drained(peer& gone) override { leave(gone); }
    bool reads_after_close(const peer& gone) const noexcept override { return queue_.holds(gone); }

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
            next.end().deliver(pipe::event::look_again |
                               (next.is_closed_by_peer() ? pipe::event::closed : 0));
        }
        address_next();
    }

    std::vector<peer*> line_; ///< We receive from the first one; the others are held.
};

} // namespace zlink::socket
