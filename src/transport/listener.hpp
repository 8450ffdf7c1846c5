// SPDX-License-Identifier: MPL-2.0
#pragma once

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

/// A descriptor that listens, and what must be removed when it stops.
struct listening {
    int descriptor = -1;
    std::string endpoint_text;     ///< With the port or path that was chosen.
    std::string unlink_path;       ///< A file to remove when listening ends; may be empty.
    std::string unlink_folder;     ///< A folder to remove after it; may be empty.
    std::uint64_t file_device = 0; ///< Which file `unlink_path` is: another listener may take the
    std::uint64_t file_number = 0; ///< path over.
};

/// Starts to listen at `where`, or with ZMQ_USE_FD where that descriptor does already.
/// @param observer          Is told of a descriptor that was opened in vain.
/// @error address_in_use    Somebody listens there.
/// @error invalid_argument  ZMQ_USE_FD does not listen. There is no such host or interface (ENODEV,
///                          as libzmq says it).
/// @error not_a_socket      ZMQ_USE_FD is no tcp or unix socket.
/// @error                   Else what the system says.
result<listening> open_listening(const endpoint& where, const socket_options& options,
                                 connection_observer& observer);

/// Takes connections from a listening descriptor. When descriptors run out it pauses and goes on
/// later. Those above ZLINK_MAX_CONNECTIONS or ZLINK_MAX_CONNECTIONS_PER_ADDRESS are closed.
///
/// @threads The I/O thread that it lives on, but the constructor and free_address(): any.
class listener final : public ref_counted<listener> {
public:
    /// Gets each connection's descriptor, which it owns from then on, unless it throws
    /// std::bad_alloc, and what counts it; null where nobody counts.
    using accept_handler = std::function<void(int descriptor, counted_connection_ptr who)>;

    /// @param observer  Is told of connections that could not be taken.
    /// @param gone      While there are too many of them, nobody is let in. Null: nobody counts.
    listener(boost::asio::io_context& reactor, listening opened,
             std::shared_ptr<const socket_options> options,
             std::shared_ptr<connection_observer> observer, pipe::departures_ptr gone);
    ~listener();

    /// Starts to take connections.
    void start(accept_handler handler) noexcept;

    /// Stops listening. No connection is handed over any more.
    void stop() noexcept;

    /// What it listens on; -1 after stop(). Before stop() from any thread.
    int descriptor() const noexcept { return opened_.descriptor; }

    /// Frees the address, so that another one can listen there at once: removes an ipc listener's
    /// file, and has the kernel close what listens. The descriptor stays, as a number, for stop()
    /// to close. Before that, once.
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
    connection_limiter_ptr limiter_; ///< Null where nobody counts.
    accept_handler handler_;
    boost::asio::posix::stream_descriptor socket_;
    boost::asio::steady_timer pause_timer_;
    std::atomic<bool> address_is_free_{false}; ///< Nobody listens any more.
};

} // namespace zlink::transport
