// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/connection_event.hpp"
#include "base/endpoint.hpp"
#include "base/patience.hpp"
#include "base/result.hpp"
#include "base/socket_options.hpp"
#include "codec/conflation.hpp"
#include "codec/decoder.hpp"
#include "codec/encoder.hpp"
#include "codec/inbound.hpp"
#include "codec/outbound.hpp"
#include "codec/raw_encoder.hpp"
#include "codec/websocket_scanner.hpp"
#include "pipe/close_request.hpp"
#include "pipe/peer_info.hpp"
#include "pipe/pipe.hpp"
#include "runtime/backoff.hpp"
#include "runtime/io_thread.hpp"
#include "runtime/one_shot.hpp"
#include "security/handshake.hpp"
#include "security/zap_client.hpp"
#include "session/heartbeat.hpp"
#include "session/web_handshake.hpp"
#include "transport/dialer.hpp"
#include "transport/guests.hpp"
#include "transport/stream.hpp"
#include "transport/tls_context.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zlink::codec {
class zws_decoder;
}

namespace zlink::session {

/// Where a session stands. It is in exactly one state and leaves it only through advance().
///
///   connecting ──▶ [opening] ──▶ [upgrade] ──▶ [handshake] ──▶ traffic ──▶ closed
///        ▲             │            │              │             │           ▲
///        └─────────────┴────────────┴──────────────┴─────────────┘ lost      │   from every state
///        └───────────────────────────────────────────────────────────────────┘
enum class session_state : std::uint8_t {
    connecting, ///< There is no connection; the dialer works or waits.
    opening,    ///< The stream reads what a proxy says, or agrees on keys; nothing of ours passes.
    handshake,  ///< Greetings and mechanism; no message may pass.
    upgrade,    ///< HTTP turns into WebSocket; no message may pass.
    traffic,    ///< Messages pass both ways.
    closed,     ///< Nothing is pending; only late events still hold the session.
};

/// A session whose socket has let go, but that still has something to send for it.
struct lingering {
    socket_type type;
    std::string endpoint; ///< Where the peer is.
    pipe::pipe_ptr whole; ///< The session's is the second end.
    pipe::deadline until; ///< Nothing: without limit.
};

/// Why a connection of a STREAM ends.
struct farewell {
    std::uint16_t code; ///< As in a WebSocket close frame.
    std::string reason;
    bool is_asked_for = false;      ///< By our application: who dialled does not come again.
    bool is_mutual = false;         ///< The peer has said so, too, or is not asked any more.
    bool is_answered = false;       ///< The peer has said so, too, and sends nothing any more.
    bool has_ended_writing = false; ///< Nothing is written any more.
    bool is_seen_off = false;       ///< What the peer sends is discarded until it goes.
    std::size_t dropped_bytes = 0;  ///< Of a pattern's peer, behind what ended it.
    bool is_told = false;           ///< The socket knows, and has let go.
};

class session;

/// What sessions need of whoever made them; outlives them.
class session_host {
public:
    /// A session ended. @threads any
    virtual void on_session_gone() noexcept = 0;

    /// pipe::letter::arrival of the next connection. @threads any
    virtual std::uint32_t next_arrival() noexcept = 0;

    /// `who` goes on without its socket, until on_lingered().
    /// @throws std::bad_alloc
    /// @threads any
    virtual void on_lingering(const session& who, lingering what) = 0;
    virtual void on_lingered(const session& who) noexcept = 0;

    /// A pipe to the socket that is bound to inproc://zeromq.zap.01, if there is one that replies.
    /// @param home  Where the events of the end that is returned go.
    /// @return Empty if there is none.
    /// @throws std::bad_alloc
    /// @threads any
    virtual pipe::end_ptr reach_zap_handler(pipe::mailbox_ptr home) = 0;

