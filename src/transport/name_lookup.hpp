// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "transport/address.hpp"

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace zlink::transport {

/// Asks the system's resolver for the addresses of a host, on a thread of its own: the resolver
/// cannot be interrupted, and takes ten seconds to find that no name server answers.
///
/// Threads are shared by the process, at most limits::lookup_threads_max; each name that is being
/// asked for has one, however many ask. An answer that nobody waits for any more is dropped, and
/// neither the end of a reactor nor that of the process waits for it.
///
/// @threads The reactor's.
class name_lookup {
public:
    /// Gets all addresses, in the order in which to try them, with no port; at least one.
    using handler = std::function<void(const result<std::vector<socket_address>>&)>;

    /// How names are resolved.
    using source = result<std::vector<socket_address>>(const std::string& host, bool ipv6);

    name_lookup() noexcept = default;
    name_lookup(const name_lookup&) = delete;
    name_lookup& operator=(const name_lookup&) = delete;
    ~name_lookup() { cancel(); }

    /// Starts to ask. The handler is called once, not from within start(), and not after cancel().
    /// @param ipv6  Whether addresses may be of IPv6, too.
    /// @error no_memory          There is no thread for it (the system's error otherwise).
    /// @error host_unreachable   Told to the handler: there is no such name.
    /// @throws std::bad_alloc
    result<void> start(boost::asio::io_context& reactor, const std::string& host, bool ipv6,
                       handler told);

    /// Wants the answer no more.
    void cancel() noexcept;

    /// For tests: asks another source from now on; null: the system again.
    static void replace_source(source* other) noexcept;

private:
    struct waiter;
    struct question;
    class pool;

    std::shared_ptr<waiter> waiter_;
};

} // namespace zlink::transport
