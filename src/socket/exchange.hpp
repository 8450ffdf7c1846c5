// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "socket/fair_queue.hpp"
#include "socket/load_balancer.hpp"
#include "socket/pattern.hpp"

namespace zlink::socket {

/// Sends to some peers in turn, and receives from some fairly. A pattern that derives from it says
/// which peers these are.
class exchange : public pattern {
public:
    void on_readable(peer& woken) final { queue_.activate(woken); }
    void on_writable(peer& woken) final { balancer_.activate(woken); }

    result<void> send(outgoing& source) final { return balancer_.send(source); }
    result<void> recv(incoming& target) final { return queue_.recv(target); }
    bool send_at_once(const std::byte* body, std::size_t bytes, bool more) noexcept final {
        return balancer_.send_at_once(body, bytes, more);
    }
    std::size_t recv_at_once(void* to, std::size_t capacity) noexcept final {
        return queue_.recv_at_once(to, capacity);
    }
    bool recv_message_at_once(pipe::message& into) final {
        return queue_.recv_message_at_once(into);
    }
    bool can_send() final { return balancer_.can_send(); }
    bool can_recv() final { return queue_.can_recv(); }
    std::uint64_t undeliverable_count() const noexcept final {
        return balancer_.undeliverable_count();
    }

protected:
    fair_queue queue_;
    load_balancer balancer_;
};

} // namespace zlink::socket
