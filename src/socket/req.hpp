// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "socket/fair_queue.hpp"
#include "socket/load_balancer.hpp"
#include "socket/pattern.hpp"

#include <cstdint>

namespace zlink::socket {

/// Sends a request to one of its peers, in turn, then receives that peer's reply (28/REQREP).
/// Messages that are no reply to the last request are dropped.
class req final : public pattern {
public:
    explicit req(const socket_options& options);

    void on_attached(peer& added) override;
    void on_detached(peer& removed) override;
    void on_readable(peer& woken) override { queue_.activate(woken); }
    void on_writable(peer& woken) override { balancer_.activate(woken); }
    void on_closed(peer& gone) override { balancer_.detach(gone); }
    void on_watched() noexcept override { is_watched_ = true; }
    bool reads_after_close(const peer&) const noexcept override { return true; }
    const peer* receiving() const noexcept override { return queue_.receiving(); }
    void receive_only_rest() noexcept override { queue_.rest_only(*queue_.receiving()); }

    result<void> send(outgoing& source) override;
    result<void> recv(incoming& target) override;
    void abandon_message() noexcept override;
    bool can_send() override;
    bool can_recv() override;
    std::uint64_t undeliverable_count() const noexcept override {
        return balancer_.undeliverable_count();
    }

private:
    enum class state : std::uint8_t { idle, request, reply_begin, reply };

    bool find_reply();
    bool skip_envelope(peer& from, pipe::frame& front);

    const socket_options& options_;
    fair_queue queue_;
    load_balancer balancer_;
    state state_ = state::idle;
    peer* asked_ = nullptr; ///< The peer whose reply is accepted; null: it is gone.
    std::uint32_t request_id_;
    bool has_reply_ = false;  ///< The envelope of the reply was removed.
    bool skips_rest_ = false; ///< The rest of the message at the front must be dropped.
    bool is_watched_ = false; ///< Replies must raise events even if the application does not check.
};

} // namespace zlink::socket
