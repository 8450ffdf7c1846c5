// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/endpoint.hpp"
#include "base/head_start.hpp"
#include "base/inline.hpp"
#include "base/result.hpp"
#include "base/socket_options.hpp"
#include "base/stable_storage.hpp"
#include "pipe/mailbox.hpp"
#include "pipe/pipe.hpp"
#include "runtime/io_thread.hpp"
#include "session/session.hpp"
#include "socket/bindings.hpp"
#include "socket/countdown.hpp"
#include "socket/driving.hpp"
#include "socket/meter.hpp"
#include "socket/monitor.hpp"
#include "socket/pattern.hpp"
#include "socket/peer.hpp"
#include "socket/sharing.hpp"
#include "web/request_observer.hpp"
#include "web/site.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zlink::socket {

class context;
class stream_socket;

/// The mailbox of a socket whose owner may be driving the I/O when an event is delivered.
class socket_mailbox final : public pipe::waiting_mailbox {
public:
    using waiting_mailbox::waiting_mailbox;

    /// Sets the reactor that the owner drives now; null: none.
    void set_driven(runtime::io_thread* driven) noexcept {
        driven_.store(driven, std::memory_order_seq_cst);
    }

private:
    void on_first_letter() noexcept override;

    std::atomic<runtime::io_thread*> driven_{nullptr};
};

/// Calls a thread that rests in the parking place of its mailbox.
class parked_driver final : public driver_call {
public:
    explicit parked_driver(socket_mailbox& its) noexcept : its_(its) {}
    void call() noexcept override { its_.nudge(); }

private:
    socket_mailbox& its_;
};

/// A message endpoint: the socket of zmq_socket(3).
///
/// @threads One thread at a time, with a full fence at each change of thread; or several, after
///          share_among_threads().
class socket final : public peer_owner, public pipe::letter, public stable_storage<socket> {
public:
    /// @param polls_for  How long a blocked call spins before it parks.
    /// @throws std::bad_alloc
    socket(context& owner, const socket_options& options, std::chrono::microseconds polls_for);
    ~socket();

    /// Several threads may use this socket from now on, each while it holds the lock
    /// (stable_storage::lock_shared, socket_use), which blocking functions release while they wait.
    /// @throws std::bad_alloc  Nothing changed.
    void share_among_threads();
    /// Null unless several threads may use it.
    sharing* shared() noexcept { return sharing_.get(); }

    /// send() and recv() for a socket that several threads use: messages stay whole.
    result<void> send_shared(outgoing& source, bool dont_wait);
    result<void> recv_shared(incoming& target, bool dont_wait);
    /// Drops the rest of the message of which a frame was received.
    void drop_rest() noexcept;

    /// Waits for mail; without the lock, if there is one.
    /// @error again         `until` has passed.
    /// @error not_a_socket  Another thread closes the socket.
    /// @error interrupted
    result<void> wait_for_mail(pipe::deadline until, awaited what);
    /// Whether no other thread is in the middle of a message.
    bool may(awaited what) const noexcept { return !sharing_ || sharing_->may(what); }

    /// Sends one frame.
    /// @blocks  Until a peer has room, at most options().send_timeout, unless `dont_wait`.
    /// @error again, terminated, interrupted, and the errors of pattern::send().
    ZLINK_HOT result<void> send(outgoing& source, bool dont_wait) {
        if (source.bytes() >= tuning::external_bytes_min && !source.is_lent()) [[unlikely]] {
            limit_lead(source.bytes());
        }
        if (is_undisturbed()) [[likely]] {
            const result<void> outcome = pattern_->send(source);
            if (outcome || outcome.error() != errc::again) [[likely]] {
                return outcome;
            }
        }
        return send_waiting(source, dont_wait);
    }

    /// pattern::send_at_once(), unless events are pending.
    ZLINK_HOT bool send_at_once(const std::byte* body, std::size_t bytes, bool more) noexcept {
        return is_undisturbed() && pattern_->send_at_once(body, bytes, more);
    }

