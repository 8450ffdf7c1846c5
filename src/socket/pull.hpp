// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "socket/fair_queue.hpp"
#include "socket/pattern.hpp"

namespace zlink::socket {

/// Receives from all its peers, fairly (30/PIPELINE).
class pull : public pattern {
public:
    void on_attached(peer& added) override { queue_.attach(added); }
    void on_detached(peer& removed) override { queue_.detach(removed); }
    void on_readable(peer& woken) override { queue_.activate(woken); }
    void on_writable(peer&) override {}
    bool reads_after_close(const peer&) const noexcept override { return true; }
    const peer* receiving() const noexcept override { return queue_.receiving(); }
    void receive_only_rest() noexcept override { queue_.rest_only(*queue_.receiving()); }

    result<void> send(outgoing&) override { return errc::not_supported; }
    result<void> recv(incoming& target) override { return queue_.recv(target); }
    std::size_t recv_at_once(void* to, std::size_t capacity) noexcept override {
        return queue_.recv_at_once(to, capacity);
    }
    bool recv_message_at_once(pipe::message& into) override {
        return queue_.recv_message_at_once(into);
    }
    bool can_send() override { return false; }
    bool can_recv() override { return queue_.can_recv(); }
    std::optional<std::span<const std::byte>> next_message() override {
        return queue_.next_message();
    }

protected:
    fair_queue queue_;
};

} // namespace zlink::socket
