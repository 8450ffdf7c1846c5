// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "socket/exchange.hpp"

namespace zlink::socket {

/// Sends to its peers in turn, and receives from all of them, fairly (28/REQREP).
class dealer : public exchange {
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
    void on_closed(peer& gone) override { balancer_.detach(gone); }
    bool reads_after_close(const peer&) const noexcept override { return true; }

private:
    const socket_options& options_;
};

} // namespace zlink::socket
