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
    virtual bool try_detach(peer&) noexcept { return true; }

    /// From now on the application may poll the socket's descriptor (ZMQ_FD) instead of calling.
    virtual void on_watched() noexcept {}

    /// Whether messages that `gone` sent before it closed are still received.
    virtual bool reads_after_close(const peer& gone) const noexcept = 0;

    /// The peer whose message the application receives in parts, if there is one.
    virtual const peer* receiving() const noexcept { return nullptr; }
    /// From now on receives only the rest of that message from receiving().
    virtual void receive_only_rest() noexcept {}

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

    /// The rest of the message that was partly sent will not follow: drops it.
    virtual void abandon_message() noexcept {}

    /// Whether send() and recv() would not return `again`.
    virtual bool can_send() = 0;
    virtual bool can_recv() = 0;

    /// Whether send() may return `again` although can_send(), because a receiver that gets only
    /// some of the messages is full.
    virtual bool has_full_receiver() { return false; }
    /// Whether send() of a message that begins with `first_frame` would not return `again` now. If
    /// it would, an event follows when that may have changed.
    virtual bool has_room_for(std::span<const std::byte>) { return can_send(); }
    /// The frame that recv() would return, if it is the first of a message. None also if the
    /// pattern does not know. Valid until the next call.
    virtual std::optional<std::span<const std::byte>> next_message() { return {}; }

    /// Messages dropped for lack of a peer.
    virtual std::uint64_t undeliverable_count() const noexcept { return 0; }

    /// The number of subscribed topics; empty if this pattern has no subscriptions.
    virtual std::optional<std::size_t> topic_count() const { return {}; }

    /// Subscribes or unsubscribes; only SUB, and XPUB for a peer.
    /// @error invalid_argument  This pattern has no subscriptions, or cannot change them now.
    virtual result<void> change_subscription(std::span<const std::byte> topic, bool subscribe);
};

/// Makes the pattern of `options.type`, which reads `options` at each use.
/// @return Null if the type is unknown.
std::unique_ptr<pattern> make_pattern(const socket_options& options);

} // namespace zlink::socket
