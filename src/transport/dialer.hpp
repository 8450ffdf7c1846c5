// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/endpoint.hpp"
#include "base/ref_counted.hpp"
#include "base/result.hpp"
#include "base/socket_options.hpp"
#include "transport/address.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>

namespace zlink::transport {

/// Goes to one peer: resolves its name, opens a socket, connects it. One attempt at a time; when to
/// try again is its user's decision.
///
/// @threads The I/O thread that it lives on.
class dialer final : public ref_counted<dialer> {
public:
    /// Gets a connected descriptor, which it owns from then on, or the system's error.
    using outcome_handler = std::function<void(result<int>)>;

    dialer(boost::asio::io_context& reactor, endpoint target,
           std::shared_ptr<const socket_options> options);

    /// Starts an attempt. The handler is called once, not from within start(), and not after
    /// stop().
    void start(outcome_handler handler);

    /// Gives up the attempt that is under way.
    void stop() noexcept;

private:
    void resolve();
    void connect(const socket_address& address);
    void finish(result<int> outcome);
    result<void> bind_source(int descriptor, int family);

    boost::asio::io_context& reactor_;
    endpoint target_;
    std::shared_ptr<const socket_options> options_;
    outcome_handler handler_;
    boost::asio::posix::stream_descriptor connecting_;
    std::unique_ptr<boost::asio::ip::tcp::resolver> resolver_;
    std::uint64_t attempt_count_ = 0;
};

} // namespace zlink::transport
