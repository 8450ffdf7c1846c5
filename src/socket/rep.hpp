// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/relaxed.hpp"
#include "socket/fair_queue.hpp"
#include "socket/pattern.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zlink::socket {

/// Receives a request from any peer, fairly, and sends the reply to the requester, in turn
/// (28/REQREP).
///
/// A request begins with its route, frames that end with an empty one. The route is kept here and
/// prepended to the reply.
class rep final : public pattern {
public:
    void on_attached(peer& added) override { queue_.attach(added); }
    void on_detached(peer& removed) override;
    void on_readable(peer& woken) override { queue_.activate(woken); }
    void on_writable(peer&) override {}
    void on_closed(peer& gone) override;
    bool reads_after_close(const peer&) const noexcept override { return true; }
    const peer* receiving() const noexcept override { return queue_.receiving(); }
    void receive_only_rest() noexcept override { queue_.rest_only(*queue_.receiving()); }

    result<void> send(outgoing& source) override;
    result<void> recv(incoming& target) override;
    void abandon_message() noexcept override;
    bool can_send() override { return state_ == state::reply_begin || state_ == state::reply; }
    bool can_recv() override;
    std::uint64_t undeliverable_count() const noexcept override { return undeliverable_count_; }

private:
    enum class state : std::uint8_t { idle, request, reply_begin, reply };

    bool read_route();

    fair_queue queue_;
    state state_ = state::idle;
    peer* from_ = nullptr; ///< Null in a reply whose requester is gone.
    relaxed<std::uint64_t> undeliverable_count_{0};
    std::vector<std::vector<std::byte>> route_; ///< Without the empty frame.
    bool has_route_ = false;                    ///< The route of the next request is read.
};

} // namespace zlink::socket
