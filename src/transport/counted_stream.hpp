// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "transport/connection_limiter.hpp"
#include "transport/stream.hpp"

namespace zlink::transport {

/// Wraps `below` as the stream of a connection that is counted as long as it is open.
///
/// With `is_proxied`, try_open() first reads the PROXY protocol header, and the peer in it is
/// counted. It fails with EPROTO if there is no such header, EMSGSIZE if it is too long, and EDQUOT
/// if the peer's address has too many connections.
///
/// @param below  May be null.
/// @param who    Null: the connection is not counted.
/// @return `below` if the connection is not counted. Null if `below` is null, or there is no
/// memory; `below` is closed then.
stream_ptr make_counted_stream(stream_ptr below, counted_connection_ptr who,
                               bool is_proxied) noexcept;

} // namespace zlink::transport
