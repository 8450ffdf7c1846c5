// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "runtime/io_thread.hpp"
#include "session/session.hpp"
#include "socket/countdown.hpp"
#include "transport/listener.hpp"

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstdint>
#include <memory>

/// What sockets and the server of a context's metrics have in common: a listener whose connections
/// become sessions on the context's I/O threads.
namespace zlink::socket {

class context;

/// Begins a session of `call` for an accepted connection. The context waits for it.
/// @threads Any.
/// @throws std::bad_alloc
void begin_session(context& owner, const std::shared_ptr<session::endpoint_call>& call,
                   int descriptor, transport::counted_connection_ptr who);

/// Tells the sessions of a call, on their threads, that its bind or connect call was undone.
/// @param told  Counts the I/O threads that know of a drain. Null: the connections end, too.
/// @threads Any.
void tell_all_sessions(context& owner, std::uint64_t call_id, const countdown_ptr& told);

/// Stops a listener on its thread, and tells its sessions. The context, of which it was a
/// dependant, waits for it no longer.
/// @param told  As tell_all_sessions().
/// @threads Any.
void stop_listener(context& owner, runtime::io_thread& on,
                   boost::intrusive_ptr<transport::listener> listener, std::uint64_t call_id,
                   const countdown_ptr& told);

} // namespace zlink::socket