    /// pattern::recv_at_once(), unless events are pending.
    ZLINK_HOT std::size_t recv_at_once(void* to, std::size_t capacity) noexcept {
        if (!is_undisturbed()) [[unlikely]] {
            return pipe::message_queue::nothing;
        }
        const std::size_t bytes = pattern_->recv_at_once(to, capacity);
        if (bytes < pipe::message_queue::more_follows) [[likely]] {
            receives_more_ = false;
        } else if (bytes != pipe::message_queue::nothing) {
            receives_more_ = true;
            return bytes - pipe::message_queue::more_follows;
        }
        return bytes;
    }

    /// pattern::recv_message_at_once(), unless events are pending.
    ZLINK_HOT bool recv_message_at_once(pipe::message& into) {
        if (!is_undisturbed() || !pattern_->recv_message_at_once(into)) [[unlikely]] {
            return false;
        }
        receives_more_ = into.more();
        return true;
    }

    /// Receives one frame.
    /// @blocks  Until there is one, at most options().recv_timeout, unless `dont_wait`.
    /// @error   As send().
    ZLINK_HOT result<void> recv(incoming& target, bool dont_wait) {
        if (is_ready_to_receive()) [[likely]] {
            const result<void> outcome = pattern_->recv(target);
            if (outcome || outcome.error() != errc::again) [[likely]] {
                receives_more_ = target.more;
                return outcome;
            }
        }
        return recv_waiting(target, dont_wait);
    }

    result<void> bind(std::string_view address);
    result<void> connect(std::string_view address);
    result<void> unbind(std::string_view address);
    result<void> disconnect(std::string_view address);

    /// connect() for a PEER.
    /// @return The number of the new peer.
    /// @error bad_address    The peer would not be known before it is connected (ZMQ_IMMEDIATE).
    /// @error not_supported  This is no PEER.
    result<std::uint32_t> connect_peer(std::string_view address);
    /// Ends the connection to one peer of a SERVER or PEER, and the connect call that made it.
    /// @error host_unreachable  There is no such peer.
    /// @error not_supported     This is neither.
    /// @error terminated
    result<void> disconnect_peer(std::uint32_t routing_id);

    /// Joins or leaves a group.
    /// @error not_supported  This is no DISH.
    /// @error terminated, and those of dish::join() and dish::leave().
    result<void> change_group(std::string_view group, bool join);

    /// Whether a ROUTER can send to the peer now.
    /// @error host_unreachable  There is no such peer.
    /// @error not_supported     This is no ROUTER.
    /// @error terminated
    result<bool> has_room_for(std::string_view routing_id);

    /// Reports connection events at `address`, an inproc name, and replaces an existing monitor.
    /// @param events  Bit mask of connection_event.
    /// @error invalid_argument        The address is malformed.
    /// @error protocol_not_supported  It is not inproc.
    /// @error address_in_use          The name is taken.
    /// @error terminated
    result<void> start_monitor(std::string_view address, const monitor_rules& rules);
    void stop_monitor() noexcept { monitored_->stop(); }
    /// Reports the messages in the queues of each peer to a monitor of connection_event::
    /// pipe_statistics.
    /// @error invalid_argument  There is none.
    /// @error again             There is no peer.
    result<void> report_statistics();

    /// Unbinds and disconnects everything, after sending all messages and closing each connection
    /// properly for its transport: WebSocket peers of a STREAM receive 1001. Messages from peers
    /// can still be received.
    /// @blocks  Until all connections are closed, at most until `until`.
    /// @error again        Some were still open then. They are closed now, and their messages lost.
    /// @error interrupted, terminated
    result<void> drain(pipe::deadline until);

    /// Closes all peers and endpoints, and destroys the socket. Sent messages are written within
    /// options().linger.
    void close() noexcept;

    /// Reloads the certificates, keys and authorities of all endpoints bound with TLS, from the
    /// locations in the current options. Existing connections stay; new ones use the new data.
    /// @error no_such_endpoint  No endpoint is bound with TLS.
    /// @error                   Otherwise as transport::tls_context::make(). Nothing changed.
    result<void> reload_certificates();

    /// The calls that would not block now.
    struct readiness {
        bool can_recv = false;
        bool can_send = false;
    };
    /// @error terminated
    result<readiness> ready();

    /// As the pattern's functions of these names.
    bool has_full_receiver() { return pattern_->has_full_receiver(); }
    bool has_room_for(std::span<const std::byte> first_frame) {
        return pattern_->has_room_for(first_frame);
    }
    std::optional<std::span<const std::byte>> next_message() { return pattern_->next_message(); }

