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

    /// Whether what `gone` sent before it went is still of interest.
    virtual bool reads_after_close(const peer& gone) const noexcept = 0;

    /// Sends one frame.
    /// @error again          It would have to wait.
    /// @error not_supported  This pattern does not send.
    /// @error wrong_state    Not now, in this pattern's order of things.
    /// @error host_unreachable  No such peer.
    /// @throws std::bad_alloc
    virtual result<void> send(outgoing& source) = 0;

    /// Receives one frame.
    /// @error  As send().
    virtual result<void> recv(incoming& target) = 0;

    /// What an application calls to send a frame.
    using send_call = int(void* socket, const void* data, std::size_t bytes, int flags) noexcept;

    /// The common case of send(), in as few instructions as possible, with nothing to be kept
    /// until it returns: a message of one short frame for a peer that has credit and room.
    /// @return The octets if it was sent. If not, what otherwise(socket, body, bytes, flags) gives.
    virtual int send_at_once(const std::byte* body, std::size_t bytes, int flags, void* socket,
                             send_call* otherwise) noexcept {
        return otherwise(socket, body, bytes, flags);
    }

    /// The same of a frame that others of its message follow: one that only says which peer they
    /// are for, and that has credit.
    /// @return As send_at_once().
    virtual bool choose_at_once(std::span<const std::byte>) noexcept { return false; }

    /// What recv_at_once() adds to its octets if another frame of the same message follows.
    static constexpr std::size_t more_follows = ~(~std::size_t{0} >> 1);

    /// The common case of recv(): a message of one short frame, of at most `capacity` octets, or a
    /// frame that a pattern puts before it.
    /// @return Its octets, copied to `to`. If it is message_queue::nothing, nothing happened.
    virtual std::size_t recv_at_once(void*, std::size_t) noexcept {
        return pipe::message_queue::nothing;
    }

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

    /// Has a peer leave behind all that was sent to it, because the socket is drained.
    /// @return Whether it will; if not, the pattern has no way of its own.
    /// @throws std::bad_alloc
    virtual bool part_from(peer&) { return false; }

    /// Sends a payload to each of some peers; only STREAM. Those that are unknown, gone or full get
    /// nothing.
    /// @param routing_ids  One behind the other.
    /// @return How many got it.
    /// @error not_supported      This pattern has no such peers.
    /// @error wrong_state        In the middle of a message.
    /// @error message_too_large  No peer can be sent so much.
    /// @throws std::bad_alloc  Some have got it.
    virtual result<std::size_t> send_many(std::span<const std::byte> routing_ids, outgoing& source);
};

/// Makes the pattern of `options.type`, which looks at `options` as they change.
/// @return Null if there is no such type here.
std::unique_ptr<pattern> make_pattern(const socket_options& options);

} // namespace zlink::socket
