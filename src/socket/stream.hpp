// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/close_request.hpp"
#include "socket/deflation.hpp"
#include "socket/fair_queue.hpp"
#include "socket/pattern.hpp"
#include "socket/peer_table.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace zlink::socket {

/// Peeks at the front frame of a STREAM's peer: the framing is that of its transport.
struct stream_peek {
    ZLINK_HOT static bool look(peer& at, pipe::frame& front) {
        return at.frames() == pipe::layout::length ? at.peek<pipe::length_layout>(front)
                                                   : at.peek<pipe::websocket_layout>(front);
    }
};

/// Messages from and to peers without ZMTP, over tcp, tls, ws and wss: [routing id][payload], where
/// the routing id is a number chosen here, in 4 bytes, big-endian. The connect or disconnect of a
/// peer is received as a message of three frames: [routing id][1 or 0][details].
///
/// A disconnect event follows all messages of the peer. A routing id is reused only after all
/// others were used.
class stream final : public pattern {
public:
    /// @throws std::bad_alloc
    explicit stream(const socket_options& options) : options_(options), deflation_(options) {}

    void on_attached(peer& added) override;
    void on_detached(peer& removed) override;
    void on_peer_info(peer& about) override;
    void on_readable(peer& woken) override;
    void on_writable(peer&) override {}
    void on_closed(peer& gone) override;
    void on_drained(peer& gone) override;
    bool reads_after_close(const peer&) const noexcept override { return true; }

    result<void> send(outgoing& source) override;
    result<void> recv(incoming& target) override;
    bool send_at_once(const std::byte* body, std::size_t bytes, bool more) noexcept override;
    std::size_t recv_at_once(void* to, std::size_t capacity) noexcept override;
    result<void> send_to(std::uint32_t routing_id, outgoing& source) override;
    result<void> recv_from(std::uint32_t& routing_id, incoming& target) override;
    result<std::size_t> send_batch(std::span<const stream_message> messages) override;
    result<std::size_t> recv_batch(std::span<stream_message> messages) override;
    bool can_send() override { return true; } // As with a ROUTER: it depends on the peer.
    bool can_recv() override;
    std::uint64_t undeliverable_count() const noexcept override { return undeliverable_count_; }
    std::uint64_t deflated_count() const noexcept override { return deflation_.count(); }

    result<void> close_peer(std::span<const std::byte> routing_id, std::uint16_t code,
                            std::string_view reason) override;
    result<void> cut_off_peer(std::span<const std::byte> routing_id, std::uint16_t code,
                              std::string_view reason) override;
    peer* find_peer(std::span<const std::byte> routing_id) noexcept override;
    errc on_no_room(std::span<const std::byte> routing_id, bool was_chosen) override;
    bool part_from(peer& leaving) override;
    result<std::size_t> send_many(std::span<const std::byte> routing_ids, outgoing& source,
                                  int* outcomes) override;

private:
    static constexpr std::size_t id_bytes = 4;

    /// A connect or disconnect event.
    struct news {
        std::uint32_t id;
        bool has_come;
        pipe::peer_info* info; ///< One reference; null: no details.
    };

    /// Holds a reference to the `info` of each event that is to be received.
    class news_list {
    public:
        news_list() = default;
        news_list(const news_list&) = delete;
        news_list& operator=(const news_list&) = delete;
        ~news_list();

        bool empty() const noexcept { return waiting_.empty(); }
        std::size_t size() const noexcept { return waiting_.size(); }
        const news& front() const noexcept { return waiting_.front(); }
        const news& operator[](std::size_t index) const noexcept { return waiting_[index]; }
        void push(std::uint32_t id, bool has_come, const pipe::peer_info* info);
        void pop() noexcept;

    private:
        std::deque<news> waiting_;
    };

    /// A pipe with messages lent to the application, even after its peer disconnected.
    struct lender {
        pipe::pipe_ptr whole;
        pipe::pipe_end* end;
    };

