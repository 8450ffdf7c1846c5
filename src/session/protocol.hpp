// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "codec/encoder.hpp"
#include "pipe/block.hpp"
#include "pipe/layout.hpp"
#include "session/reader.hpp"
#include "wire/websocket/deflate_negotiation.hpp"
#include "wire/zmtp/command.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace zlink::session {

class connection;

/// What a socket has to know of the pipe to a peer.
struct pipe_terms {
    pipe::layout frames = pipe::layout::zmtp;
    std::optional<wire::websocket::deflate_direction> deflation{}; ///< Nothing: none is compressed.
};

/// What two programs say to each other over a stream: the handshake, control frames, how it ends
/// and what a command means. The contract of the classes whose names end in _protocol. One is
/// chosen for a connection when its stream is open; an entry protocol, which only finds out what is
/// wanted, hands the stream on to another one.
///
/// Called for a batch at a time, never for a message.
///
/// @threads The connection's.
class protocol : public codec::command_sink {
public:
    /// What a step of the handshake came to.
    enum class progress : std::uint8_t {
        waits,       ///< For the peer, or somebody who is asked about it.
        established, ///< Messages may pass.
        hands_on,    ///< hand_on() gives the protocol that goes on.
    };

    virtual ~protocol() = default;

    // The handshake.

    /// Whether connection_state::upgrade is where it stands until it is established.
    virtual bool is_entry() const noexcept { return false; }

    /// Begins. What is to be sent is appended to the connection's own bytes, here and below; after
    /// a failure, too: it tells the peer why.
    /// @error  As on_received().
    /// @throws std::bad_alloc
    virtual result<progress> start() = 0;

    /// Takes bytes off the front of `received`. What is left once it is established is a message.
    /// @error protocol_violation  And whatever else the peer, or those asked about it, may cause.
    /// @throws std::bad_alloc
    virtual result<progress> on_received(std::span<const std::byte>& received);

    /// The protocol that goes on; once, after progress::hands_on.
    virtual std::unique_ptr<protocol> hand_on();

    /// A step has failed, and what start() or on_received() appended is about to be written.
    virtual void on_refused(errc reason) { static_cast<void>(reason); }

    /// Tells the monitor that the connection ended before it was established.
    virtual void tell_failure(errc reason) const noexcept { static_cast<void>(reason); }

    // The beginning of traffic, in this order.

    virtual pipe_terms terms() const noexcept { return {}; }

    /// What passes through on its way in. Before it is asked for that, the pipe exists.
    /// @throws std::bad_alloc
    virtual reading make_reading() = 0;

    /// What passes through on its way out; null: all passes as it is.
    /// @throws std::bad_alloc
    virtual std::unique_ptr<codec::encoder> make_encoder() { return {}; }

    /// Tells the socket who the peer is.
    /// @throws std::bad_alloc
    virtual void announce_peer() = 0;

    /// What the socket receives of the peer before all that it sends.
    virtual std::span<const std::byte> first_frame() const noexcept { return {}; }

    /// Whether our heartbeats, if there are any, can be answered.
    virtual bool has_heartbeats() const noexcept { return false; }

    /// What is needed for the above only can be let go of.
    virtual void on_begun() noexcept {}

    // Traffic.

    /// A command came between messages.
    verdict on_command(std::span<const std::byte> body) noexcept override {
        static_cast<void>(body);
        return verdict::fail;
    }

    /// Sends a ping, or nothing while the peer leaves others unread.
    /// @throws std::bad_alloc
    virtual void send_ping(wire::zmtp::heartbeat_ttl ttl) { static_cast<void>(ttl); }

    /// An object that the socket put between its messages is next.
    /// @throws std::bad_alloc
    virtual void on_control(const pipe::block& object) { static_cast<void>(object); }

    // The end.

    /// Whether a peer is told in words that the connection ends: send_close().
    virtual bool has_close_frames() const noexcept { return false; }

    /// Appends a close frame to the connection's own bytes.
    /// @throws std::bad_alloc
    virtual void send_close(std::uint16_t code, std::string_view reason);

    /// Whether a connection goes on sending after the peer has ended its direction, ends only when
    /// the peer goes, too, and tells the socket as soon as the peer says so.
    virtual bool awaits_peer_close() const noexcept { return false; }

    /// The connection is over: what the socket receives last of the peer. Without memory for that
    /// it learns only that the pipe ends.
    virtual void announce_departure(errc reason) noexcept { static_cast<void>(reason); }
};

/// The protocol that the sockets at both ends of `over` speak, before anything is received.
/// @throws std::bad_alloc
std::unique_ptr<protocol> make_protocol(connection& over);

} // namespace zlink::session
