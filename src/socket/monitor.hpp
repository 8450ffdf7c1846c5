// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/connection_event.hpp"
#include "base/result.hpp"
#include "pipe/mailbox.hpp"
#include "pipe/pipe.hpp"
#include "runtime/io_thread.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace zlink::socket {

class context;

/// Reports the connection events of one socket as messages to a PAIR socket of the application,
/// which connects to the monitor's inproc name (zmq_socket_monitor(3)).
///
/// A message has two frames: event (16 bits) and value (32 bits) in native byte order, and the
/// endpoint. Events may come from any thread; one I/O thread writes them, in the order in which
/// they were reported. A slow or missing reader blocks no other thread: events before the first
/// reader connects are kept up to a limit, and events for a full pipe are dropped.
///
/// @threads report: any. Everything else: the thread that owns the socket, or the I/O thread.
class monitor final : public pipe::mailbox {
public:
    /// Binds a monitor to `name`.
    /// @param events  Bit mask of the events to report.
    /// @error address_in_use  The name is taken.
    static result<boost::intrusive_ptr<monitor>> start(context& owner, const std::string& name,
                                                       unsigned events);

    monitor(context& owner, runtime::io_thread& thread, std::string name, unsigned events);

    /// Frees the name, reports that as the last event, and closes the reader's pipe. Called once.
    void stop() noexcept;

    /// As connection_observer::on_connection_event().
    void report(connection_event what, std::int32_t value, std::string_view endpoint) noexcept;

private:
    struct occurrence {
        connection_event what;
        std::int32_t value;
        std::string endpoint;
    };

    void on_first_letter() noexcept override;
    void on_collect() noexcept override {}
    void on_letter(pipe::letter& about, std::uint32_t happened) noexcept;
    void take(occurrence&& added) noexcept;
    void tell(const occurrence& happened) noexcept;
    void tell_waiting() noexcept;
    void end() noexcept;

    context& context_;
    runtime::io_thread& thread_;
    const std::string name_;
    const unsigned events_;
    std::atomic<std::size_t> held_count_{0}; ///< Reported, but not yet in a pipe.

    // The I/O thread's.
    pipe::end_ptr reader_;            ///< None before the first reader connects.
    std::vector<occurrence> waiting_; ///< Events for the first reader, oldest first.
};

/// The observer of all connections of a socket, with or without a monitor. Outlives the socket
/// while connections of it exist.
///
/// @threads watches, on_connection_event: any. Everything else: the thread that owns the socket.
class monitor_slot final : public connection_observer {
public:
    /// Replaces the monitor.
    /// @error  As monitor::start().
    result<void> start(context& owner, const std::string& name, unsigned events);

    /// Ends the monitor, if there is one.
    void stop() noexcept;

    bool watches(connection_event what) const noexcept override {
        return (events_.load(std::memory_order_relaxed) & watched_bit(what)) != 0;
    }
    void on_connection_event(connection_event what, std::int32_t value,
                             std::string_view endpoint) noexcept override;

private:
    std::atomic<unsigned> events_{0};
    std::mutex mutex_; ///< Guards the pointer; not held while reporting.
    boost::intrusive_ptr<monitor> current_;
};

} // namespace zlink::socket
