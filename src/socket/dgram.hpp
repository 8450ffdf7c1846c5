// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "socket/exchange.hpp"

namespace zlink::socket {

/// Sends and receives datagrams through one udp socket (ZMQ_DGRAM). A message has two frames: the
/// address that it goes to or comes from, and its content.
class dgram final : public exchange {
public:
    void on_attached(peer& added) override {
        queue_.attach(added);
        balancer_.attach(added);
    }
    void on_detached(peer& removed) override {
        queue_.detach(removed);
        balancer_.detach(removed);
    }
    void on_closed(peer& gone) override { balancer_.detach(gone); }
    bool reads_after_close(const peer&) const noexcept override { return true; }

    /// @error invalid_argument  It is an address without a content, or a third frame. Otherwise as
    ///                          exchange::send().
    result<void> send(outgoing& source) override {
        return is_in_place(source.more()) ? exchange::send(source) : errc::invalid_argument;
    }
    bool send_at_once(const std::byte* body, std::size_t bytes, bool more) noexcept override {
        return is_in_place(more) && exchange::send_at_once(body, bytes, more);
    }

private:
    /// @param more  Another frame is to follow.
    bool is_in_place(bool more) const noexcept { return more != balancer_.is_inside_message(); }
};

} // namespace zlink::socket
