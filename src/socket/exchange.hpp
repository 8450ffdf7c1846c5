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
    const peer* receiving() const noexcept override { return queue_.receiving(); }
    void receive_only_rest() noexcept override { queue_.rest_only(*queue_.receiving()); }

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
    void abandon_message() noexcept override { balancer_.abandon(); }
    bool can_send() override { return balancer_.can_send(); }
    bool can_recv() override { return queue_.can_recv(); }
    std::optional<std::span<const std::byte>> next_message() override {
        return queue_.next_message();
    }
    std::uint64_t undeliverable_count() const noexcept override {
        return balancer_.undeliverable_count();
    }

protected:
    fair_queue queue_;
    load_balancer balancer_;
};

} // namespace zlink::socket