    /// Lent data in one place: adjacent frames in a segment, with the layout that they need to be
    /// forwarded, or the payload of one frame in a block.
    struct lent_run {
        pipe::message_queue::chunk* segment; ///< Null for a payload.
        pipe::block* payload;
        const std::byte* begin;
        const std::byte* end;
    };

    /// Lent messages, in the order in which they are forwarded.
    struct lent_frames {
        const lent_run* run; ///< The run that holds them; null: none.
        std::size_t count;   ///< At least 1 if there is no run.
        std::span<const std::byte> data;
    };

    /// The frame that is received next.
    enum class awaited : std::uint8_t {
        routing_id,
        payload, ///< From receiving_.
        event,   ///< Of the event at the front.
        detail,  ///< Likewise.
    };

    /// The frame that is sent next.
    enum class expected : std::uint8_t {
        routing_id,
        payload, ///< For sending_.
        rest,    ///< The rest of a refused or undeliverable message, or a routing id.
    };

    static std::string_view text_of(const news& about) noexcept;

    std::uint32_t make_id() noexcept;
    bool queue_behind_lost(peer& added);
    void leave_line(peer& gone) noexcept;
    void forget(peer& gone) noexcept;
    std::size_t recv_id_at_once(void* to, std::size_t capacity) noexcept;
    result<void> choose(const outgoing& routing_id);
    static bool has_credit(peer& target);
    static pipe::close_request& set_last_word(peer& leaving, std::uint16_t code,
                                              std::string_view reason,
                                              std::chrono::milliseconds longest);
    void cut_off(peer& leaving, std::uint16_t code, std::string_view reason);
    bool cut_off_full(peer& full);
    void push_one(peer& to, outgoing& source);
    void push_deflated(peer& to, outgoing& source);
    result<std::size_t> send_run(peer& to, std::span<const stream_message> messages);
    std::size_t lend_of(peer& from, const pipe::frame& front, std::span<stream_message> messages);
    template<class Layout>
    std::size_t lend_run(peer& from, std::span<stream_message> messages) noexcept;
    void note_lent(const lent_run& added) noexcept;
    lent_frames find_lent(std::span<const stream_message> messages) noexcept;
    static bool is_to_be_borrowed(const lent_frames& lent) noexcept;
    static bool push_lent(peer& to, const lent_frames& lent);
    std::size_t lend_news(std::span<stream_message> messages) noexcept;
    /// Ends the loan of the messages that recv_batch() returned.
    void end_lending() noexcept {
        if (lends_) [[unlikely]] {
            give_back();
        }
    }
    ZLINK_COLD void give_back() noexcept;
    static void take(peer& from, const pipe::frame& front, incoming& target);
    result<void> send_payload(outgoing& source);
    result<void> recv_routing_id(incoming& target);
    result<void> recv_payload(incoming& target);
    result<void> recv_news(incoming& target);

    const socket_options& options_;
    deflation deflation_;
    basic_fair_queue<stream_peek> queue_;
    peer_table<peer> peers_by_id_; ///< Peers that can be sent to.
    /// Peers that the application has closed, but whose connection is still open.
    std::unordered_map<std::uint32_t, peer*> leaving_;
    /// For each connect call its connections with unreceived messages, oldest first. All but the
    /// first are held, so that their messages and events come after those of the first.
    std::unordered_map<std::uint64_t, std::vector<peer*>> lines_;
    news_list news_;
    std::vector<lender> lenders_; ///< Of the messages that recv_batch() returned last.
    std::vector<lent_run> lent_runs_;
    std::size_t lent_run_sent_ = 0;   ///< Index of the run that was last forwarded.
    std::size_t lent_news_count_ = 0; ///< The same for events, which are at the front.
    bool lends_ = false;
    std::uint64_t undeliverable_count_ = 0;
    peer* receiving_ = nullptr; ///< Null if it disconnected before its payload was received.
    peer* sending_ = nullptr;
    std::uint32_t next_id_ = 1;
    awaited awaited_ = awaited::routing_id;
    expected expected_ = expected::routing_id;
};

} // namespace zlink::socket
