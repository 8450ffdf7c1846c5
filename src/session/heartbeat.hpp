// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/ref_counted.hpp"
#include "base/socket_options.hpp"
#include "runtime/one_shot.hpp"
#include "wire/zmtp/command.hpp"

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <utility>

namespace zlink::session {

/// The connection that a heartbeat watches over.
class heartbeat_user {
public:
    /// Sends a PING, or nothing while the peer leaves others unread.
    virtual void send_ping(wire::zmtp::heartbeat_ttl ttl) noexcept = 0;

    /// Whether bytes that come are read. If not, silence says nothing about the peer.
    virtual bool is_listening() const noexcept = 0;

    /// Nothing was heard for too long. Stops the heartbeat.
    virtual void on_silence() noexcept = 0;

protected:
    ~heartbeat_user() = default;
};

/// Watches a connection for silence (37/ZMTP, "Connection Heartbeating"): sends a PING every
/// ZMQ_HEARTBEAT_IVL and waits ZMQ_HEARTBEAT_TIMEOUT for a sign of life after it, and takes a peer
/// by its word that announced how long it can be silent at most (the TTL of its PINGs). Any bytes
/// are a sign of life.
///
/// @threads The I/O thread's.
class heartbeat final : public ref_counted<heartbeat> {
public:
    /// @param user  Outlives this or stops it.
    heartbeat(boost::asio::io_context& reactor, heartbeat_user& user,
              const socket_options& options) noexcept;

    /// Begins to send PINGs, if the options say so.
    void start();

    /// Calls `user` no more.
    void stop() noexcept;

    /// Bytes have come.
    void on_heard() noexcept { ++heard_count_; }

    /// A PING has come, after on_heard(). Counts from on_read_over() on.
    /// @param ttl  Zero: the peer may be silent for as long as it likes.
    void on_ping(wire::zmtp::heartbeat_ttl ttl) noexcept {
        ttl_.longest = ttl;
        has_new_ttl_ = true;
    }

    /// All that came at once was looked at. A peer may send thousands of PINGs in that: a timer is
    /// started for the last one only.
    /// @throws std::bad_alloc
    void on_read_over() {
        if (std::exchange(has_new_ttl_, false)) {
            watch_ttl();
        }
    }

private:
    /// A time within which something must be heard.
    struct watch {
        runtime::one_shot timer;
        std::chrono::milliseconds longest{0};
        std::uint32_t heard_count = 0; ///< When it began.
        bool is_running = false;
    };

    void watch_ttl();
    void begin(watch& begun, void (heartbeat::*expired)() noexcept);
    void expire(watch& over, void (heartbeat::*expired)() noexcept) noexcept;
    void on_ping_due() noexcept;
    void on_answer_overdue() noexcept { expire(answer_, &heartbeat::on_answer_overdue); }
    void on_ttl_over() noexcept { expire(ttl_, &heartbeat::on_ttl_over); }

    boost::asio::io_context& reactor_;
    heartbeat_user* user_; ///< Null once stopped.
    const std::chrono::milliseconds interval_;
    const wire::zmtp::heartbeat_ttl announced_ttl_;
    runtime::one_shot ping_timer_;
    watch answer_; ///< To our PINGs.
    watch ttl_;    ///< Of the peer.
    std::uint32_t heard_count_ = 0;
    bool has_new_ttl_ = false; ///< Since on_read_over().
};

} // namespace zlink::session
