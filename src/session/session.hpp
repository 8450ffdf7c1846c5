// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/connection_event.hpp"
#include "base/endpoint.hpp"
#include "base/result.hpp"
#include "base/retry.hpp"
#include "base/socket_options.hpp"
#include "codec/outbound.hpp"
#include "pipe/close_request.hpp"
#include "pipe/peer_info.hpp"
#include "pipe/pipe.hpp"
#include "runtime/backoff.hpp"
#include "runtime/io_thread.hpp"
#include "runtime/one_shot.hpp"
#include "session/connection.hpp"
#include "session/protocol.hpp"
#include "transport/connection_limiter.hpp"
#include "transport/dialer.hpp"
#include "transport/stream.hpp"
#include "transport/tls_context.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zlink::session {

/// A session whose socket has let go, but that still has something to send for it.
struct lingering {
    socket_type type;
    std::string endpoint; ///< Where the peer is.
    pipe::pipe_ptr whole; ///< The session's is the second end.
    pipe::deadline until; ///< Nothing: without limit.
};

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

/// One peer, for a socket: the session's end of a pipe, and the connection over which what is in it
/// passes. A session that dials outlives its connections: the pipe stays, the message that was cut
/// off is sent again from its start, what was half received is dropped.
///
/// Holds nothing of what is sent or received, and nothing of a connection that is gone.
///
/// @threads The I/O thread that it lives on, but dial() and accept(): any.
class session final : public transport::stream_user,
                      public runtime::event_handler,
                      public pipe::event_sink {
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
                       int descriptor, transport::counted_connection_ptr who = {});
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

    // For the connection.

    /// Runs `action`, and then sees to what it brought about: a connection that was lost, or that
    /// this session is over. Every call from outside passes here. Memory that the system refuses
    /// costs this one connection.
    template<class Action>
    void enter(Action&& action) noexcept;

    /// Calls this->*task, soon.
    void post(void (session::*task)() noexcept) noexcept;
    void on_posted_write() noexcept;
    void on_peer_answered() noexcept;

    runtime::io_thread& thread() noexcept { return thread_; }
    const session_origin& origin() const noexcept { return *origin_; }
    /// Null where there is no pipe yet.
    pipe::pipe_end* end() noexcept { return end_ ? &*end_ : nullptr; }
    codec::outbound* rope() noexcept { return outbound_ ? &*outbound_ : nullptr; }
    bool awaits_mark() const noexcept { return outbound_ && outbound_->awaits_mark(); }
    bool is_dialing() const noexcept { return dialing_ != nullptr; }
    /// Whether what is not sent over this connection is for the next one.
    bool keeps_unsent() const noexcept { return dialing_ && options().type != socket_type::stream; }
    /// Whether the socket still sends and receives.
    bool is_open() const noexcept { return standing_ == standing::open; }
    /// Whether the socket sends nothing more, and receives nothing.
    bool is_dismissed() const noexcept { return standing_ == standing::dismissed; }
    /// Whether it is closed.
    bool has_let_go() const noexcept { return standing_ == standing::let_go; }
    /// Whether what was bound or connected is not any more: no other connection follows.
    bool is_origin_gone() const noexcept { return origin_is_gone_; }

    /// Calls connection::on_deadline(), unless it is stopped or started again before.
    void start_deadline(std::chrono::milliseconds after);
    void stop_deadline() noexcept { timer_.stop(); }

    /// The handshake is over. Makes the pipe, unless there is one.
    /// @return Whether there still is a socket that takes it.
    bool on_established(const pipe_terms& terms);

    /// Tells the socket who the peer is. Of connections that it has not heard of and that brought
    /// no message it learns the last only.
    void announce(std::unique_ptr<pipe::peer_info> peer);

    /// @param value   As connection_event says.
    /// @param over    The connection's stream; may be null where we dial.
    /// @param remark  Goes behind the endpoint, and a space.
    void tell(connection_event what, std::int32_t value, transport::stream* over,
              std::string_view remark = {}) const noexcept;

    void note_input() { note_activity(in_activity_); }
    void note_output() { note_activity(out_activity_); }
    /// Has on_handed_over() called after a while.
    void hand_over();
    /// Tells the socket that much was written, whose memory it may pass on.
    void tell_written() noexcept;
    /// What is left of the queue then is what the socket counts as dropped.
    void settle_accounts() noexcept;

    /// It is over.
    void finish() noexcept;

