// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "base/socket_options.hpp"
#include "socket/peer.hpp"
#include "socket/stream_message.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace zlink::socket {

/// What makes a socket a PUSH, a ROUTER, ...: to which peers messages go, and from which they come.
/// The contract of the files of this folder that bear a pattern's name. Nothing here waits.
///
/// @threads The socket's.
class pattern {
public:
    virtual ~pattern() = default;

    /// A pipe was added.
    virtual void on_attached(peer& added) = 0;
    /// A pipe is about to be destroyed: it must not be touched again.
    virtual void on_detached(peer& removed) = 0;
    /// What `about` is became known.
    virtual void on_peer_info(peer& about);
    /// A pipe that was found empty has something to read, or was closed by its other side.
    virtual void on_readable(peer& woken) = 0;
    /// A pipe that was found full has room.
    virtual void on_writable(peer& woken) = 0;
    /// The other side of a pipe let go, but some of what it sent is not read yet: nothing may be
    /// sent there any more.
    virtual void on_closed(peer& gone);
    /// A pipe is about to be detached: its other side let go, and nothing of what it sent is left;
    /// or we no longer want it.
    virtual void on_drained(peer& gone);
    /// The peer is a new connection that knows nothing of what the one before was told.
    virtual void on_restarted(peer& about);

    /// What peers did is looked at from now on: as much of it is dealt with as one turn may take.
    virtual void begin_turn() noexcept {}

    /// Does a part of what there is to do about a peer that leaves, before on_detached().
    /// @return Whether nothing more is to be done. If not, this is called again; and if that can be
    ///         soon, the peer's letter lies in the mailbox.
    virtual bool lets_go(peer&) noexcept { return true; }

    /// From now on somebody may wait for the socket's descriptor (ZMQ_FD), rather than ask.
    virtual void on_watched() noexcept {}

    /// Whether what `gone` sent before it went is still of interest.
    virtual bool reads_after_close(const peer& gone) const noexcept = 0;

    /// Sends one frame.
    /// @error again          It would have to wait.
    /// @error invalid_argument  It is no text, and marked as one; only STREAM.
    /// @error not_supported  This pattern does not send.
    /// @error wrong_state    Not now, in this pattern's order of things.
    /// @error host_unreachable  No such peer.
    /// @throws std::bad_alloc
    virtual result<void> send(outgoing& source) = 0;

    /// Receives one frame.
    /// @error  As send().
    virtual result<void> recv(incoming& target) = 0;

    /// The common case of send(), in as few instructions as possible, with nothing to be kept
    /// until it returns: a short frame for a peer that has credit and room, or one that only says
    /// which peer the others of its message are for.
    /// @param more  Others of its message follow.
    /// @return Whether it was sent. If not, nothing happened.
    virtual bool send_at_once(const std::byte*, std::size_t, bool) noexcept { return false; }

    /// The common case of recv(): a short frame of at most `capacity` bytes, or one that a pattern
    /// puts before a message.
    /// @return Its bytes, copied to `to`, and message_queue::more_follows if another frame of the
    ///         same message follows. If it is message_queue::nothing, nothing happened.
    virtual std::size_t recv_at_once(void*, std::size_t) noexcept {
        return pipe::message_queue::nothing;
    }

    /// The same, where the bytes go into a message, which is valid.
    /// @return Whether it was received. If not, nothing happened.
    /// @throws std::bad_alloc  Nothing happened.
    virtual bool recv_message_at_once(pipe::message&) { return false; }

    /// Sends a message of one frame to the peer with that routing id; only STREAM.
    /// @error  As send(), and not_supported.
    virtual result<void> send_to(std::uint32_t routing_id, outgoing& source);

    /// Receives a message of one frame and the routing id of its peer, or those two frames of an
    /// event; only STREAM.
    /// @error wrong_state  A message was received in part.
    /// @error              Else as recv(), and not_supported.
    virtual result<void> recv_from(std::uint32_t& routing_id, incoming& target);

