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

/// The behaviour of a socket type such as PUSH or ROUTER: the peers it sends to and receives from.
/// The contract of the files in this folder that are named after a pattern. No call blocks.
///
/// @threads The socket's.
class pattern {
public:
    virtual ~pattern() = default;

    /// A pipe was added.
    virtual void on_attached(peer& added) = 0;
    /// A pipe is about to be destroyed: do not use it again.
    virtual void on_detached(peer& removed) = 0;
    /// The properties of `about` became known.
    virtual void on_peer_info(peer& about);
    /// A pipe that was empty is readable, or was closed by its other end.
    virtual void on_readable(peer& woken) = 0;
    /// A pipe that was full has room.
    virtual void on_writable(peer& woken) = 0;
    /// The other end of a pipe was closed, but unread messages remain: nothing more may be sent
    /// there.
    virtual void on_closed(peer& gone);
    /// A pipe is about to be detached: its other end was closed and no messages remain, or this
    /// socket no longer uses it.
    virtual void on_drained(peer& gone);
    /// The peer has reconnected, and has lost the state of its previous connection.
    virtual void on_restarted(peer& about);

    /// Events of peers are processed next: a new work limit applies.
    virtual void begin_turn() noexcept {}

    /// Does part of the cleanup for a leaving peer, before on_detached().
    /// @return Whether the cleanup is complete. If not, this is called again; if that can be soon,
    ///         the peer's event is in the mailbox.
    virtual bool lets_go(peer&) noexcept { return true; }

    /// From now on the application may poll the socket's descriptor (ZMQ_FD) instead of calling.
    virtual void on_watched() noexcept {}

    /// Whether messages that `gone` sent before it closed are still received.
    virtual bool reads_after_close(const peer& gone) const noexcept = 0;

    /// Sends one frame.
    /// @error again          It would block.
    /// @error invalid_argument  The payload is marked as text, but is not UTF-8; only STREAM.
    /// @error not_supported  This pattern does not send.
    /// @error wrong_state    Not allowed in the pattern's current state.
    /// @error host_unreachable  No such peer.
    /// @throws std::bad_alloc
    virtual result<void> send(outgoing& source) = 0;

    /// Receives one frame.
    /// @error  As send().
    virtual result<void> recv(incoming& target) = 0;

    /// The common case of send(), in as few instructions as possible, with no state kept until it
    /// returns: a short frame for a peer that has credit and room, or a frame that only selects the
    /// peer for the rest of its message.
    /// @param more  Further frames of the message follow.
    /// @return Whether it was sent. If not, nothing happened.
    virtual bool send_at_once(const std::byte*, std::size_t, bool) noexcept { return false; }

    /// The common case of recv(): a short frame of at most `capacity` bytes, or a frame that the
    /// pattern puts before a message.
    /// @return Its bytes, copied to `to`, and message_queue::more_follows if another frame of the
    ///         same message follows. If it is message_queue::nothing, nothing happened.
    virtual std::size_t recv_at_once(void*, std::size_t) noexcept {
        return pipe::message_queue::nothing;
    }

    /// The same into a message, which must be valid.
    /// @return Whether it was received. If not, nothing happened.
    /// @throws std::bad_alloc  Nothing happened.
    virtual bool recv_message_at_once(pipe::message&) { return false; }

    /// Sends a message of one frame to the peer with that routing id; only STREAM.
    /// @error  As send(), and not_supported.
    virtual result<void> send_to(std::uint32_t routing_id, outgoing& source);

    /// Receives a message of one frame and the routing id of its peer, or those two frames of an
    /// event; only STREAM.
    /// @error wrong_state  A message is partly received.
    /// @error              Otherwise as recv(), and not_supported.
    virtual result<void> recv_from(std::uint32_t& routing_id, incoming& target);

