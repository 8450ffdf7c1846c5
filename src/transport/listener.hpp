// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/connection_counters.hpp"
#include "base/connection_event.hpp"
#include "base/endpoint.hpp"
#include "base/ref_counted.hpp"
#include "base/result.hpp"
#include "base/socket_options.hpp"
#include "pipe/peer_info.hpp"
#include "transport/connection_limiter.hpp"

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace zlink::transport {

/// A listening descriptor, and the files to remove when it stops.
struct listening {
    int descriptor = -1;
    std::string endpoint_text;     ///< With the chosen port or path.
    std::string unlink_path;       ///< A file to remove when listening ends; may be empty.
    std::string unlink_folder;     ///< A folder to remove after it; may be empty.
    std::uint64_t file_device = 0; ///< Identify the file `unlink_path`: another listener
    std::uint64_t file_number = 0; ///< may take over the path.
};

/// Starts to listen at `where`, or with ZMQ_USE_FD uses that descriptor, which listens already.
/// @param observer          Receives the closing of a descriptor that was opened in vain.
/// @error address_in_use    Another socket listens there.
/// @error invalid_argument  ZMQ_USE_FD does not listen. There is no such host or interface (ENODEV,
///                          as in libzmq).
/// @error not_a_socket      ZMQ_USE_FD is not a tcp or unix socket.
/// @error                   Other errors of the system.
result<listening> open_listening(const endpoint& where, const socket_options& options,
                                 connection_observer& observer);

/// Accepts connections from a listening descriptor. When descriptors run out it pauses and
/// continues later. Connections above ZLINK_MAX_CONNECTIONS or ZLINK_MAX_CONNECTIONS_PER_ADDRESS
/// are closed.
///
/// @threads The I/O thread that it lives on, except the constructor and free_address(): any.
class listener final : public ref_counted<listener> {
public:
    /// Receives each connection's descriptor, which it owns from then on, unless it throws
    /// std::bad_alloc, and its counted_connection; null where connections are not counted.
    using accept_handler = std::function<void(int descriptor, counted_connection_ptr who)>;

    /// @param observer  Receives connections that could not be accepted.
    /// @param gone      While it counts too many disconnects, no connection is accepted. Null: none
    ///                  are counted.
    /// @param counters  Null: connections that could not be accepted are not counted.
    listener(boost::asio::io_context& reactor, listening opened,
             std::shared_ptr<const socket_options> options,
             std::shared_ptr<connection_observer> observer, pipe::departures_ptr gone,
             std::shared_ptr<connection_counters> counters = {});
    ~listener();

    /// Starts to accept connections.
    void start(accept_handler handler) noexcept;

    /// Stops listening. No connection is handed over any more.
    void stop() noexcept;

    /// The listening descriptor; -1 after stop(). Before stop() from any thread.
    int descriptor() const noexcept { return opened_.descriptor; }

    /// Frees the address, so that another socket can listen there at once: removes an ipc
    /// listener's file, and makes the kernel close the listening socket. The descriptor stays, as a
    /// number, for stop() to close. Before stop(), once.
    /// @threads any
    void free_address() noexcept;

private:
    void watch() noexcept;
    void wait() noexcept;
    void accept_some() noexcept;
    void pause() noexcept;
    void tell_failed(int error) const noexcept;
    void remove_file() const noexcept;
    result<counted_connection_ptr> admit(int descriptor) const;

    boost::asio::io_context& reactor_;
    listening opened_;
    std::shared_ptr<const socket_options> options_;
    std::shared_ptr<connection_observer> observer_;
    pipe::departures_ptr gone_;
    std::shared_ptr<connection_counters> counters_;
    connection_limiter_ptr limiter_; ///< Null where connections are not counted.
    accept_handler handler_;
    boost::asio::posix::stream_descriptor socket_;
    boost::asio::steady_timer pause_timer_;
    std::atomic<bool> address_is_free_{false}; ///< The address is no longer in use.
};

} // namespace zlink::transport