    /// A descriptor that is readable when ready() may have changed. See zmq_getsockopt(3), ZMQ_FD.
    result<int> descriptor();

    /// Calls `called(hint)` when ready() may have changed, once, and again after the next ready();
    /// null: nothing is called any more.
    /// @blocks  While the former function is being called.
    void set_notified(pipe::notifier::function* called, void* hint);

    /// A pipe of this socket and its peer.
    struct peer_state {
        std::string endpoint;   ///< The peer's; empty: it connected over inproc.
        std::string routing_id; ///< Used by this socket, or announced by the peer.
        pipe::message_queue::backlog unsent;
        std::uint64_t dropped_count;
    };
    /// @error terminated
    /// @throws std::bad_alloc
    result<std::vector<peer_state>> peers();

    /// The same for one peer of a STREAM.
    /// @error host_unreachable  There is none with that routing id, or not any more.
    /// @error terminated
    /// @throws std::bad_alloc
    result<peer_state> peer_of(std::span<const std::byte> routing_id);

    /// All messages that this socket has dropped: for full, closed or unknown peers, and those
    /// replaced by newer ones.
    std::uint64_t dropped_count() const noexcept;

    /// Processes the mailbox.
    /// @error terminated
    result<void> process_mail();

    /// The high-water marks in options() changed; they apply to existing peers from now on.
    void on_high_water_marks_changed();

    socket_options& options() noexcept { return options_; }
    /// Endpoints with http and https that are bound from now on serve the files of a folder,
    /// besides those of earlier calls.
    /// @throws std::bad_alloc  Nothing changed.
    void serve(std::shared_ptr<const web::folder> files);
    /// The same for requests that the application takes part in.
    /// @throws std::bad_alloc  Nothing changed.
    void route(web::route added);
    /// The same for an observer of their requests; null: none.
    void observe(web::request_observer_ptr observer) noexcept {
        request_observer_ = std::move(observer);
    }

    const std::string& last_endpoint() const noexcept { return bindings_.last_endpoint(); }
    /// @threads any
    std::string last_endpoint_copy() const { return bindings_.last_endpoint_copy(); }
    /// @threads any
    socket_type type() const noexcept { return options_.type; }
    /// Whether a call has failed with `terminated`. All later calls will.
    bool is_terminated() const noexcept { return is_terminated_; }
    bool receives_more() const noexcept { return receives_more_ && may(awaited::receiving); }
    pattern& rules() noexcept { return *pattern_; }
    /// The functions of a STREAM; null if this is none.
    stream_socket* as_stream() noexcept { return stream_.get(); }
    socket_mailbox& mailbox() noexcept { return *mailbox_; }
    socket_meter& meter() noexcept { return *meter_; }
    const boost::intrusive_ptr<socket_mailbox>& shared_mailbox() const noexcept { return mailbox_; }
    context& owner() noexcept { return context_; }

    void on_peer_events(peer& about, std::uint32_t happened) override;
    void on_peer_info(peer& about) override;
    void on_peer_drained(peer& about) override;
    std::unique_lock<std::mutex> lock_peers() noexcept override { return meter_->lock(); }
    void retain() noexcept override {}
    void release() noexcept override {}

    // For the functions that receive or send.

    /// Whether no event has to be processed before a message is sent.
    bool is_undisturbed() const noexcept { return !mailbox_->has_mail() && !is_terminated_; }
    /// The same before a message is received.
    bool is_ready_to_receive() const noexcept { return is_undisturbed() && departed_.empty(); }
    void destroy_departed() noexcept;
    /// A frame was received.
    void note_received(bool more) noexcept {
        receives_more_ = more;
        if (sharing_) [[unlikely]] {
            sharing_->note(awaited::receiving, more);
        }
    }

