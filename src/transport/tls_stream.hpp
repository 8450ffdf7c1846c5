// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "transport/stream.hpp"
#include "transport/tls_context.hpp"

#include <boost/asio/io_context.hpp>

namespace zlink::transport {

/// TLS over another stream: bytes pass once try_open() has succeeded. Encrypted bytes that the
/// stream below has not taken are sent as soon as possible, without another call.
/// @return Null if there is no memory for it.
stream_ptr make_tls_stream(boost::asio::io_context& reactor, stream_ptr below,
                           tls_context_ptr rules) noexcept;

} // namespace zlink::transport