    /// Sends messages to the peers that they name, in order, until one cannot be sent; only STREAM.
    /// @return The number sent, not 0.
    /// @error  That of the first message, as send_to(), and invalid_argument: it has a flag other
    ///         than stream_message::text.
    virtual result<std::size_t> send_batch(std::span<const stream_message> messages);

    /// Receives messages, or events, without copying; only STREAM.
    /// @param messages  Filled in from the start. Their data stays valid until the next call that
    ///                  receives or checks for messages, even if its peers disconnect earlier.
    /// @return The number received, not 0.
    /// @error wrong_state  A message is partly received.
    /// @error              Otherwise as recv(), and not_supported.
    virtual result<std::size_t> recv_batch(std::span<stream_message> messages);

    /// Whether send() and recv() would not return `again`.
    virtual bool can_send() = 0;
    virtual bool can_recv() = 0;

    /// Messages dropped for lack of a peer.
    virtual std::uint64_t undeliverable_count() const noexcept { return 0; }

    /// The number of subscribed topics; empty if this pattern has no subscriptions.
    virtual std::optional<std::size_t> topic_count() const { return {}; }

    /// Payloads compressed so far; only STREAM.
    virtual std::uint64_t deflated_count() const noexcept { return 0; }

    /// Subscribes or unsubscribes; only SUB, and XPUB for a peer.
    /// @error invalid_argument  This pattern has no subscriptions, or cannot change them now.
    virtual result<void> change_subscription(std::span<const std::byte> topic, bool subscribe);

    /// Closes the connection to a peer, after the messages sent to it; only STREAM.
    /// @param code    As in a WebSocket close frame.
    /// @param reason  UTF-8, at most as long as fits such a frame.
    /// @error not_supported     This pattern has no such peers.
    /// @error invalid_argument  It is no routing id.
    /// @error host_unreachable  No peer has it.
    /// @throws std::bad_alloc
    virtual result<void> close_peer(std::span<const std::byte> routing_id, std::uint16_t code,
                                    std::string_view reason);

    /// Closes the connection to a peer at once, also after close_peer(), and discards messages
    /// queued for it.
    /// @error  As close_peer().
    virtual result<void> cut_off_peer(std::span<const std::byte> routing_id, std::uint16_t code,
                                      std::string_view reason);

    /// The peer with that routing id, until it disconnects; only STREAM.
    /// @return Null if there is none, or not any more.
    virtual peer* find_peer(std::span<const std::byte>) noexcept { return nullptr; }

    /// A message for a full peer was not sent, and the caller has stopped waiting.
    /// @param was_chosen  The routing id was sent as a frame, so its payload follows.
    /// @return The error for the caller.
    virtual errc on_no_room(std::span<const std::byte>, bool was_chosen) {
        static_cast<void>(was_chosen);
        return errc::again;
    }

    /// Closes a peer after the messages sent to it, because the socket is drained.
    /// @return Whether the pattern does this; if not, the caller must.
    /// @throws std::bad_alloc
    virtual bool part_from(peer&) { return false; }

    /// Sends a payload to each of several peers; only STREAM. Unknown, closed and full peers are
    /// skipped.
    /// @param routing_ids  Concatenated.
    /// @param outcomes     Set for each of them: 0, host_unreachable, or again if it is full. Null:
    ///                     not reported.
    /// @return The number of peers it was sent to.
    /// @error not_supported      This pattern has no such peers.
    /// @error wrong_state        A message is partly sent.
    /// @error message_too_large  It exceeds the limit of every peer.
    /// @error invalid_argument   It is marked as text, but is not UTF-8.
    /// @throws std::bad_alloc  It was sent to those peers that `outcomes` marks so.
    virtual result<std::size_t> send_many(std::span<const std::byte> routing_ids, outgoing& source,
                                          int* outcomes);
};

/// Makes the pattern of `options.type`, which reads `options` at each use.
/// @return Null if the type is unknown.
std::unique_ptr<pattern> make_pattern(const socket_options& options);

} // namespace zlink::socket
