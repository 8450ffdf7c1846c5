// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/connection_counters.hpp"
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
#include "web/http_counters.hpp"
#include "web/request_observer.hpp"
#include "web/site.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zlink::session {

class client_rates;

/// A session whose socket is closed, but that still has messages to send.
struct lingering {
    socket_type type;
    std::string endpoint; ///< The peer's.
    pipe::pipe_ptr whole; ///< The session has the second end. Null: files are sent.
    pipe::deadline until; ///< Empty: no limit.
};

/// Services that sessions need from their creator; outlives them.
class session_host {
public:
    /// A session ended. @threads any
    virtual void on_session_gone() noexcept = 0;

    /// The pipe::letter::arrival of the next connection. @threads any
    virtual std::uint32_t next_arrival() noexcept = 0;

    /// Calls `task`, which must not throw, soon on a thread that may wait for a disk.
    /// @return Whether it will be called; not if too many wait.
    /// @threads any
    virtual bool run_blocking(std::function<void()> task) noexcept = 0;

    /// `who` continues without its socket, until on_lingered().
    /// @throws std::bad_alloc
    /// @threads any
    virtual void on_lingering(const session& who, lingering what) = 0;
    virtual void on_lingered(const session& who) noexcept = 0;

    /// A pipe to the socket that is bound to inproc://zeromq.zap.01, if it can reply.
    /// @param home  The mailbox for events of the returned end.
    /// @return Empty if there is none.
    /// @throws std::bad_alloc
    /// @threads any
    virtual pipe::end_ptr reach_zap_handler(pipe::mailbox_ptr home) = 0;

    /// Whether a socket was bound there at any time. From then on a peer that requires a ZAP reply
    /// is never admitted without one: the handler may only be gone temporarily. @threads any
    virtual bool has_had_zap_handler() const noexcept = 0;

protected:
    ~session_host() = default;
};

/// The call to which a session belongs: one bind or one connect call.
struct endpoint_call {
    session_host* host = nullptr;
    pipe::mailbox_ptr socket;                      ///< Receives new pipes.
    std::shared_ptr<const socket_options> options; ///< As they were at bind or connect.
    std::shared_ptr<connection_observer> observer; ///< Null: no observer.
    endpoint where;                                ///< As it was given.
    transport::tls_context_ptr tls;                ///< Null: no encryption.
    pipe::departures_ptr departures;               ///< Null: not counted.
    pipe::memory_account_ptr inflated;             ///< Likewise. One per socket.
    web::site_ptr site;                            ///< Null: no files are served.
    web::request_observer_ptr requests;            ///< Null: no observer of HTTP requests.
    std::shared_ptr<connection_counters> counters; ///< Null: connections are not counted.
    web::http_counters_ptr http; ///< Null: HTTP requests are not counted. One per socket.
    std::shared_ptr<client_rates>
        rates;            ///< Null: requests of clients behind proxies have no limit.
    std::string target;   ///< The target of a connect call, for the observer.
    std::uint64_t id = 0; ///< Differs for each bind or connect.
};

