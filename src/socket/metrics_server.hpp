// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/endpoint.hpp"
#include "base/result.hpp"
#include "base/socket_options.hpp"
#include "pipe/mailbox.hpp"
#include "runtime/io_thread.hpp"
#include "transport/listener.hpp"
#include "web/site.hpp"

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zlink::socket {

class context;

/// Serves the metrics of a context over HTTP, from its I/O threads: at an address, and at an
/// abstract Unix-domain socket that is named after the process, for its own user and root.
///
/// It is no socket of the application. terminate() waits for its connections, which shut_down()
/// ends at once.
///
/// @threads One at a time.
class metrics_server {
public:
    /// @param address  `http://HOST:PORT` or `local`.
    /// @error invalid_argument  The address is malformed; the error text says how.
    /// @error address_in_use
    /// @error                   Other errors of transport::open_listening().
    /// @throws std::bad_alloc
    static result<std::unique_ptr<metrics_server>> start(context& owner, std::string_view address);

    explicit metrics_server(context& owner) noexcept : context_(owner) {}

    /// Frees the addresses, and ends the connections. Called once.
    void stop() noexcept;

    /// With the port that was chosen.
    const std::string& address() const noexcept { return address_; }

private:
    struct listening {
        boost::intrusive_ptr<transport::listener> listener;
        runtime::io_thread* thread;
        std::uint64_t call_id;
    };

    result<std::string> listen(const endpoint& where, const socket_options& options,
                               const web::site_ptr& site);
    result<void> listen_locally(const web::site_ptr& site);

    context& context_;
    std::string address_;
    std::vector<listening> all_;
};

} // namespace zlink::socket