    /// Whether a socket was bound there at any time. From then on nobody is let in unasked where
    /// someone may ask: the one that answered may only have gone for a while. @threads any
    virtual bool has_had_zap_handler() const noexcept = 0;

protected:
    ~session_host() = default;
};

/// What bound or connected a session's socket: one bind or one connect call.
struct session_origin {
    session_host* host = nullptr;
    pipe::mailbox_ptr socket;                      ///< Where new pipes are delivered.
    std::shared_ptr<const socket_options> options; ///< As they were at bind or connect.
    std::shared_ptr<connection_observer> observer; ///< Null: nobody.
    endpoint where;                                ///< As it was given.
    transport::tls_context_ptr tls;                ///< Null where nothing is encrypted.
    pipe::departures_ptr departures;               ///< Null where nobody counts.
    pipe::memory_account_ptr inflated;             ///< Likewise. Of all that a socket has.
    std::string target;   ///< Where a connect call goes to, for the observer.
    std::uint64_t id = 0; ///< Differs for each bind or connect.
};

/// One peer: a stream, ZMTP unless the peer is raw, and the session's end of a pipe. A session that
/// dials outlives its connections: the pipe stays, the message that was cut off is sent again from
/// its start, what was half received is dropped.
///
/// @threads The I/O thread that it lives on, but dial() and accept(): any.
class session final : public transport::stream_user,
                      public runtime::tenant,
                      public pipe::event_sink,
                      private codec::command_sink,
                      private codec::websocket_sink,
                      private heartbeat_user,
                      private security::zap_asker {
public:
    /// Starts a session that reaches its peer at `target`.
    /// @param end  The session's end of its pipe; none if the pipe is to be made when the peer is
    ///             reached (ZMQ_IMMEDIATE).
    static void dial(runtime::io_thread& thread, std::shared_ptr<const session_origin> origin,
                     endpoint target, pipe::end_ptr end);

    /// Starts a session that reaches its peer through `by`.
    static void dial(runtime::io_thread& thread, std::shared_ptr<const session_origin> origin,
                     transport::dialer_ptr by, pipe::end_ptr end);

    /// Starts a session over a connection that came in.
    /// @param descriptor  Taken over.
    /// @param who         Null where nobody counts.
    static void accept(runtime::io_thread& thread, std::shared_ptr<const session_origin> origin,
                       int descriptor, transport::guest_ptr who = {});
    static void accept(runtime::io_thread& thread, std::shared_ptr<const session_origin> origin,
                       transport::stream_ptr connected);

    session(runtime::io_thread& thread, std::shared_ptr<const session_origin> origin,
            pipe::end_ptr end);
    ~session() override;

    void on_readable() noexcept override;
    void on_writable() noexcept override;
    void fetch_ahead(int step) const noexcept override;
    bool has_news() noexcept override;
    processor_number take_application_processor() noexcept override;
    sleep_mark on_turn_over() noexcept override;
    void on_settled() noexcept override;
    bool on_sweep() noexcept override;
    bool on_handed_over(std::uint64_t mark) noexcept override;
    void on_origin_gone(bool is_drained) noexcept override;
    void on_events(std::uint32_t happened) noexcept override;

private:
    verdict on_command(std::span<const std::byte> body) noexcept override;
    void send_ping(wire::zmtp::heartbeat_ttl ttl) noexcept override;
    bool is_listening() const noexcept override;
    void on_silence() noexcept override;
    void on_zap_reply(std::variant<wire::zap_reply, wire::zap_fault> reply) noexcept override;
    void on_zap_handler_gone() noexcept override;
    void on_websocket_ping(std::span<const std::byte> payload) override;
    void on_websocket_close(const wire::websocket::close_view& said) override;

    template<class Action>
    void guarded(Action&& action) noexcept;

    // Its life and its end: session.cpp.
    enum class warmth : std::uint8_t;
    void become_resident();
    void advance(session_state next) noexcept;
    void keep_warm(warmth& direction);
    void hand_over();
    void tell_written() noexcept;
    void on_dismissed();
    void on_socket_closed();
    std::string peer_endpoint() const;
    void leave_at_once();
    void tell_lingering() noexcept;
    void finish_once_drained();
    void finish_if_drained();
    void lost(errc reason) noexcept;
    bool abandon_translation() noexcept;
    void resend_or_drop(bool is_cut_off) noexcept;
    void tell_failed_handshake(errc reason) const noexcept;
    void tell(connection_event what, std::int32_t value,
              std::string_view remark = {}) const noexcept;
    void tell_expiry() const noexcept;
    void finish() noexcept;
    void settle_accounts() noexcept;
    void start_timer(runtime::one_shot& timer, std::chrono::milliseconds after,
                     void (session::*expired)() noexcept);
    void on_linger_over() noexcept;

    // From connecting to the first message: session_handshake.cpp.
    void dial_now();
    void dial_later(errc reason);
    void on_unreachable(errc reason);
    bool stops_after(int occasion) const noexcept;
    void start_stream(transport::stream_ptr connected);
    void open_stream();
    void start_handshake();
    void continue_handshake(std::span<const std::byte> octets);
    void ask_zap(wire::zap_request& request);
    void after_step(const result<void>& taken, std::span<const std::byte> rest);
    void enter_traffic(std::span<const std::byte> rest);
    bool make_pipe();
    void make_inbound();
    void make_outbound();
    void adopt_terms(security::handshake& agreed);
    void adopt_raw_peer();
    void announce_peer(std::unique_ptr<pipe::peer_info> peer);
    std::span<const std::byte> first_frame(const security::handshake* agreed) const noexcept;
    void take_leave_of_socket(errc reason) noexcept;
    void read_handshake();
    void wait_or_lose(const transport::io_outcome& outcome);
    void on_next_attempt() noexcept;
    bool has_untold_departures() const noexcept;
    void on_connect_timeout() noexcept;
    void on_handshake_deadline() noexcept;

    // Messages in both directions: session_traffic.cpp.
    void start_heartbeat();
    void on_ping(const wire::zmtp::ping_view& ping);
    void send_command(std::span<const std::byte> body);
    bool misses_turn() noexcept;
    std::size_t turn_bytes_max() const noexcept;
    std::size_t take_control_cost() noexcept;
    void end_turn();
    void wait_behind_others();
    void count_written(std::size_t bytes);
    void read_messages();
    result<void> scan_inbound();
    void deliver_inbound();
    void wake_reader() noexcept;
    void write_soon() noexcept;
    void write_some();
    void await_room();
    bool is_inside_frame() noexcept;
    bool write_prefix();
    void drop_prefix() noexcept;
    bool write_rope();
    std::size_t unit_bytes() const noexcept;
    bool write_translated();
    bool write_after_rope();
    void on_write_failed(int error);
    bool skip_stale_subscriptions();
    bool rouse_outbound() noexcept;
    void wake_outbound() noexcept;
    void open_shortcut() noexcept;
    void close_shortcut() noexcept;
    bool abandon_shortcut() noexcept;
    pipe::direct_writer* shortcut() const noexcept {
        return end_ ? end_->whole().shortcut.get() : nullptr;
    }
    void tire_outbound();
    void tire_inbound();
    void resume_inbound();
    void wake_writer() noexcept;
    void stop_heartbeat() noexcept;

    // Peers of a STREAM, and WebSocket: session_stream.cpp.
    void on_ping_due();
    bool may_send_control() const noexcept;
    void adopt_stream_peer();
    void take_leave_of_stream(errc reason) noexcept;
    void part(const pipe::close_request& asked);
    void begin_parting(farewell said);
    void say_farewell(farewell said);
    void on_answered() noexcept;
    void send_close(std::uint16_t code, std::string_view reason);
    void send_control(wire::websocket::opcode kind, std::span<const std::byte> payload);
    bool is_done_writing();
    void on_done_writing();
    bool is_parted() const noexcept;
    void go_away();
    void see_off();
    bool discard_arrived();
    void await_end();
    void break_off(errc reason);
    void on_parting_deadline() noexcept;
    void on_peer_ended();
    void watch_progress();
    void on_progress_due() noexcept;
    const pipe::close_request* last_word() const noexcept;
    void await_parting();
    void on_closing_late() noexcept;
    void cut_off();
    void start_upgrade();
    void continue_upgrade(std::span<const std::byte> octets);

    // ZMTP over WebSocket: session_zws.cpp.
    void start_zws(std::span<const std::byte> rest);
    void continue_zws(std::span<const std::byte> octets);
    result<void> take_zws_frames(std::span<const std::byte>& octets);
    void refuse_zws(errc reason);
    using handshake_step = std::function<result<void>(std::vector<std::byte>& out)>;
    result<void> step_handshake(const handshake_step& step);
    codec::zws_decoder& zws() noexcept;
    void describe_upgrade(pipe::peer_info& peer);

    bool speaks_subscriptions() const noexcept {
        return options().type == socket_type::sub || options().type == socket_type::xsub;
    }
    bool takes_subscriptions() const noexcept {
        return options().type == socket_type::pub || options().type == socket_type::xpub;
    }
    /// Whether the peer is one of a STREAM.
    bool is_framed() const noexcept { return options().type == socket_type::stream; }
    bool speaks_websocket() const noexcept { return is_web(origin_->where.via); }
    bool speaks_zws() const noexcept { return speaks_websocket() && !is_framed(); }
    pipe::layout frames() const noexcept;
    std::optional<wire::websocket::deflate_direction> own_deflation() const noexcept;
    std::optional<codec::peer_deflation> peers_deflation() const noexcept;
    /// Whether what is not sent over this connection is for the next one.
    bool keeps_unsent() const noexcept { return dialing_ && !is_framed(); }
    /// Whether the socket has been told that the connection ends, which has not ended yet.
    bool has_told_socket() const noexcept { return farewell_ && farewell_->is_told; }
    /// Whether the connection ends as soon as all is written.
    bool is_leaving() const noexcept {
        return phase_ == phase::dismissed || phase_ == phase::ended || phase_ == phase::closing;
    }
    bool has_unsent() const noexcept;
    const socket_options& options() const noexcept { return *origin_->options; }

    runtime::io_thread& thread_;
    std::shared_ptr<const session_origin> origin_;
    pipe::end_ptr end_;
    std::unique_ptr<codec::conflation>
        conflation_; ///< Between inbound_ and end_, if the socket wants it.
    std::optional<codec::inbound> inbound_;
    std::optional<codec::outbound> outbound_;
    transport::stream_ptr stream_;
    std::unique_ptr<security::handshake> handshake_;
    std::unique_ptr<web_handshake> upgrade_;    ///< From its beginning until traffic.
    std::unique_ptr<security::zap_client> zap_; ///< While the handshake waits for its answer.
    boost::intrusive_ptr<heartbeat> heartbeat_; ///< In traffic, if we or the peer want one.
    /// What it takes to connect, again and again.
    struct dialing {
        transport::dialer_ptr dialer;
        runtime::backoff pauses;
        pipe::peer_info_ptr announced;           ///< Whom end_ was told of last.
        std::uint64_t announced_position = 0;    ///< Up to where that fills the queue.
        std::optional<std::uint64_t> cut_off_at; ///< Where the message is that was cut off last.
    };
    std::unique_ptr<dialing> dialing_; ///< Null if the connection came in.
    /// Handshake, connect timeout or next attempt. What follows a timer takes room that it leaves.
    [[no_unique_address]] runtime::one_shot timer_;
    std::uint32_t prefix_sent_bytes_ = 0;
    [[no_unique_address]] runtime::one_shot linger_timer_; ///< Runs once the socket is closed.
    session_state state_ = session_state::connecting;
    bool is_writable_ : 1 = true;           ///< No write has failed on this connection.
    bool awaits_subscriptions_ : 1 = false; ///< Drop what precedes the socket's restart mark.
    bool awaits_room_ : 1 = false;          ///< The system took no more when we wrote last.
    /// No other connection follows that would have its own pipe.
    bool origin_is_gone_ : 1 = false;
    bool shortcut_is_open_ = false;
    bool has_written_much_ = false; ///< Since the memory going out was passed on.

    std::vector<std::byte> prefix_;                  ///< To be written before the next frame.
    std::unique_ptr<codec::encoder> translation_;    ///< Null where the rope is written as it is.
    std::unique_ptr<codec::decoder> input_;          ///< Null where it is filled as it is read.
    std::unique_ptr<codec::raw_encoder> raw_output_; ///< Where the peer is raw.
    std::unique_ptr<farewell> farewell_;             ///< Of a STREAM, if one side said why it goes.

    enum class phase : std::uint8_t {
        open,
        dismissed, ///< Reads no more; ends when all is written, or with the connection.
        ended,     ///< The peer sends nothing any more; ends when all is written, or it takes none.
        parting,   ///< The peer is told, and no message follows; ends when it goes, or is late.
        closing,   ///< The socket has let go. Reads no more; ends when all is written.
    } phase_ = phase::open;

    /// What the sweep knows of a direction. It calls us while one of them is not cold.
    enum class warmth : std::uint8_t {
        cold, ///< Nothing has passed since its memory was given back, or asked back.
        warm, ///< Nothing has passed since the last sweep.
        hot,  ///< Something has.
    };
    warmth out_warmth_ = warmth::cold;
    warmth in_warmth_ = warmth::cold;
    std::uint8_t missed_turns_ = 0; ///< In a row.
    std::uint8_t turns_in_a_row_ = 0;
    bool is_answered_ = false;        ///< Something was written since its last whole turn.
    bool is_write_posted_ = false;    ///< Asked for by write_soon().
    std::uint16_t control_count_ = 0; ///< Commands and pings that came and were not counted yet.

    /// Whether a direction has work. Only `asleep` is visible to the socket.
    enum class wakefulness : std::uint8_t {
        awake,
        tired,  ///< Nothing to do; will look once more at the end of the turn.
        asleep, ///< The queue is marked; a letter will come.
    };
    wakefulness out_rest_ = wakefulness::awake;
    wakefulness in_rest_ = wakefulness::awake;
    const std::uint32_t arrival_; ///< Of a pipe that is made.
};

/// Runs `action`; memory that the system refuses costs this one connection.
template<class Action>
void session::guarded(Action&& action) noexcept {
    const boost::intrusive_ptr<session> keep{this};
    try {
        action();
    } catch (const std::bad_alloc&) {
        if (state_ != session_state::connecting) {
            lost(errc::no_memory);
        } else if (dialing_) {
            patiently([this] { dial_later(errc::no_memory); });
        } else {
            finish(); // It was accepted and has no stream yet.
        }
    }
}

} // namespace zlink::session
