// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "socket/fair_queue.hpp"
#include "socket/pattern.hpp"
#include "socket/topic_trie.hpp"

#include <vector>

namespace zlink::socket {

/// Receives messages that begin with a subscribed topic from all its peers, fairly (29/PUBSUB). SUB
/// subscribes by an option, XSUB by sending, and XSUB may send other messages upstream, too.
class xsub final : public pattern {
public:
    explicit xsub(const socket_options& options) noexcept : options_(options) {}

    void on_attached(peer& added) override;
    void on_detached(peer& removed) override;
    void on_readable(peer& woken) override { queue_.activate(woken); }
    void on_writable(peer&) override {}
    void on_closed(peer& gone) override { std::erase(upstream_, &gone); }
    void on_restarted(peer& about) override;
    bool reads_after_close(const peer&) const noexcept override { return true; }
    const peer* receiving() const noexcept override { return queue_.receiving(); }
    void receive_only_rest() noexcept override { queue_.rest_only(*queue_.receiving()); }

    result<void> send(outgoing& source) override;
    result<void> recv(incoming& target) override;
    void abandon_message() noexcept override;
    bool can_send() override { return !is_sub(); }
    bool can_recv() override;
    std::optional<std::span<const std::byte>> next_message() override;
    std::optional<std::size_t> topic_count() const override { return topics_.topic_count(); }
    result<void> change_subscription(std::span<const std::byte> topic, bool subscribe) override;

private:
    bool counts_inside_message(const outgoing& source);
    bool is_sub() const noexcept { return options_.type == socket_type::sub; }
    void change(topic_view topic, bool subscribe);
    void send_all_subscriptions(peer& to);
    peer* next_matching(pipe::frame& front);

    const socket_options& options_;
    topic_counts topics_;
    fair_queue queue_;
    std::vector<std::byte> command_;
    std::vector<peer*> upstream_; ///< Receivers of the current message.
    bool is_sending_ = false;     ///< Inside a message that is not a subscription.
    bool skips_rest_ = false;     ///< The message at the front matches no subscription.
};

} // namespace zlink::socket