    /// Delivers the shutdown event of the context to the mailbox. @threads any
    void tell_shut_down() noexcept;

private:
    enum class opener : std::uint8_t { us, them };
    peer& attach(pipe::pipe_end& end, opener by);
    bool is_undone(const pipe::pipe_end& end) const noexcept;
    void reject_pipe(pipe::pipe_end& end) const noexcept;
    std::string endpoint_of(peer& asked) const;
    peer_state state_of(peer& asked) const;
    result<void> check_transport(const endpoint& where, endpoint_use use) const;
    result<endpoint> begin_call(std::string_view address, endpoint_use use);
    void destroy(peer& departed) noexcept;
    void set_linger(pipe::pipe_end& end) const noexcept;
    void release_binding(binding& undone) noexcept;
    void detach(peer& left, bool keeps_received) noexcept;
    void drop_received(peer& left) noexcept;
    void count_dropped_with(const peer& left, bool is_partly_received) noexcept;
    void send_disconnect_message(peer& left) noexcept;
    bool is_connected_already(std::string_view address) const noexcept;
    void stop_binding(binding& undone, const countdown_ptr& told) noexcept;
    void tell_sessions(const binding& undone, const countdown_ptr& told) noexcept;
    void close_when_drained(peer& asked);
    bool has_connections() const noexcept;
    void end_connections() noexcept;
    result<std::shared_ptr<session::endpoint_call>> make_call(const endpoint& where,
                                                              endpoint_use use);
    void tell_expiry(const transport::tls_context_ptr& tls, const event_place& where) noexcept;
    result<void> undo(std::string_view address, endpoint_use use);
    result<void> bind_inproc(const endpoint& where, std::string_view address);
    result<void> bind_network(const endpoint& where, std::string_view address);
    result<void> bind_datagrams(const endpoint& where, std::string_view address);
    result<void> connect_network(const endpoint& where, std::string_view address);
    pipe::end_ptr attach_session(const session::endpoint_call& call, runtime::io_thread& thread);
    void start_session(const std::shared_ptr<session::endpoint_call>& call,
                       transport::dialer_ptr by, binding added);
    result<void> connect_inproc(const endpoint& where, std::string_view address);

    ZLINK_COLD result<void> send_waiting(outgoing& source, bool dont_wait);
    ZLINK_COLD result<void> recv_waiting(incoming& target, bool dont_wait);
    ZLINK_COLD void limit_lead(std::size_t payload_bytes) noexcept;

    bool is_terminated_ = false;
    bool receives_more_ = false;
    context& context_;
    socket_options options_;
    boost::intrusive_ptr<socket_mailbox> mailbox_;
    std::unique_ptr<pattern> pattern_;
    std::unique_ptr<stream_socket> stream_;    ///< Null if this is no STREAM.
    std::unique_ptr<sharing> sharing_;         ///< Null: one thread at a time uses it.
    std::vector<std::unique_ptr<peer>> peers_; ///< Changes only while meter_ is locked.
    std::vector<peer*> departed_;
    socket_meter_ptr meter_;
    peer* rest_from_ = nullptr; ///< It departs once the rest of its message was received.
    std::uint64_t departed_dropped_count_ = 0; ///< Of closed peers.
    bindings bindings_;
    bool is_draining_ = false; ///< Peers of removed `bindings_` may still connect and close.
    const std::shared_ptr<monitor_slot> monitored_ = std::make_shared<monitor_slot>();
    const pipe::departures_ptr departures_{new pipe::departures};
    const pipe::memory_account_ptr inflated_{new pipe::memory_account{limits::inflated_bytes_max}};
    web::site_ptr site_;                         ///< Null: no files are served.
    web::request_observer_ptr request_observer_; ///< Null: none.
    head_start head_start_;                      ///< For sent messages, if there is one peer.
    countdown_ptr drain_acks_; ///< Counts the I/O threads that know of the drain. Null before that.
};

/// Holds the lock of a socket that several threads use; of another one it does nothing.
///
/// @threads Any that has a socket_visit, or the only one that uses the socket.
class socket_use {
public:
    explicit socket_use(socket& used) noexcept : shared_(used.shared()) {
        if (shared_ != nullptr) [[unlikely]] {
            used.lock();
        }
    }
    socket_use(const socket_use&) = delete;
    socket_use& operator=(const socket_use&) = delete;
    ~socket_use() {
        if (shared_ != nullptr) [[unlikely]] {
            shared_->leave();
        }
    }

private:
    sharing* shared_;
};

} // namespace zlink::socket
