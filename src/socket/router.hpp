// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/relaxed.hpp"
#include "base/seeded_hash.hpp"
#include "socket/fair_queue.hpp"
#include "socket/pattern.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

namespace zlink::socket {

/// Receives from all its peers, fairly, each message preceded by its sender's routing id, and sends
/// to the peer that the first frame names (28/REQREP).
///
/// Peers without ZMTP, those of a STREAM and of a ROUTER with ZMQ_ROUTER_RAW, get ids from this
/// socket. A message for them is one frame besides the id. An empty one closes the connection.
class router final : public pattern {
public:
    explicit router(const socket_options& options);

    void on_attached(peer& added) override;
    void on_detached(peer& removed) override;
    void on_peer_info(peer& about) override;
    void on_readable(peer& woken) override;
    void on_writable(peer&) override {}
    void on_closed(peer& gone) override { stop_sending(gone); }
    bool reads_after_close(const peer& gone) const noexcept override { return queue_.holds(gone); }
    const peer* receiving() const noexcept override { return receiving_; }
    void receive_only_rest() noexcept override { queue_.rest_only(*receiving_); }

    result<void> send(outgoing& source) override;
    result<void> recv(incoming& target) override;
    bool send_at_once(const std::byte* body, std::size_t bytes, bool more) noexcept override;
    std::size_t recv_at_once(void* to, std::size_t capacity) noexcept override;
    void abandon_message() noexcept override;
    bool can_send() override;
    bool can_recv() override;
    std::uint64_t undeliverable_count() const noexcept override { return undeliverable_count_; }

    /// The open peer with that routing id; null if there is none.
    peer* find_peer(std::string_view routing_id) const {
        const auto found = peers_by_id_.find(routing_id);
        return found != peers_by_id_.end() && !(*found)->is_closed_by_peer() ? *found : nullptr;
    }

    // For REP, which replies to the requester.

    /// The peer with the next message, and its first frame; null if there is none.
    peer* next(pipe::frame& front) { return queue_.next(front); }
    void took(peer& from, bool more) noexcept { queue_.took(from, more); }

private:
    bool choose_at_once(std::span<const std::byte> routing_id) noexcept;

    /// Peers by their routing ids, which do not change while they are stored.
    struct id_hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view id) const noexcept { return data(id); }
        std::size_t operator()(const peer* named) const noexcept { return data(named->routing_id); }
        seeded_hash data; ///< Peers choose their ids.
    };
    struct same_id {
        using is_transparent = void;
        static std::string_view id_of(std::string_view id) noexcept { return id; }
        static std::string_view id_of(const peer* named) noexcept { return named->routing_id; }
        bool operator()(const auto& one, const auto& other) const noexcept {
            return id_of(one) == id_of(other);
        }
    };

    void identify(peer& added);
    void silence(peer& before);
    void stop_sending(const peer& to) noexcept;
    void dismiss(peer& target);
    void send_raw(outgoing& source);
    std::string make_routing_id();
    result<void> choose(const outgoing& routing_id);
    std::size_t recv_id_at_once(void* to, std::size_t capacity) noexcept;

    const socket_options& options_;
    fair_queue queue_;
    std::unordered_set<peer*, id_hash, same_id> peers_by_id_;
    std::uint32_t next_id_;
    relaxed<std::uint64_t> undeliverable_count_{0};
    peer* receiving_ = nullptr;   ///< Its routing id was received, its message not yet.
    peer* last_chosen_ = nullptr; ///< The peer whose routing id was sent last; null if unknown.
    peer* sending_ = nullptr;     ///< Null inside a message: the message is dropped.
    bool is_sending_ = false;     ///< A routing id was sent, the end of the message not yet.
};

} // namespace zlink::socket