    /// Sends messages to the peers that they name, in their order, until one cannot be sent; only
    /// STREAM.
    /// @return How many were sent, not 0.
    /// @error  Of the first one, as send_to(), and invalid_argument: it has a flag that is not
    ///         stream_message::text.
    virtual result<std::size_t> send_batch(std::span<const stream_message> messages);

    /// Receives messages, or events, as they are in the queues; only STREAM.
    /// @param messages  Filled in, from the first one on. What they point to stays until something
    ///                  else is received or asked for, and longer than the peers that sent it.
    /// @return How many, not 0.
    /// @error wrong_state  A message was received in part.
    /// @error              Else as recv(), and not_supported.
    virtual result<std::size_t> recv_batch(std::span<stream_message> messages);

    /// Whether send() and recv() would not give `again`.
    virtual bool can_send() = 0;
    virtual bool can_recv() = 0;

    /// Messages that were dropped because there was no peer for them.
    virtual std::uint64_t undeliverable_count() const noexcept { return 0; }

    /// Topics that are subscribed to; nothing if this pattern has no subscriptions.
    virtual std::optional<std::size_t> topic_count() const { return {}; }

    /// Payloads that were compressed; only STREAM.
    virtual std::uint64_t deflated_count() const noexcept { return 0; }

    /// Subscribes or unsubscribes; only SUB, and XPUB for a peer.
    /// @error invalid_argument  This pattern has no subscriptions, or not now.
    virtual result<void> change_subscription(std::span<const std::byte> topic, bool subscribe);

    /// Ends the connection to a peer, behind what was sent to it; only STREAM.
    /// @param code    As in a WebSocket close frame.
    /// @param reason  UTF-8, as long as such a frame can hold.
    /// @error not_supported     This pattern has no such peers.
    /// @error invalid_argument  It is no routing id.
    /// @error host_unreachable  No peer has it.
    /// @throws std::bad_alloc
    virtual result<void> close_peer(std::span<const std::byte> routing_id, std::uint16_t code,
                                    std::string_view reason);

    /// Ends the connection to a peer at once, also one that close_peer() was called for, whatever
    /// waits for it.
    /// @error  As close_peer().
    virtual result<void> cut_off_peer(std::span<const std::byte> routing_id, std::uint16_t code,
                                      std::string_view reason);

    /// The peer with that routing id, until it has gone; only STREAM.
    /// @return Null if there is none, or no longer.
    virtual peer* find_peer(std::span<const std::byte>) noexcept { return nullptr; }

    /// A message for a peer that has no room was not sent, and nobody waits any longer.
    /// @param was_chosen  The routing id was sent as a frame, so that a payload follows.
    /// @return What the caller learns.
    virtual errc on_no_room(std::span<const std::byte>, bool was_chosen) {
        static_cast<void>(was_chosen);
        return errc::again;
    }

    /// Has a peer leave behind all that was sent to it, because the socket is drained.
    /// @return Whether it will; if not, the pattern has no way of its own.
    /// @throws std::bad_alloc
    virtual bool part_from(peer&) { return false; }

    /// Sends a payload to each of some peers; only STREAM. Those that are unknown, gone or full get
    /// nothing.
    /// @param routing_ids  One behind the other.
    /// @param outcomes     Set for each of them: 0, host_unreachable, or again if it is full. Null:
    ///                     nobody asks.
    /// @return How many got it.
    /// @error not_supported      This pattern has no such peers.
    /// @error wrong_state        In the middle of a message.
    /// @error message_too_large  No peer can be sent so much.
    /// @error invalid_argument   It is no text, and marked as one.
    /// @throws std::bad_alloc  Some have got it: those of whom `outcomes` says so.
    virtual result<std::size_t> send_many(std::span<const std::byte> routing_ids, outgoing& source,
                                          int* outcomes);
};

/// Makes the pattern of `options.type`, which looks at `options` as they change.
/// @return Null if there is no such type here.
std::unique_ptr<pattern> make_pattern(const socket_options& options);

} // namespace zlink::socket
