// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/connection_event.hpp"
#include "base/result.hpp"
#include "base/socket_options.hpp"
#include "pipe/close_request.hpp"
#include "pipe/peer_info.hpp"
#include "session/close_handshake.hpp"
#include "session/heartbeat.hpp"
#include "session/protocol.hpp"
#include "session/reader.hpp"
#include "session/writer.hpp"
#include "transport/stream.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace zlink::session {

class session;
struct endpoint_call;

/// The state of a connection. Only connection::advance() changes it.
///
///   opening ──▶ [upgrade] ──▶ [handshake] ──▶ traffic ──▶ closing ──▶ closed
///      │            │              │             │                      ▲
///      └────────────┴──────────────┴─────────────┴──────────────────────┘
enum class connection_state : std::uint8_t {
    opening,   ///< The stream reads a proxy header or runs the TLS handshake; no own bytes pass.
    upgrade,   ///< HTTP upgrade to WebSocket; no messages yet.
    handshake, ///< Greetings and mechanism; no messages yet.
    traffic,   ///< Messages pass both ways.
    closing,   ///< One side has announced the end, or ended its direction.
    closed,    ///< The stream is closed; the session destroys the connection.
};

/// One stream from open to close: optional upgrade, handshake, messages, close. The session
/// outlives the connection and destroys it when it is closed.
///
/// Every call comes from within session::enter(), which handles the consequences of the call.
///
/// @threads The session's.
class connection final : private heartbeat_user {
public:
    /// @param owner  Outlives this object.
    connection(session& owner, transport::stream_ptr stream) noexcept;
    ~connection();
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    /// Starts. @param opens  Whether the stream must be opened first.
    void start(bool opens);

    bool is_closed() const noexcept { return state_ == connection_state::closed; }
    /// Whether messages can pass, or could before it began to close.
    bool is_established() const noexcept {
        return state_ == connection_state::traffic || state_ == connection_state::closing;
    }
    /// Why it was closed.
    errc reason() const noexcept { return reason_; }
    /// Whether it was established when it was closed.
    bool was_established() const noexcept { return was_established_; }
    /// Whether a frame was partly written when it was closed.
    bool was_cut_off() const noexcept { return was_cut_off_; }
    /// Whether the application asked for the close.
    bool ended_for_application() const noexcept { return ends_for_application_; }

    // The stream's side.

    void on_readable();
    void on_end();
    void on_deadline();

    // The socket's side.

    /// The pipe has messages and is no longer marked: write() is due.
    void on_pipe_woken() noexcept;
    /// The pipe has room again.
    void on_pipe_writable();
    void write();
    void on_posted_write();

    /// The socket is closed, or will send nothing more: closes once everything is written.
    void finish_once_drained();
    void finish_if_drained();
    /// Closes now. Messages that are sent but not written are lost.
    void leave_at_once();
    /// The socket is closed. @return  Whether the session is done, since the peer reads no more.
    bool ends_with_socket();
    /// The application wants the connection closed now. The peer receives the reason if it has
    /// taken everything so far; otherwise a reset tells it that data is missing.
    void cut_off(const pipe::close_request& asked);
    /// Closes the stream without notifying the peer or the socket.
    void drop() noexcept;

    /// Whether a response to the peer is under way, before traffic.
    bool is_responding() const noexcept { return protocol_ && protocol_->has_more(); }

    // At the end of the thread's turn, and from time to time (runtime::event_handler).

    bool has_news() noexcept;
    runtime::event_handler::park_mark on_turn_over();
    void on_settled();
    /// Whether no partial input is held.
    bool is_input_idle() const noexcept { return !reader_ || reader_->is_idle(); }
    void trim_input() noexcept;
    void trim_output() noexcept { writer_.trim(); }
    bool take_written_much() noexcept { return writer_.take_written_much(); }

    // For protocols.

