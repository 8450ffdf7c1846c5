// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/connection_counters.hpp"
#include "base/connection_event.hpp"
#include "base/endpoint.hpp"
#include "base/ref_counted.hpp"
#include "base/result.hpp"
#include "base/socket_options.hpp"
#include "transport/stream.hpp"

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>

namespace zlink::transport {

/// Connects to one peer. One attempt at a time; its user decides when to retry.
///
/// @threads The I/O thread that it lives on.
class dialer : public ref_counted<dialer> {
public:
    /// Receives a stream to the peer, or the system's error.
    using outcome_handler = std::function<void(result<stream_ptr>)>;

    virtual ~dialer() = default;

    /// Starts an attempt. The handler is called once, not from within start(), and not after
    /// stop().
    virtual void start(outcome_handler handler) = 0;

    /// Cancels the attempt that is under way.
    virtual void stop() noexcept = 0;
};

using dialer_ptr = boost::intrusive_ptr<dialer>;

/// The endpoint of the proxy that ZMQ_SOCKS_PROXY names.
/// @error invalid_argument  It is not "host:port".
result<endpoint> socks_proxy_of(const socket_options& options);

/// A dialer that resolves the name of `target`, opens a tcp or unix socket and connects it; over
/// tcp, through the SOCKS5 proxy that the options name, if any, for which socks_proxy_of()
/// succeeds. Over udp, its stream sends datagrams there.
/// @param observer  Receives attempts that take time, and those that fail. May be null.
/// @param counters  As make_datagram_stream(), for udp only.
dialer_ptr make_dialer(boost::asio::io_context& reactor, endpoint target,
                       std::shared_ptr<const socket_options> options,
                       std::shared_ptr<connection_observer> observer,
                       std::shared_ptr<connection_counters> counters = {});

} // namespace zlink::transport
