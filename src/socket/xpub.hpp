// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"
#include "socket/fair_queue.hpp"
#include "socket/pattern.hpp"
#include "socket/topic_trie.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace zlink::socket {

/// Sends each message to all peers that subscribed to how it begins (29/PUBSUB). XPUB also hands
/// the subscriptions to the application; PUB keeps them to itself.
///
/// With ZMQ_XPUB_MANUAL the application decides: what it subscribes to itself, by the options of a
/// SUB, counts for the peer whose subscription, or other message, it received last. With
/// ZMQ_XPUB_MANUAL_LAST_VALUE what is sent next is for that peer alone.
///
/// A subscriber that has no room misses the message, which is counted; nobody waits for it unless
/// ZMQ_XPUB_NODROP says so.
///
/// What peers send upstream is taken out of their pipes at once, since a subscription must take
/// effect, and the topics of a peer that leaves are removed; but in parts, of which each look at
/// what peers did takes one, however many of them subscribe or leave. While more of it waits for
/// the application than limits allow, no peer is read; once half of that was received, those that
/// had something go on, in turn.
class xpub final : public pattern {
public:
    explicit xpub(const socket_options& options) : options_(options) {}

    void begin_turn() noexcept override;
    void on_attached(peer& added) override;
    void on_detached(peer& removed) override;
    void on_readable(peer& woken) override;
    bool lets_go(peer& leaving) noexcept override;
    void on_writable(peer&) override {}
    void on_closed(peer& gone) override { stop_sending(gone); }
    bool reads_after_close(const peer&) const noexcept override { return !is_pub(); }

    result<void> send(outgoing& source) override;
    result<void> recv(incoming& target) override;
    bool can_send() override { return true; }
    bool can_recv() override { return !pending_.empty(); }
    std::uint64_t undeliverable_count() const noexcept override { return undeliverable_count_; }
    std::optional<std::size_t> topic_count() const override { return subscribers_.topic_count(); }
    result<void> change_subscription(std::span<const std::byte> topic, bool subscribe) override;

private:
    /// A frame for the application: a subscription, or what a peer sent upstream.
    struct pending_frame {
        std::vector<std::byte> body;
        bool more;
        peer* from; ///< With ZMQ_XPUB_MANUAL, unless that peer is gone.
    };

    void count_work(std::size_t topic_bytes) noexcept {
        work_left_ -= std::min(work_left_, topic_subscribers::cost_of(topic_bytes));
    }
    void take_topics_from(peer& leaving);
    void keep(pending_frame&& added);
    bool is_full() const noexcept;
    bool is_over_half_full() const noexcept;
    void resume_reading() noexcept;

    bool is_pub() const noexcept { return options_.type == socket_type::pub; }
    bool is_manual() const noexcept { return options_.xpub_manual && !is_pub(); }
    void read(peer& from);
    void change(peer& from, bool subscribe, topic_view topic);
    void notify(bool subscribe, topic_view topic, peer* from);
    void forget_sender(const peer& gone) noexcept;
    void stop_sending(const peer& to) noexcept;
    result<void> choose(const outgoing& first);

    const socket_options& options_;
    topic_subscribers subscribers_;
    topic_subscribers asked_; ///< What peers subscribed to while ZMQ_XPUB_MANUAL was set.
    std::vector<peer*> peers_;
    std::vector<peer*> matched_; ///< Who gets the message that is being sent.
    std::uint64_t match_serial_ = 0;
    std::size_t work_left_ = limits::subscription_work_max; ///< In this turn.
    bool is_sending_ = false;                               ///< Inside a message.
    std::uint64_t undeliverable_count_ = 0;
    std::deque<pending_frame> pending_;
    std::size_t pending_bytes_ = 0;
    std::size_t pending_manual_count_ = 0; ///< Of pending_, those that say where they are from.
    peer* received_from_ = nullptr;        ///< Whom a manual subscription is for.
    std::vector<peer*> unread_; ///< Peers with something to read, awake. Their recv_index is set.
};

} // namespace zlink::socket
