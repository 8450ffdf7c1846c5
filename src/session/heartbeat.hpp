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

/// The connection that a heartbeat monitors.
class heartbeat_user {
public:
    /// Sends a PING, unless too many earlier ones are still unread.
    virtual void send_ping(wire::zmtp::heartbeat_ttl ttl) noexcept = 0;

    /// Whether incoming bytes are read. If not, silence says nothing about the peer.
    virtual bool is_listening() const noexcept = 0;

    /// Nothing was received for too long. Stops the heartbeat.
    virtual void on_silence() noexcept = 0;

protected:
    ~heartbeat_user() = default;
};

/// Detects a dead peer (37/ZMTP, "Connection Heartbeating"): sends a PING every ZMQ_HEARTBEAT_IVL
/// and waits up to ZMQ_HEARTBEAT_TIMEOUT for bytes after it. Also enforces the TTL that the peer
/// announces in its PINGs. Any received bytes count as a sign of life.
///
/// @threads The I/O thread's.
class heartbeat final : public ref_counted<heartbeat> {
public:
    /// @param user  Outlives this object or stops it.
    heartbeat(boost::asio::io_context& reactor, heartbeat_user& user,
              const socket_options& options) noexcept;

    /// Starts to send PINGs, if the options ask for them.
    void start();

    /// Stops all calls to `user`.
    void stop() noexcept;

    /// Bytes were received.
    void on_heard() noexcept { ++heard_count_; }

    /// A PING was received, after on_heard(). Takes effect at on_read_over().
    /// @param ttl  Zero: no limit on the peer's silence.
    void on_ping(wire::zmtp::heartbeat_ttl ttl) noexcept {
        ttl_.longest = ttl;
        has_new_ttl_ = true;
    }

    /// The current batch is processed. A batch may hold thousands of PINGs: the timer is started
    /// for the last one only.
    /// @throws std::bad_alloc
    void on_read_over() {
        if (std::exchange(has_new_ttl_, false)) {
            watch_ttl();
        }
    }

private:
    /// A period within which bytes must be received.
    struct watch {
        runtime::one_shot timer;
        std::chrono::milliseconds longest{0};
        std::uint32_t heard_count = 0; ///< At the start of the period.
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
    watch answer_; ///< For answers to our PINGs.
    watch ttl_;    ///< For the peer's TTL.
    std::uint32_t heard_count_ = 0;
    bool has_new_ttl_ = false; ///< Since on_read_over().
};

} // namespace zlink::session
