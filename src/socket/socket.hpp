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
#include "socket/countdown.hpp"
#include "socket/monitor.hpp"
#include "socket/pattern.hpp"
#include "socket/peer.hpp"
#include "transport/listener.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace zlink::socket {

class context;

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

/// A message endpoint: the socket of zmq_socket(3).
///
/// @threads One thread at a time, with a full fence at each change of thread.
class socket final : public peer_owner, public pipe::letter, public stable_storage<socket> {
public:
    /// @param polls_for  How long a blocked call spins before it parks.
    socket(context& owner, const socket_options& options, std::chrono::microseconds polls_for);
    ~socket();

    /// Sends one frame.
    /// @blocks  Until a peer has room, at most options().send_timeout, unless `dont_wait`.
    /// @error again, terminated, interrupted, and the errors of pattern::send().
    ZLINK_HOT result<void> send(outgoing& source, bool dont_wait) {
        if (source.bytes() >= limits::external_bytes_min && !source.is_lent()) [[unlikely]] {
            stay_close(source.bytes());
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
        if (is_undisturbed() && departed_.empty()) [[likely]] {
            const result<void> outcome = pattern_->recv(target);
            if (outcome || outcome.error() != errc::again) [[likely]] {
                receives_more_ = target.more;
                return outcome;
            }
        }
        return recv_waiting(target, dont_wait);
    }

    /// pattern::send_to(), blocking as send() does.
    ZLINK_HOT result<void> send_to(std::uint32_t routing_id, outgoing& source, bool dont_wait) {
        if (is_undisturbed()) [[likely]] {
            const result<void> outcome = pattern_->send_to(routing_id, source);
            if (outcome || outcome.error() != errc::again) [[likely]] {
                return outcome;
            }
        }
        return send_to_waiting(routing_id, source, dont_wait);
    }

    /// pattern::recv_from(), blocking as recv() does.
    ZLINK_HOT result<void> recv_from(std::uint32_t& routing_id, incoming& target, bool dont_wait) {
        if (is_undisturbed() && departed_.empty()) [[likely]] {
            const result<void> outcome = pattern_->recv_from(routing_id, target);
            if (outcome || outcome.error() != errc::again) [[likely]] {
                receives_more_ = target.more;
                return outcome;
            }
        }
        return recv_from_waiting(routing_id, target, dont_wait);
    }

    /// pattern::send_batch(), blocking as send() does if the first message cannot be sent.
    ZLINK_HOT result<std::size_t> send_batch(std::span<const stream_message> messages,
                                             bool dont_wait) {
        if (is_undisturbed()) [[likely]] {
            const result<std::size_t> outcome = pattern_->send_batch(messages);
            if (outcome || outcome.error() != errc::again) [[likely]] {
                return outcome;
            }
        }
        return send_batch_waiting(messages, dont_wait);
    }

    /// pattern::recv_batch(), blocking as recv() does if there is no message.
    ZLINK_HOT result<std::size_t> recv_batch(std::span<stream_message> messages, bool dont_wait) {
        if (is_undisturbed() && departed_.empty()) [[likely]] {
            const result<std::size_t> outcome = pattern_->recv_batch(messages);
            if (outcome || outcome.error() != errc::again) [[likely]] {
                return outcome;
            }
        }
        return recv_batch_waiting(messages, dont_wait);
    }

    result<void> bind(std::string_view address);
    result<void> connect(std::string_view address);
    result<void> unbind(std::string_view address);
    result<void> disconnect(std::string_view address);

    /// Reports connection events at `address`, an inproc name, and replaces an existing monitor.
    /// @param events  Bit mask of connection_event.
    /// @error invalid_argument        The address is malformed.
    /// @error protocol_not_supported  It is not inproc.
    /// @error address_in_use          The name is taken.
    /// @error terminated
    result<void> start_monitor(std::string_view address, unsigned events);
    void stop_monitor() noexcept { monitored_->stop(); }

    /// pattern::close_peer().
    /// @error terminated
    result<void> close_peer(std::span<const std::byte> routing_id, std::uint16_t code,
                            std::string_view reason);

    /// pattern::cut_off_peer().
    /// @error terminated
    result<void> cut_off_peer(std::span<const std::byte> routing_id, std::uint16_t code,
                              std::string_view reason);

    /// pattern::send_many().
    /// @error terminated
    result<std::size_t> send_many(std::span<const std::byte> routing_ids, outgoing& source,
                                  int* outcomes);

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

    /// A descriptor that is readable when ready() may have changed. See zmq_getsockopt(3), ZMQ_FD.
    result<int> descriptor();

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
    const std::string& last_endpoint() const noexcept { return last_endpoint_; }
    /// @threads any
    std::string last_endpoint_copy() const {
        const std::lock_guard lock{last_endpoint_mutex_};
        return last_endpoint_;
    }
    /// @threads any
    socket_type type() const noexcept { return options_.type; }
    /// Whether a call has failed with `terminated`. All later calls will.
    bool is_terminated() const noexcept { return is_terminated_; }
    bool receives_more() const noexcept { return receives_more_; }
    pattern& rules() noexcept { return *pattern_; }
    socket_mailbox& mailbox() noexcept { return *mailbox_; }
    const boost::intrusive_ptr<socket_mailbox>& shared_mailbox() const noexcept { return mailbox_; }
    context& owner() noexcept { return context_; }

    void on_peer_events(peer& about, std::uint32_t happened) override;
    void on_peer_info(peer& about) override;
    void on_peer_drained(peer& about) override;
    void retain() noexcept override {}
    void release() noexcept override {}

    /// Delivers the shutdown event of the context to the mailbox. @threads any
    void tell_shut_down() noexcept;

private:
    /// One successful bind or connect call.
    struct binding {
        std::string address;  ///< The form in ZMQ_LAST_ENDPOINT.
        std::string spelling; ///< The argument of bind; empty if that had a wildcard.
        std::uint64_t origin_id;
        scheme via;
        bool listens;
        boost::intrusive_ptr<transport::listener> listener; ///< tcp and ipc, bound.
        runtime::io_thread* thread = nullptr;               ///< The thread of `listener`.
        pipe::pipe_ptr joined;                              ///< inproc, connected.
        transport::tls_context_ptr tls;                     ///< With TLS, bound.
    };

    enum class opener : std::uint8_t { us, them };
    peer& attach(pipe::pipe_end& end, opener by);
    bool is_undone(const pipe::pipe_end& end) const noexcept;
    void turn_away(pipe::pipe_end& end) const noexcept;
    std::string endpoint_of(peer& asked) const;
    peer_state state_of(peer& asked) const;
    errc on_no_room(std::uint32_t routing_id);
    result<void> check_transport(const endpoint& where) const;
    void destroy(peer& departed) noexcept;
    void destroy_departed() noexcept;
    void set_linger(pipe::pipe_end& end) const noexcept;
    void release_binding(binding& undone) noexcept;
    void let_go(peer& left) noexcept;
    bool is_connected_already(std::string_view address) const noexcept;
    bool is_spelled(const binding& each, const endpoint& where,
                    const std::vector<std::string>& resolved) const;
    std::vector<std::uint64_t> origins_meant(std::string_view address, const endpoint& where) const;
    static bool chooses_place(const endpoint& where) noexcept;
    void stop_binding(binding& undone, const countdown_ptr& told) noexcept;
    void tell_sessions(const binding& undone, const countdown_ptr& told) noexcept;
    void ask_to_go(peer& asked);
    bool has_connections() const noexcept;
    void end_connections() noexcept;
    result<std::shared_ptr<session::session_origin>> make_origin(const endpoint& where,
                                                                 endpoint_use use);
    void note_endpoint(std::string text) noexcept;
    void tell_expiry(const transport::tls_context_ptr& tls, std::string_view endpoint) noexcept;
    result<void> undo(std::string_view address, endpoint_use use);
    result<void> bind_inproc(const endpoint& where, std::string_view address);
    result<void> bind_network(const endpoint& where, std::string_view address);
    result<void> connect_network(const endpoint& where, std::string_view address);
    result<void> connect_inproc(const endpoint& where, std::string_view address);

    template<class Attempt>
    std::invoke_result_t<Attempt&> until_done(Attempt&& attempt, int timeout, bool dont_wait);
    ZLINK_COLD result<void> send_waiting(outgoing& source, bool dont_wait);
    ZLINK_COLD result<void> recv_waiting(incoming& target, bool dont_wait);
    ZLINK_COLD result<void> send_to_waiting(std::uint32_t routing_id, outgoing& source,
                                            bool dont_wait);
    ZLINK_COLD result<void> recv_from_waiting(std::uint32_t& routing_id, incoming& target,
                                              bool dont_wait);
    ZLINK_COLD result<std::size_t> send_batch_waiting(std::span<const stream_message> messages,
                                                      bool dont_wait);
    ZLINK_COLD result<std::size_t> recv_batch_waiting(std::span<stream_message> messages,
                                                      bool dont_wait);
    ZLINK_COLD void stay_close(std::size_t payload_bytes) noexcept;
    bool only_subscribes() const noexcept {
        return options_.type == socket_type::sub || options_.type == socket_type::xsub;
    }
    bool is_undisturbed() const noexcept { return !mailbox_->has_mail() && !is_terminated_; }

    bool is_terminated_ = false;
    bool receives_more_ = false;
    context& context_;
    socket_options options_;
    boost::intrusive_ptr<socket_mailbox> mailbox_;
    std::unique_ptr<pattern> pattern_;
    std::vector<std::unique_ptr<peer>> peers_;
    std::vector<peer*> departed_;
    std::uint64_t departed_dropped_count_ = 0; ///< Of closed peers.
    std::vector<binding> bindings_;            ///< By ascending origin_id.
    bool is_draining_ = false; ///< Peers of removed `bindings_` may still connect and close.
    mutable std::mutex last_endpoint_mutex_; ///< For writing, and for reading by other threads.
    std::string last_endpoint_;
    const std::shared_ptr<monitor_slot> monitored_ = std::make_shared<monitor_slot>();
    const pipe::departures_ptr departures_{new pipe::departures};
    const pipe::memory_account_ptr inflated_{new pipe::memory_account{limits::inflated_bytes_max}};
    head_start head_start_; ///< For sent messages, if there is one peer.
    countdown_ptr told_;    ///< Counts the I/O threads that know of the drain. Null before that.
};

} // namespace zlink::socket