    session& owner() noexcept { return owner_; }
    const endpoint_call& call() const noexcept;
    const socket_options& options() const noexcept;
    /// Whether this side connected to the peer, and did not accept it.
    bool is_dialing() const noexcept;
    connection_state state() const noexcept { return state_; }
    transport::stream& stream() const noexcept { return *stream_; }
    pipe::pipe_end& end() noexcept;
    reader& input() noexcept { return *reader_; }
    writer& output() noexcept { return writer_; }
    heartbeat* pulse() noexcept { return heartbeat_.get(); }
    close_handshake* closing() noexcept { return closing_.get(); }

    /// Whether a ping or pong may be sent: the peer reads, and no close handshake has begun.
    bool may_send_control() const noexcept;
    /// Posts a write behind the running task; further calls before it runs have no effect.
    void write_soon() noexcept;
    /// Sends a ZMTP command.
    void send_command(std::span<const std::byte> body);
    void start_heartbeat();

    /// Continues after a step of the handshake that was not caused by the stream.
    void after_step(result<protocol::progress> step, std::span<const std::byte> rest = {});

    /// Announces the peer to the socket, with the properties that the stream knows.
    void announce(std::unique_ptr<pipe::peer_info> peer);
    /// Queues the reason of the close for the socket, behind all received messages: the one that
    /// either side has announced, otherwise this one. If memory for it is lacking, the socket
    /// learns only that the pipe ends.
    void announce_departure(int code, std::string_view reason) noexcept;
    void tell(connection_event what, std::int32_t value,
              std::string_view remark = {}) const noexcept;

    /// The peer has announced its end. The consequences are posted behind the queued tasks.
    void on_peer_closes(std::uint16_t code, std::string_view reason);
    void on_answered();
    /// The application wants the connection closed after everything that was sent.
    void close_for(const pipe::close_request& asked);

    /// The connection is over. Closes the stream, and notifies the socket.
    void lose(errc reason) noexcept;

private:
    class batch_counter;
    bool on_batch(std::size_t bytes);
    void send_ping(wire::zmtp::heartbeat_ttl ttl) noexcept override;
    bool is_listening() const noexcept override;
    void on_silence() noexcept override;

    void advance(connection_state next) noexcept;
    wiring around() noexcept;
    void open();
    void read_bytes();
    void wait_for_input();
    bool go_on();
    void await_disk();
    wiring for_writing() noexcept;
    void wait_or_lose(const transport::io_outcome& outcome);
    void start_protocol();
    void go_on_with(std::unique_ptr<protocol> next, std::span<const std::byte> rest);
    void establish(std::span<const std::byte> rest);
    void begin_traffic();
    void begin_messages(std::span<const std::byte> rest);

    bool reads_on() const noexcept;
    bool has_said_close() const noexcept { return closing_ && !closing_->is_half_closed(); }
    bool has_notified_socket() const noexcept;
    bool keeps_unsent() const noexcept;
    bool has_unsent() const noexcept;
    void read();
    void after_read(const reader::turn& turn);
    void write_own();
    void on_write_failed(errc reason);
    void on_own_bytes_written();
    void on_peer_ended();
    void reject_input(errc reason);
    void begin_closing(close_handshake::state as, std::uint16_t code, std::string reason);
    void send_close_frame(std::uint16_t code, std::string_view reason);
    void send_going_away();
    void discard_until_peer_closes();
    bool closes_as_server() const noexcept;
    bool discard_arrived();
    void stop_heartbeat() noexcept;
    void count_end(errc reason) const noexcept;

    session& owner_;
    transport::stream_ptr stream_;
    std::unique_ptr<protocol> protocol_;
    writer writer_;
    boost::intrusive_ptr<heartbeat> heartbeat_; ///< In traffic, if this side or the peer uses one.
    std::unique_ptr<close_handshake> closing_;  ///< Null before the first sign of the end.
    [[no_unique_address]] std::optional<reader> reader_; ///< In traffic. Next: its tail padding.
    connection_state state_ = connection_state::opening;
    bool was_established_ : 1 = false; ///< When it was closed.
    bool was_cut_off_ : 1 = false;
    bool ends_for_application_ : 1 = false;
    bool awaits_disk_ : 1 = false;  ///< The writer's file is being read from a disk.
    bool has_seen_end_ : 1 = false; ///< The stream has told of an end, while nothing was read.
    errc reason_{};
};

} // namespace zlink::session
