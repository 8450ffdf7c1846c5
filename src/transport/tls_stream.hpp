// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "transport/stream.hpp"
#include "transport/tls_context.hpp"

#include <boost/asio/io_context.hpp>

namespace zlink::transport {

/// TLS over another stream: bytes pass once try_open() has succeeded. What was encrypted but not
/// taken by the stream below is sent as soon as that is possible, without being asked for again.
/// @return Null if there is no memory for it.
stream_ptr make_tls_stream(boost::asio::io_context& reactor, stream_ptr below,
                           tls_context_ptr rules) noexcept;

} // namespace zlink::transport
