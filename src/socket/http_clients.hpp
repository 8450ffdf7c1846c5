// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "socket/peer.hpp"
#include "web/reply.hpp"

#include <cstdint>
#include <unordered_map>

namespace zlink::socket {

/// The peers of a STREAM whose messages are HTTP requests, which the application answers one after
/// the other. They are not among those to which messages can be sent.
///
/// @threads The socket's.
class http_clients {
public:
    enum class state : std::uint8_t {
        idle,
        asked,            ///< The application has received a request.
        answered_in_part, ///< And has begun to answer it.
        upgrading,        ///< And has accepted that the client becomes a WebSocket peer.
    };

    /// @throws std::bad_alloc
    void add(peer& added) { clients_.emplace(added.stream_id, client{&added}); }
    void remove(const peer& removed) noexcept { clients_.erase(removed.stream_id); }

    bool has(std::uint32_t id) const noexcept { return clients_.contains(id); }

    /// The client with that routing id, until forget(); null if there is none.
    peer* find(std::uint32_t id) const noexcept {
        const auto found = clients_.find(id);
        return found != clients_.end() ? found->second.at : nullptr;
    }

    /// Nothing more can be sent to the client: find() finds it no longer.
    void forget(const peer& gone) noexcept {
        if (const auto found = clients_.find(gone.stream_id); found != clients_.end()) {
            found->second.at = nullptr;
        }
    }

    /// The application has received a request.
    void on_request(const peer& from) noexcept { change(from, state::asked); }

    /// Whether the application owes that client an answer, or its end.
    bool is_owed(const peer& who) const noexcept {
        const auto found = clients_.find(who.stream_id);
        return found != clients_.end() && found->second.now != state::idle;
    }

    /// Whether that part of a reply may be sent to a client which find() has found.
    bool expects(const peer& who, web::reply::sort part) const noexcept {
        const state now = clients_.find(who.stream_id)->second.now;
        return now == (part == web::reply::sort::part ? state::answered_in_part : state::asked);
    }

    /// The state of the client once that part of a reply is sent.
    static state state_after(const web::reply& part) noexcept {
        return part.what == web::reply::sort::upgrade ? state::upgrading
               : part.more                            ? state::answered_in_part
                                                      : state::idle;
    }
    void change(const peer& who, state to) noexcept {
        if (const auto found = clients_.find(who.stream_id); found != clients_.end()) {
            found->second.now = to;
        }
    }

private:
    struct client {
        peer* at; ///< Null: nothing can be sent to it.
        state now = state::idle;
    };

    std::unordered_map<std::uint32_t, client> clients_;
};

} // namespace zlink::socket
