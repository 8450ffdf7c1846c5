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

/// Properties of the pipe to a peer that the socket needs.
struct pipe_terms {
    pipe::layout frames = pipe::layout::zmtp;
    bool carries_http = false; ///< The peer's messages are HTTP requests.
    std::optional<wire::websocket::deflate_direction> deflation{}; ///< Empty: no compression.
};

/// The protocol that two programs speak over a stream: handshake, control frames, close handshake
/// and the meaning of commands. The contract of the classes whose names end in _protocol. One is
/// chosen for a connection when its stream is open; an entry protocol only negotiates, and then
/// hands the stream over to another protocol.
///
/// Called once per batch, never per message.
///
/// @threads The connection's.
class protocol : public codec::command_sink {
public:
    /// The result of a handshake step.
    enum class progress : std::uint8_t {
        waits,       ///< For the peer, or for a ZAP reply.
        established, ///< Messages may pass.
        hands_on,    ///< hand_on() returns the protocol that continues.
    };

    virtual ~protocol() = default;

    // The handshake.

    /// Whether the connection is in connection_state::upgrade until it is established.
    virtual bool is_entry() const noexcept { return false; }

    /// Starts. Bytes to send are appended to the connection's own bytes, here and below; after a
    /// failure, too, to tell the peer the reason.
    /// @error  As on_received().
    /// @throws std::bad_alloc
    virtual result<progress> start() = 0;

    /// Consumes bytes from the front of `received`. Bytes left once it is established are messages.
    /// @error protocol_violation  And errors that the peer or the ZAP handler causes.
    /// @throws std::bad_alloc
    virtual result<progress> on_received(std::span<const std::byte>& received);

    /// Everything of the connection's own is written. A protocol that sends more than one answer
    /// continues.
    /// @param rest  Set to received bytes that the next protocol gets, if the step hands on. Valid
    ///              until the next read.
    /// @error   As on_received().
    /// @throws std::bad_alloc
    virtual result<progress> on_sent(std::span<const std::byte>& rest) {
        static_cast<void>(rest);
        return progress::waits;
    }

    /// An end was seen behind the input that was not read yet, while none was wanted.
    virtual void on_end_ahead() noexcept {}

    /// Whether more input can be taken now.
    virtual bool wants_input() const noexcept { return true; }

    /// Whether it has something to send as soon as the connection's own bytes are written: nothing
    /// is taken from the pipe before that.
    virtual bool has_more() const noexcept { return false; }

    /// Whether it takes the received bytes itself in traffic, too, in on_received(), and the pipe
    /// brings it only control objects.
    virtual bool takes_bytes() const noexcept { return false; }

    /// Whether it has deadlines of its own, in place of that of the handshake; also in traffic.
    virtual bool has_deadlines() const noexcept { return false; }

    /// The deadline has passed that this protocol has started.
    /// @return Whether the connection goes on.
    virtual bool on_deadline() { return false; }

    /// The protocol that continues; called once, after progress::hands_on.
    virtual std::unique_ptr<protocol> hand_on();

    /// A step has failed; bytes appended by start() or on_received() are written next.
    virtual void on_refused(errc reason) { static_cast<void>(reason); }

    /// Tells the monitor that the connection ended before it was established.
    virtual void tell_failure(errc reason) noexcept { static_cast<void>(reason); }

    // The start of traffic, called in this order.

    virtual pipe_terms terms() const noexcept { return {}; }

    /// Settings for incoming bytes, unless it takes them itself. The pipe exists before this call.
    /// @throws std::bad_alloc
    virtual reading make_reading() = 0;

    /// The encoder for outgoing messages; null: no encoding.
    /// @throws std::bad_alloc
    virtual std::unique_ptr<codec::encoder> make_encoder() { return {}; }

    /// Announces the peer to the socket.
    /// @throws std::bad_alloc
    virtual void announce_peer() = 0;

    /// The frame that the socket receives before everything that the peer sends.
    virtual std::span<const std::byte> first_frame() const noexcept { return {}; }

    /// Whether the peer can answer our heartbeats, if they are enabled.
    virtual bool has_heartbeats() const noexcept { return false; }

    /// State that only the functions above need can be freed.
    virtual void on_begun() noexcept {}

    // Traffic.

    /// A command was received between messages.
    verdict on_command(std::span<const std::byte> body) noexcept override {
        static_cast<void>(body);
        return verdict::fail;
    }

    /// Sends a ping, unless too many earlier ones are still unread.
    /// @throws std::bad_alloc
    virtual void send_ping(wire::zmtp::heartbeat_ttl ttl) { static_cast<void>(ttl); }

    /// The next item in the pipe is a control object of the socket.
    /// @throws std::bad_alloc
    virtual void on_control(pipe::block& object) { static_cast<void>(object); }

    // Closing.

    /// Whether the protocol has close frames: send_close().
    virtual bool has_close_frames() const noexcept { return false; }

    /// Appends a close frame to the connection's own bytes.
    /// @throws std::bad_alloc
    virtual void send_close(std::uint16_t code, std::string_view reason);

    /// The socket lets the peer go: appends an answer that the peer still waits for.
    /// @throws std::bad_alloc
    virtual void on_leaving() {}

    /// Whether a connection keeps sending after the peer has ended its direction, closes only when
    /// the peer closes, and notifies the socket as soon as the peer announces its end.
    virtual bool awaits_peer_close() const noexcept { return false; }

    /// The connection is over: queues the last item for the socket. If memory for it is lacking,
    /// the socket learns only that the pipe ends.
    virtual void announce_departure(errc reason) noexcept { static_cast<void>(reason); }
};

/// The protocol that the sockets at both ends of `over` speak, chosen before any input.
/// @throws std::bad_alloc
std::unique_ptr<protocol> make_protocol(connection& over);

} // namespace zlink::session
