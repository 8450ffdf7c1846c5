// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/random_bytes.hpp"
#include "base/relaxed.hpp"
#include "socket/fair_queue.hpp"
#include "socket/pattern.hpp"
#include "socket/peer_table.hpp"

#include <cstdint>

namespace zlink::socket {

/// SERVER (41/CLISRV) and PEER: receives from all its peers, fairly, and sends to the one whose
/// number the message holds (message::routing_id). Each peer gets a number when it is attached.
/// Messages have one frame; longer ones from peers are dropped, as in libzmq.
class server final : public pattern {
public:
    server() : next_id_(random_number()) {}

    void on_attached(peer& added) override;
    void on_detached(peer& removed) override;
    void on_readable(peer& woken) override { queue_.activate(woken); }
    void on_writable(peer&) override {}
    void on_closed(peer& gone) override { forget(gone); }
    bool reads_after_close(const peer& gone) const noexcept override { return queue_.holds(gone); }

    /// @error invalid_argument  Another frame is to follow.
    /// @error host_unreachable  No peer has that number.
    /// @error again             The peer is full.
    result<void> send(outgoing& source) override;
    result<void> recv(incoming& target) override;
    bool recv_message_at_once(pipe::message& into) override;
    /// As in libzmq always true: whether a message can be sent depends on its peer.
    bool can_send() override { return true; }
    bool can_recv() override;
    std::uint64_t undeliverable_count() const noexcept override { return refused_count_; }

    /// The peer that was attached last: its number. 0 before the first.
    std::uint32_t newest_id() const noexcept { return newest_id_; }

    /// Null if no peer has that number.
    peer* find_peer(std::uint32_t routing_id) const noexcept { return peers_.find(routing_id); }

private:
    void forget(const peer& gone) noexcept;

    fair_queue queue_;
    peer_table<peer> peers_;
    std::uint32_t next_id_;
    std::uint32_t newest_id_ = 0;
    relaxed<std::uint64_t> refused_count_{0};
};

} // namespace zlink::socket
