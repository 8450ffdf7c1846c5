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
struct session_origin;

/// Where a connection stands. It leaves a state only through connection::advance().
///
///   opening ──▶ [upgrade] ──▶ handshake ──▶ traffic ──▶ closing ──▶ closed
///      │            │             │            │                      ▲
///      └────────────┴─────────────┴────────────┴──────────────────────┘
enum class connection_state : std::uint8_t {
    opening,   ///< The stream reads what a proxy says, or agrees on keys; nothing of ours passes.
    upgrade,   ///< HTTP turns into WebSocket; no message may pass.
    handshake, ///< Greetings and mechanism; no message may pass.
    traffic,   ///< Messages pass both ways.
    closing,   ///< One side has said that it ends, or sends nothing any more.
    closed,    ///< The stream is closed; the session lets go of the connection.
};

/// The life of one stream: opened, perhaps upgraded, handshake, messages, the end. When it is lost
/// the session, which outlives it, destroys it.
///
/// Every call comes from within session::enter(), which sees to what a call brought about.
///
/// @threads The session's.
class connection final : private heartbeat_user {
public:
    /// @param owner  Outlives this.
    connection(session& owner, transport::stream_ptr stream) noexcept;
    ~connection();
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    /// Begins. @param opens  Whether the stream has to be opened first.
    void start(bool opens);

    bool is_closed() const noexcept { return state_ == connection_state::closed; }
    /// Whether messages may pass, or might.
    bool is_established() const noexcept {
        return state_ == connection_state::traffic || state_ == connection_state::closing;
    }
    /// Why it was closed.
    errc reason() const noexcept { return reason_; }
    /// Whether it was established when it was closed.
    bool was_established() const noexcept { return was_established_; }
    /// Whether a frame was written in part when it was closed.
    bool was_cut_off() const noexcept { return was_cut_off_; }
    /// Whether it was closed because the application wanted that.
    bool ended_for_application() const noexcept { return ends_for_application_; }

    // The stream's side.

    void on_readable();
    void on_deadline();

    // The socket's side.

    /// The pipe holds something, and is marked no more: write() is due.
    void on_pipe_woken() noexcept;
    /// The pipe has room again.
    void on_pipe_writable();
    void write();
    void on_posted_write();

    /// The socket has let go, or will send nothing more: ends when all is written.
    void finish_once_drained();
    void finish_if_drained();
    /// The same now. What was sent and not written is lost.
    void leave_at_once();
    /// The socket has let go. @return  Whether that is all, since the peer reads nothing any more.
    bool ends_with_socket();
    /// The application wants the end now. The peer is told why if it has taken everything so far;
    /// if not, it is told by a reset that something is missing.
    void cut_off(const pipe::close_request& asked);
    /// Ends without a word to anybody. The stream is closed.
    void drop() noexcept;

    // At the end of the thread's turn, and from time to time (runtime::event_handler).

    bool has_news() const noexcept;
    runtime::event_handler::sleep_mark on_turn_over();
    void on_settled();
    /// Whether nothing is held that was received.
    bool is_input_idle() const noexcept { return !reader_ || reader_->is_idle(); }
    void trim_input() noexcept;
    void trim_output() noexcept { writer_.trim(); }
    void fetch_ahead() const noexcept;
    bool take_written_much() noexcept { return writer_.take_written_much(); }

    // For protocols.

    session& owner() noexcept { return owner_; }
    const session_origin& origin() const noexcept;
    const socket_options& options() const noexcept;
    /// Whether we came to the peer, and not it to us.
    bool is_dialing() const noexcept;
    connection_state state() const noexcept { return state_; }
    transport::stream& stream() const noexcept { return *stream_; }
    pipe::pipe_end& end() noexcept;
    reader& input() noexcept { return *reader_; }
    writer& output() noexcept { return writer_; }
    heartbeat* pulse() noexcept { return heartbeat_.get(); }
    close_handshake* closing() noexcept { return closing_.get(); }

    /// Whether a ping or pong may be sent: the peer reads what is sent, and is not told to go.
    bool may_send_control() const noexcept;
    /// Writes behind what is under way, once, however often that is asked for until then.
    void write_soon() noexcept;
    /// Sends a command of ZMTP.
    void send_command(std::span<const std::byte> body);
    void start_heartbeat();

    /// Goes on after a step of the handshake that something else than the stream brought about.
    void after_step(result<protocol::progress> step, std::span<const std::byte> rest = {});

    /// Tells the socket who the peer is, with what the stream knows.
    void announce(std::unique_ptr<pipe::peer_info> peer);
    void tell(connection_event what, std::int32_t value,
              std::string_view remark = {}) const noexcept;

    /// The peer has said that it goes. What this brings about comes behind the tasks that wait.
    void on_peer_closes(std::uint16_t code, std::string_view reason);
    void on_answered();
    /// The application wants the end of the connection behind all that was sent.
    void close_for(const pipe::close_request& asked);

    /// The connection is over. The stream is closed, and the socket told.
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
    void read_handshake();
    void wait_or_lose(const transport::io_outcome& outcome);
    void start_protocol();
    void go_on_with(std::unique_ptr<protocol> next, std::span<const std::byte> rest);
    void establish(std::span<const std::byte> rest);

    bool reads_on() const noexcept;
    bool has_said_close() const noexcept { return closing_ && !closing_->is_half_closed(); }
    bool has_told_socket() const noexcept;
    bool keeps_unsent() const noexcept;
    bool has_unsent() const noexcept;
    void read();
    void after_read(const reader::turn& turn);
    void write_own();
    void on_write_failed(errc reason);
    void on_all_said();
    void on_peer_ended();
    void break_off(errc reason);
    void begin_closing(close_handshake::state as, std::uint16_t code, std::string reason);
    void say_close(std::uint16_t code, std::string_view reason);
    void say_going_away();
    void discard_until_peer_closes();
    bool is_parted() const noexcept;
    bool discard_arrived();
    void stop_heartbeat() noexcept;

    session& owner_;
    transport::stream_ptr stream_;
    std::unique_ptr<protocol> protocol_;
    writer writer_;
    boost::intrusive_ptr<heartbeat> heartbeat_; ///< In traffic, if we or the peer want one.
    std::unique_ptr<close_handshake> closing_;  ///< Null before the first sign of the end.
    [[no_unique_address]] std::optional<reader> reader_; ///< In traffic. What follows takes room
                                                         ///< that it leaves.
    connection_state state_ = connection_state::opening;
    bool was_established_ : 1 = false; ///< When it was closed.
    bool was_cut_off_ : 1 = false;
    bool ends_for_application_ : 1 = false;
    errc reason_{};
};

} // namespace zlink::session
