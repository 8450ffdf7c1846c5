// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "codec/outbound.hpp"
#include "pipe/pipe.hpp"
#include "runtime/io_thread.hpp"
#include "transport/stream.hpp"

namespace zlink::session {

/// The objects that both directions of a connection work on, for the duration of a call.
struct wiring {
    runtime::io_thread& thread;
    transport::stream& stream;
    transport::stream_user& user;    ///< Notified when the stream is ready.
    runtime::event_handler& handler; ///< Asked at the end of a turn whether it can park.
    pipe::pipe_end* end;             ///< The session's; null where there is no pipe yet.
    codec::outbound* rope;           ///< Messages in the pipe; null while no message may pass.
};

} // namespace zlink::session
