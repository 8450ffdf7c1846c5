// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/relaxed.hpp"
#include "files/open_file.hpp"
#include "pipe/close_request.hpp"
#include "socket/deflation.hpp"
#include "socket/fair_queue.hpp"
#include "socket/http_clients.hpp"
#include "socket/pattern.hpp"
#include "socket/peer_table.hpp"
#include "socket/reconnections.hpp"
#include "socket/stream_events.hpp"
#include "socket/stream_lending.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
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
    const peer* receiving() const noexcept override { return receiving_; }
    void receive_only_rest() noexcept override { queue_.rest_only(*receiving_); }

    result<void> send(outgoing& source) override;
    result<void> recv(incoming& target) override;
    bool send_at_once(const std::byte* body, std::size_t bytes, bool more) noexcept override;
    std::size_t recv_at_once(void* to, std::size_t capacity) noexcept override;
    void abandon_message() noexcept override {
        sending_ = nullptr;
        expected_ = expected::routing_id;
    }
    bool can_send() override { return true; } // As with a ROUTER: it depends on the peer.
    bool can_recv() override;
    std::uint64_t undeliverable_count() const noexcept override { return undeliverable_count_; }

    // The functions that only a STREAM has.

    /// Sends a message of one frame to the peer with that routing id.
    /// @error  As send().
    result<void> send_to(std::uint32_t routing_id, outgoing& source);

    /// Receives a message of one frame and the routing id of its peer, or those two frames of an
    /// event.
    /// @error wrong_state  A message is partly received.
    /// @error              Otherwise as recv().
    result<void> recv_from(std::uint32_t& routing_id, incoming& target);

    /// Sends messages to the peers that they name, in order, until one cannot be sent.
    /// @return The number sent, not 0.
    /// @error  That of the first message, as send_to(), and invalid_argument: it has a flag other
    ///         than stream_message::text.
    result<std::size_t> send_batch(std::span<const stream_message> messages);

    /// Receives messages, or events, without copying.
    /// @param messages  Filled in from the start. Their data stays valid until the next call that
    ///                  receives or checks for messages, even if its peers disconnect earlier.
    /// @return The number received, not 0.
    /// @error wrong_state  A message is partly received.
    /// @error              Otherwise as recv().
    result<std::size_t> recv_batch(std::span<stream_message> messages);

    /// Payloads compressed so far.
    std::uint64_t deflated_count() const noexcept { return deflation_.count(); }

    /// Closes the connection to a peer, after the messages sent to it.
    /// @param code    As in a WebSocket close frame.
    /// @param reason  UTF-8, at most as long as fits such a frame.
    /// @error invalid_argument  It is no routing id.
    /// @error host_unreachable  No peer has it.
    /// @throws std::bad_alloc
    result<void> close_peer(std::span<const std::byte> routing_id, std::uint16_t code,
                            std::string_view reason);

    /// Closes the connection to a peer at once, also after close_peer(), and discards messages
    /// queued for it.
    /// @error  As close_peer().
    result<void> cut_off_peer(std::span<const std::byte> routing_id, std::uint16_t code,
                              std::string_view reason);

    /// The peer with that routing id, until it disconnects.
    /// @return Null if there is none, or not any more.
    peer* find_peer(std::span<const std::byte> routing_id) noexcept;

    /// A message for a full peer was not sent, and the caller has stopped waiting.
    /// @param was_chosen  The routing id was sent as a frame, so its payload follows.
    /// @return The error for the caller.
    errc on_no_room(std::span<const std::byte> routing_id, bool was_chosen);

    /// Sends a region of a file as a message, in order with the others.
    /// @blocks  Where frames are masked: while the file is read.
    /// @error  As send_to(), without text; and EIO: the file has become too short, or cannot be
    /// read.
    result<void> send_file(std::uint32_t routing_id, const files::file_region& region);

    /// Sends a reply, or a part of one, to the client whose request the application has received.
    /// @param part  Taken over if it was sent.
    /// @error host_unreachable  No client has that routing id.
    /// @error wrong_state       It has no request that waits for this.
    /// @error again             Too many parts are queued for it.
    /// @throws std::bad_alloc
    result<void> reply(std::uint32_t routing_id, std::unique_ptr<web::reply>& part);

    /// Closes a peer after the messages sent to it, because the socket is drained.
    /// @throws std::bad_alloc
    void close_gracefully(peer& leaving);

    /// Sends a payload to each of several peers. Unknown, closed and full peers are
    /// skipped.
    /// @param routing_ids  Concatenated.
    /// @param outcomes     Set for each of them: 0, host_unreachable, or again if it is full. Null:
    ///                     not reported.
    /// @return The number of peers it was sent to.
    /// @error wrong_state        A message is partly sent.
    /// @error message_too_large  It exceeds the limit of every peer.
    /// @error invalid_argument   It is marked as text, but is not UTF-8.
    /// @throws std::bad_alloc  It was sent to those peers that `outcomes` marks so.
    result<std::size_t> send_many(std::span<const std::byte> routing_ids, outgoing& source,
                                  int* outcomes);

private:
    static constexpr std::size_t id_bytes = 4;

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

    std::uint32_t make_id() noexcept;
    void forget(peer& gone) noexcept;
    std::size_t recv_id_at_once(void* to, std::size_t capacity) noexcept;
    result<void> choose(const outgoing& routing_id);
    static bool has_credit(peer& target);
    static pipe::close_request& set_requested_close(peer& leaving, std::uint16_t code,
                                                    std::string_view reason,
                                                    std::chrono::milliseconds longest);
    void cut_off(peer& leaving, std::uint16_t code, std::string_view reason);
    bool cut_off_full(peer& full);
    result<std::size_t> send_run(peer& to, std::span<const stream_message> messages);
    void take(peer& from, const pipe::frame& front, incoming& target);
    peer* reach(std::uint32_t id) const noexcept;
    result<void> send_payload(outgoing& source);
    static result<void> send_read(peer& to, const files::file_region& region);
    result<void> recv_routing_id(incoming& target);
    result<void> recv_payload(incoming& target);
    result<void> recv_event(incoming& target);

    const socket_options& options_;
    deflation deflation_;
    basic_fair_queue<stream_peek> queue_;
    peer_table<peer> peers_by_id_; ///< Peers that can be sent to.
    http_clients http_clients_;
    /// Peers that the application has closed, but whose connection is still open.
    std::unordered_map<std::uint32_t, peer*> leaving_;
    reconnections reconnections_;
    stream_events events_;
    stream_lending lending_; ///< Of the messages that recv_batch() returned last.
    relaxed<std::uint64_t> undeliverable_count_{0};
    peer* receiving_ = nullptr; ///< Null if it disconnected before its payload was received.
    peer* sending_ = nullptr;
    std::uint32_t next_id_ = 1;
    awaited awaited_ = awaited::routing_id;
    expected expected_ = expected::routing_id;
};

} // namespace zlink::socket
