// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"
#include "base/relaxed.hpp"
#include "socket/fair_queue.hpp"
#include "socket/pattern.hpp"
#include "socket/topic_trie.hpp"
#include "wire/zmtp/command.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace zlink::socket {

/// Sends each message to all peers that subscribed to a prefix of it (29/PUBSUB). XPUB also
/// delivers the subscriptions to the application; PUB does not.
///
/// With ZMQ_XPUB_MANUAL the application decides: its own subscriptions, set by the options of a
/// SUB, apply to the peer whose subscription, or other message, it received last. With
/// ZMQ_XPUB_MANUAL_LAST_VALUE the next message is sent to that peer alone.
///
/// A message for a full subscriber is dropped and counted; sending never blocks unless
/// ZMQ_XPUB_NODROP is set.
///
/// Upstream messages are read from the pipes at once, since subscriptions must take effect, and the
/// topics of a leaving peer are removed. Both proceed in parts, one per check of the mailbox,
/// however many peers subscribe or leave. While the data pending for the application exceeds the
/// limits, no peer is read; once half of it was received, the peers with unread data continue, in
/// turn.
class xpub : public pattern {
public:
    explicit xpub(const socket_options& options) : options_(options) {}

    void begin_turn() noexcept override;
    void on_attached(peer& added) override;
    void on_detached(peer& removed) override;
    void on_readable(peer& woken) override;
    bool try_detach(peer& leaving) noexcept override;
    void on_writable(peer&) override {}
    void on_closed(peer& gone) override { stop_sending(gone); }
    bool reads_after_close(const peer&) const noexcept override { return !is_pub(); }

    result<void> send(outgoing& source) override;
    result<void> recv(incoming& target) override;
    void abandon_message() noexcept override;
    bool can_send() override { return true; }
    bool can_recv() override { return !pending_.empty(); }
    bool has_full_receiver() override;
    bool has_room_for(std::span<const std::byte> first_frame) override;
    std::uint64_t undeliverable_count() const noexcept override { return undeliverable_count_; }
    std::optional<std::size_t> topic_count() const override { return subscribers_.topic_count(); }
    result<void> change_subscription(std::span<const std::byte> topic, bool subscribe) override;

protected:
    /// Reads the subscription, or the end of one, in a frame from a peer; nothing if it is none.
    /// @return A view, valid until the next call.
    virtual std::optional<wire::zmtp::subscription_view>
    subscription_in(std::span<const std::byte> body, bool is_command);

    /// Finds the receivers of a message that begins with `key`.
    /// @error again  With ZMQ_XPUB_NODROP: one of them is full.
    result<void> choose(std::span<const std::byte> key);
    const std::vector<peer*>& matched() const noexcept { return matched_; }
    /// Peers from now on receive every message, and none of their subscriptions is read.
    void publish_all_to(peer& added) { unfiltered_.push_back(&added); }

private:
    /// A frame for the application: a subscription, or another upstream message.
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

    bool is_pub() const noexcept { return options_.type != socket_type::xpub; }
    bool is_manual() const noexcept { return options_.xpub_manual && !is_pub(); }
    void read(peer& from);
    void change(peer& from, bool subscribe, topic_view topic);
    void notify(bool subscribe, topic_view topic, peer* from);
    void forget_sender(const peer& gone) noexcept;
    void stop_sending(const peer& to) noexcept;
    ZLINK_COLD void take_back(bool is_first) noexcept;

    const socket_options& options_;
    topic_subscribers subscribers_;
    topic_subscribers asked_; ///< Subscriptions requested by peers while ZMQ_XPUB_MANUAL was set.
    std::vector<peer*> peers_;
    std::vector<peer*> unfiltered_; ///< Those of them that receive every message.
    std::vector<peer*> matched_;    ///< Receivers of the current message.
    std::uint64_t match_serial_ = 0;
    std::size_t work_left_ = limits::subscription_work_max; ///< In this turn.
    bool is_sending_ = false;                               ///< Inside a message.
    relaxed<std::uint64_t> undeliverable_count_{0};
    std::deque<pending_frame> pending_;
    std::size_t pending_bytes_ = 0;
    std::size_t pending_manual_count_ = 0; ///< Frames in pending_ whose `from` is set.
    peer* received_from_ = nullptr;        ///< The target of a manual subscription.
    std::vector<peer*> unread_; ///< Peers with unread data, not parked. Their recv_index is set.
};

} // namespace zlink::socket
