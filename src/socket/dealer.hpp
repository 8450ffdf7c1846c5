// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "socket/fair_queue.hpp"
#include "socket/load_balancer.hpp"
#include "socket/pattern.hpp"

namespace zlink::socket {

/// Sends to its peers in turn, and receives from all of them, fairly (28/REQREP).
class dealer final : public pattern {
public:
    explicit dealer(const socket_options& options) noexcept : options_(options) {}

    void on_attached(peer& added) override {
        queue_.attach(added);
        balancer_.attach(added);
        if (options_.probe_router) {
            added.push_bytes(nullptr, 0, 0);
            added.finish_message();
        }
    }
    void on_detached(peer& removed) override {
        queue_.detach(removed);
        balancer_.detach(removed);
    }
    void on_readable(peer& woken) override { queue_.activate(woken); }
    void on_writable(peer& woken) override { balancer_.activate(woken); }
    void on_closed(peer& gone) override { balancer_.detach(gone); }
    bool reads_after_close(const peer&) const noexcept override { return true; }

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
    const socket_options& options_;
    fair_queue queue_;
    load_balancer balancer_;
};

} // namespace zlink::socket
