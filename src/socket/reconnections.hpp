// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "socket/peer.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace zlink::socket {

/// The connections of each connect call of a STREAM that still have unreceived messages, oldest
/// first. All but the first are held, so that their messages and events come after those of the
/// first.
///
/// @threads The socket's.
class reconnections {
public:
    /// @return Whether the connection is held.
    /// @throws std::bad_alloc
    bool add(peer& added) {
        if (!added.end().replaces_lost) {
            return false;
        }
        std::vector<peer*>& line = by_call_[added.end().call_id];
        line.push_back(&added);
        added.is_held = line.size() > 1;
        return added.is_held;
    }

    /// Releases the next connection, if `gone` was the first.
    void remove(peer& gone) noexcept {
        const auto found =
            gone.end().replaces_lost ? by_call_.find(gone.end().call_id) : by_call_.end();
        if (found == by_call_.end() || std::erase(found->second, &gone) == 0) {
            return;
        }
        if (found->second.empty()) {
            by_call_.erase(found);
            return;
        }
        peer& next = *found->second.front();
        if (next.is_held) {
            next.is_held = false;
            next.end().deliver(pipe::event::look_again |
                               (next.is_closed_by_peer() ? pipe::event::closed : 0));
        }
    }

private:
    std::unordered_map<std::uint64_t, std::vector<peer*>> by_call_;
};

} // namespace zlink::socket