/// One peer of a socket: the session's end of a pipe, and the connection that carries its messages.
/// A session that dials outlives its connections: the pipe stays, an interrupted message is sent
/// again from its start, and a half received one is dropped.
///
/// Stores no message in either direction, and keeps no state of a closed connection.
///
/// @threads Its I/O thread, except dial() and accept(): any.
class session final : public transport::stream_user,
                      public runtime::event_handler,
                      public pipe::event_sink {
public:
    /// Starts a session that connects through `by`.
    /// @param end  The session's end of its pipe; none: the pipe is made when the peer is reached
    ///             (ZMQ_IMMEDIATE).
    static void dial(runtime::io_thread& thread, std::shared_ptr<const endpoint_call> call,
                     transport::dialer_ptr by, pipe::end_ptr end);

    /// Starts a session over an accepted connection.
    /// @param descriptor  Ownership passes to the session.
    /// @param who         Null: not counted.
    static void accept(runtime::io_thread& thread, std::shared_ptr<const endpoint_call> call,
                       int descriptor, transport::counted_connection_ptr who = {});
    static void accept(runtime::io_thread& thread, std::shared_ptr<const endpoint_call> call,
                       transport::stream_ptr connected);

    session(runtime::io_thread& thread, std::shared_ptr<const endpoint_call> call,
            pipe::end_ptr end);
    ~session() override;

    void on_readable() noexcept override;
    void on_writable() noexcept override;
    void on_end() noexcept override;
    bool has_news() noexcept override;
    processor_number take_application_processor() noexcept override;
    park_mark on_turn_over() noexcept override;
    void on_settled() noexcept override;
    bool on_sweep() noexcept override;
    bool on_handed_over(std::uint64_t mark) noexcept override;
    void on_call_undone(bool is_drained) noexcept override;
    void on_events(std::uint32_t happened) noexcept override;

    // For the connection.

    /// Runs `action`, then handles its consequences: a closed connection, or the end of this
    /// session. Every call from outside passes through here. If an allocation fails, this one
    /// connection is closed.
    template<class Action>
    void enter(Action&& action) noexcept;

    /// Calls `task`, which must not throw, on a thread that may wait for a disk, and then
    /// on_posted_write() on this one.
    /// @return  As session_host::run_blocking().
    /// @throws std::bad_alloc
    bool run_blocking(std::function<void()> task);

    /// Calls this->*task, soon.
    void post(void (session::*task)() noexcept) noexcept;
    void on_posted_write() noexcept;
    void on_peer_answered() noexcept;

    runtime::io_thread& thread() noexcept { return thread_; }
    const endpoint_call& call() const noexcept { return *call_; }
    /// Null if there is no pipe yet.
    pipe::pipe_end* end() noexcept { return end_ ? &*end_ : nullptr; }
    codec::outbound* outgoing() noexcept { return outbound_ ? &*outbound_ : nullptr; }
    bool awaits_mark() const noexcept { return outbound_ && outbound_->awaits_mark(); }
    bool is_dialing() const noexcept { return dialing_ != nullptr; }
    /// Whether messages that this connection does not send are kept for the next one.
    bool keeps_unsent() const noexcept { return dialing_ && options().type != socket_type::stream; }
    /// Whether the socket still sends and receives.
    bool is_open() const noexcept { return standing_ == standing::open; }
    /// Whether the socket has dismissed this peer: it sends and receives nothing more.
    bool is_dismissed() const noexcept { return standing_ == standing::dismissed; }
    /// Whether the socket is closed.
    bool is_socket_closed() const noexcept { return standing_ == standing::socket_closed; }
    /// Whether the bind or connect call was undone: no further connection follows.
    bool is_call_undone() const noexcept { return call_is_undone_; }

    /// Calls connection::on_deadline(), unless stopped or restarted before.
    void start_deadline(std::chrono::milliseconds after);
    void stop_deadline() noexcept { timer_.stop(); }

    /// The handshake is complete. Makes the pipe if there is none.
    /// @return Whether a socket still accepts it.
    bool on_established(const pipe_terms& terms);

    /// Announces the peer to the socket. If connections follow each other without a message, and
    /// the socket has not read the announcement, only the last one is kept.
    void announce(std::unique_ptr<pipe::peer_info> peer);

    /// @param value   As connection_event says.
    /// @param over    The connection's stream; may be null for a session that dials.
    /// @param remark  Appended to the endpoint after a space.
    void tell(connection_event what, std::int32_t value, transport::stream* over,
              std::string_view remark = {}) const noexcept;

    void note_input() { note_activity(in_activity_); }
    void note_output() { note_activity(out_activity_); }
    /// Schedules a call of on_handed_over().
    void hand_over();
    /// Notifies the socket that much was written, so that it can reuse the memory.
    void tell_written() noexcept;
    /// Returns credit for written messages: the socket counts the remaining ones as dropped.
    void return_all_credit() noexcept;

    /// Ends the session.
    void finish() noexcept;

private:
    /// Activity of a direction between sweeps, which continue until both are idle.
    enum class activity : std::uint8_t {
        idle,   ///< No activity since its memory was freed, or the socket was asked to free it.
        recent, ///< No activity since the last sweep.
        active, ///< Active since the last sweep.
    };
    /// The socket's relation to this peer.
    enum class standing : std::uint8_t {
        open,
        dismissed,     ///< Receives nothing more; ends when all is written, or with the connection.
        socket_closed, ///< The socket is closed; ends when all is written.
        over,          ///< The session has ended.
    };
    /// State for repeated attempts to connect.
    struct dialing {
        transport::dialer_ptr dialer;
        runtime::backoff pauses;
        pipe::peer_info_ptr announced;           ///< The last announcement pushed to end_.
        std::uint64_t announced_position = 0;    ///< The queue position behind that announcement.
        std::optional<std::uint64_t> cut_off_at; ///< Position of the last interrupted message.
        bool has_connected = false;              ///< A handshake has succeeded.
    };

    const socket_options& options() const noexcept { return *call_->options; }
    template<class Action>
    void try_or_give_up(Action&& action) noexcept;
    void handle_closed_connection() noexcept;
    void clean_up() noexcept;
    void count_lost() noexcept;
    void note_activity(activity& direction);

    void dial_now();
    void dial_later(errc reason);
    void on_unreachable(errc reason);
    bool stops_after(int occasion) const noexcept;
    bool has_unreported_departures() const noexcept;
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
    void reconnect_or_finish(errc reason, bool was_established, bool was_cut_off,
                             bool was_asked_for);
    void release_pipe() noexcept;
    void resend_or_drop(bool was_cut_off) noexcept;

    void on_dismissed();
    void on_socket_closed();
    void leave_at_once();
    void finish_once_drained();
    void finish_if_drained();
    void await_closing();
    void tell_lingering(std::optional<std::chrono::milliseconds> linger) noexcept;
    std::string peer_endpoint() const;
    void on_linger_over() noexcept;
    void on_closing_late() noexcept;
    const pipe::close_request* requested_close() const noexcept;
    void start_timer(runtime::one_shot& timer, std::chrono::milliseconds after,
                     void (session::*expired)() noexcept);

    runtime::io_thread& thread_;
    std::shared_ptr<const endpoint_call> call_;
    pipe::end_ptr end_;
    std::optional<codec::outbound> outbound_; ///< Send position in the pipe's queue.
    std::optional<connection> connection_;
    std::unique_ptr<dialing> dialing_; ///< Null if the connection was accepted.
    /// A connection's deadline, connect timeout or next attempt.
    [[no_unique_address]] runtime::one_shot timer_;
    const std::uint32_t arrival_;                          ///< For a pipe made later.
    [[no_unique_address]] runtime::one_shot linger_timer_; ///< Runs once the socket is closed.
    standing standing_ = standing::open;
    activity out_activity_ = activity::idle;
    activity in_activity_ = activity::idle;
    bool call_is_undone_ : 1 = false;
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
            finish(); // Accepted, and has no stream yet.
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
        handle_closed_connection();
    }
    is_entered_ = false;
    if (standing_ == standing::over && is_registered()) {
        clean_up();
    }
}

} // namespace zlink::session