private:
    /// What the sweep knows of a direction. It calls us while one of them is not idle.
    enum class activity : std::uint8_t {
        idle,   ///< Nothing has passed since its memory was given back, or asked back.
        recent, ///< Nothing has passed since the last sweep.
        active, ///< Something has.
    };
    /// How the socket stands to this peer.
    enum class standing : std::uint8_t {
        open,
        dismissed, ///< Receives nothing more; ends when all is written, or with the connection.
        let_go,    ///< The socket is closed; ends when all is written.
        over,      ///< The session has ended.
    };
    /// What it takes to connect, again and again.
    struct dialing {
        transport::dialer_ptr dialer;
        runtime::backoff pauses;
        pipe::peer_info_ptr announced;           ///< Whom end_ was told of last.
        std::uint64_t announced_position = 0;    ///< Up to where that fills the queue.
        std::optional<std::uint64_t> cut_off_at; ///< Where the message is that was cut off last.
    };

    const socket_options& options() const noexcept { return *origin_->options; }
    template<class Action>
    void try_or_give_up(Action&& action) noexcept;
    void see_to_connection() noexcept;
    void clean_up() noexcept;
    void note_activity(activity& direction);

    void dial_now();
    void dial_later(errc reason);
    void on_unreachable(errc reason);
    bool stops_after(int occasion) const noexcept;
    bool has_untold_departures() const noexcept;
    void on_next_attempt() noexcept;
    void on_connect_timeout() noexcept;
    void on_deadline() noexcept;
    void start_connection(transport::stream_ptr connected);
    void tell_expiry() const noexcept;

    connection* live() noexcept {
        return connection_ && !connection_->is_closed() ? &*connection_ : nullptr;
    }
    void register_with_thread();
    void make_outbound(pipe::layout frames);
    void go_on_without(errc reason, bool was_established, bool was_cut_off, bool was_asked_for);
    void part_with_pipe() noexcept;
    void resend_or_drop(bool was_cut_off) noexcept;

    void on_dismissed();
    void on_socket_closed();
    void leave_at_once();
    void finish_once_drained();
    void finish_if_drained();
    void await_closing();
    void tell_lingering() noexcept;
    std::string peer_endpoint() const;
    void on_linger_over() noexcept;
    void on_closing_late() noexcept;
    const pipe::close_request* last_word() const noexcept;
    void start_timer(runtime::one_shot& timer, std::chrono::milliseconds after,
                     void (session::*expired)() noexcept);

    runtime::io_thread& thread_;
    std::shared_ptr<const session_origin> origin_;
    pipe::end_ptr end_;
    std::optional<codec::outbound> outbound_; ///< How far what is in the pipe was sent.
    std::optional<connection> connection_;
    std::unique_ptr<dialing> dialing_; ///< Null if the connection came in.
    /// A connection's deadline, connect timeout or next attempt.
    [[no_unique_address]] runtime::one_shot timer_;
    const std::uint32_t arrival_;                          ///< Of a pipe that is made.
    [[no_unique_address]] runtime::one_shot linger_timer_; ///< Runs once the socket is closed.
    standing standing_ = standing::open;
    activity out_activity_ = activity::idle;
    activity in_activity_ = activity::idle;
    bool origin_is_gone_ : 1 = false;
    bool is_entered_ : 1 = false;
};

template<class Action>
void session::try_or_give_up(Action&& action) noexcept {
    try {
        action();
    } catch (const std::bad_alloc&) {
        if (connection_) {
            connection_->lose(errc::no_memory);
        } else if (dialing_) {
            retry_allocation([this] { dial_later(errc::no_memory); });
        } else {
            finish(); // It was accepted and has no stream yet.
        }
    }
}

template<class Action>
void session::enter(Action&& action) noexcept {
    if (is_entered_) {
        return try_or_give_up(action);
    }
    const boost::intrusive_ptr<session> keep{this};
    is_entered_ = true;
    try_or_give_up(action);
    while (connection_ && connection_->is_closed()) {
        see_to_connection();
    }
    is_entered_ = false;
    if (standing_ == standing::over && is_registered()) {
        clean_up();
    }
}

} // namespace zlink::session
