// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/connection_event.hpp"
#include "base/result.hpp"
#include "base/socket_type.hpp"
#include "pipe/mailbox.hpp"
#include "pipe/pipe.hpp"
#include "runtime/io_thread.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zlink::socket {

class context;

/// The form of the messages of a monitor, whose numbers have native byte order.
enum class monitor_version : std::uint8_t {
    one, ///< Two frames: event (16 bits) and value (32 bits), and the endpoint.
    two, ///< Event, the number of values, each value, in frames of 64 bits; both endpoints.
};

/// The choices of an application for its monitor.
struct monitor_rules {
    std::uint64_t events; ///< Bit mask of the events to report.
    monitor_version version = monitor_version::one;
    socket_type type = socket_type::pair; ///< Or PUB, whose readers get all events, or PUSH.
};

/// Reports the connection events of one socket as messages to sockets of the application, which
/// connect to the monitor's inproc name (zmq_socket_monitor(3)). A PAIR has one reader.
///
/// Events may come from any thread; one I/O thread writes them, in the order in which they were
/// reported. A slow or missing reader blocks no other thread: events before the first reader
/// connects are kept up to a limit, and events for a full pipe are dropped.
///
/// @threads report: any. Everything else: the thread that owns the socket, or the I/O thread.
class monitor final : public pipe::mailbox {
public:
    /// Binds a monitor to `name`.
    /// @error address_in_use  The name is taken.
    static result<boost::intrusive_ptr<monitor>> start(context& owner, const std::string& name,
                                                       const monitor_rules& rules);

    monitor(context& owner, runtime::io_thread& thread, std::string name,
            const monitor_rules& rules);

    /// Frees the name, reports that as the last event, and closes the readers' pipes. Called once.
    void stop() noexcept;

    /// @param values  One, or for connection_event::pipe_statistics two.
    void report(connection_event what, std::span<const std::uint64_t> values,
                const event_place& where) noexcept;

private:
    struct occurrence {
        connection_event what;
        std::array<std::uint64_t, 2> values{};
        std::size_t value_count = 1;
        std::string shown{}; ///< As event_place, likewise below.
        std::string local{};
        std::string peer{};
    };

    void on_first_letter() noexcept override;
    void on_collect() noexcept override {}
    void on_letter(pipe::letter& about, std::uint32_t happened) noexcept;
    void take(occurrence&& added) noexcept;
    void tell(const occurrence& happened) noexcept;
    static void push(pipe::pipe_end& to, const occurrence& happened, monitor_version form);
    void tell_waiting() noexcept;
    void end() noexcept;

    context& context_;
    runtime::io_thread& thread_;
    const std::string name_;
    const monitor_rules rules_;
    std::atomic<std::size_t> held_count_{0}; ///< Reported, but not yet in a pipe.

    // The I/O thread's.
    std::vector<pipe::end_ptr> readers_; ///< None before the first one connects.
    std::size_t next_reader_ = 0;        ///< PUSH: tells it the next event.
    std::vector<occurrence> waiting_;    ///< Events for the first reader, oldest first.
};

/// The observer of all connections of a socket, with or without a monitor. Outlives the socket
/// while connections of it exist.
///
/// @threads watches, on_connection_event: any. Everything else: the thread that owns the socket.
class monitor_slot final : public connection_observer {
public:
    /// Replaces the monitor.
    /// @error  As monitor::start().
    result<void> start(context& owner, const std::string& name, const monitor_rules& rules);

    /// Ends the monitor, if there is one.
    void stop() noexcept;

    bool watches(connection_event what) const noexcept override {
        return (events_.load(std::memory_order_relaxed) & watched_bit(what)) != 0;
    }
    bool wants_both_ends() const noexcept override {
        return wants_both_ends_.load(std::memory_order_relaxed);
    }
    void on_connection_event(connection_event what, std::int32_t value,
                             const event_place& where) noexcept override;
    /// Reports the messages in the queues of a peer.
    void on_statistics(std::uint64_t sent_count, std::uint64_t received_count,
                       const event_place& where) noexcept;

private:
    boost::intrusive_ptr<monitor> current() noexcept;

    std::atomic<std::uint64_t> events_{0};
    std::atomic<bool> wants_both_ends_{false};
    std::mutex mutex_; ///< Guards the pointer; not held while reporting.
    boost::intrusive_ptr<monitor> current_;
};

} // namespace zlink::socket
