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

/// Asks the system's resolver for the addresses of a host, on a separate thread: the resolver
/// cannot be interrupted, and takes ten seconds to find that no name server answers.
///
/// The process shares the threads, at most limits::lookup_threads_max; each name that is being
/// resolved has one, however many requests there are for it. An answer that is no longer wanted is
/// dropped, and neither the end of a reactor nor that of the process waits for it.
///
/// @threads The reactor's.
class name_lookup {
public:
    /// Receives all addresses, in the order in which to try them, with no port; at least one.
    using handler = std::function<void(const result<std::vector<socket_address>>&)>;

    /// Resolves names.
    using source = result<std::vector<socket_address>>(const std::string& host, bool ipv6);

    name_lookup() noexcept = default;
    name_lookup(const name_lookup&) = delete;
    name_lookup& operator=(const name_lookup&) = delete;
    ~name_lookup() { cancel(); }

    /// Starts a lookup. The handler is called once, not from within start(), and not after
    /// cancel().
    /// @param ipv6  Whether addresses may be of IPv6, too.
    /// @error no_memory          There is no thread for it (the system's error otherwise).
    /// @error host_unreachable   Passed to the handler: there is no such name.
    /// @throws std::bad_alloc
    result<void> start(boost::asio::io_context& reactor, const std::string& host, bool ipv6,
                       handler told);

    /// Cancels the lookup.
    void cancel() noexcept;

    /// For tests: replaces the resolver from now on; null: the system's again.
    static void replace_source(source* other) noexcept;

private:
    struct waiter;
    struct question;
    class pool;

    std::shared_ptr<waiter> waiter_;
};

} // namespace zlink::transport
