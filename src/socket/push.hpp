// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "socket/load_balancer.hpp"
#include "socket/pattern.hpp"

namespace zlink::socket {

/// Sends each message to one of its peers, in turn (30/PIPELINE).
class push : public pattern {
public:
    void on_attached(peer& added) override { balancer_.attach(added); }
    void on_detached(peer& removed) override { balancer_.detach(removed); }
    void on_readable(peer&) override {}
    void on_writable(peer& woken) override { balancer_.activate(woken); }
    bool reads_after_close(const peer&) const noexcept override { return false; }

    result<void> send(outgoing& source) override { return balancer_.send(source); }
    result<void> recv(incoming&) override { return errc::not_supported; }
    bool send_at_once(const std::byte* body, std::size_t bytes, bool more) noexcept override {
        return balancer_.send_at_once(body, bytes, more);
    }
    void abandon_message() noexcept override { balancer_.abandon(); }
    bool can_send() override { return balancer_.can_send(); }
    std::uint64_t undeliverable_count() const noexcept override {
        return balancer_.undeliverable_count();
    }
    bool can_recv() override { return false; }

private:
    load_balancer balancer_;
};

} // namespace zlink::socket
