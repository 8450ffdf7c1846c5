// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "transport/connection_limiter.hpp"
#include "transport/stream.hpp"

namespace zlink::transport {

/// `below`, as the stream of a connection that is counted for as long as it is open.
///
/// With `is_proxied`, try_open() reads first what a proxy says of the peer (PROXY protocol), who is
/// counted then. It fails with EPROTO where that is not said, EMSGSIZE where it is too long, and
/// EDQUOT where there are too many of the peer's address.
///
/// @param below  May be null.
/// @param who    Null: nobody counts.
/// @return `below` if nobody counts. Null if there is none, or no memory; it is closed then.
stream_ptr make_counted_stream(stream_ptr below, counted_connection_ptr who,
                               bool is_proxied) noexcept;

} // namespace zlink::transport
