// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "codec/outbound.hpp"
#include "pipe/pipe.hpp"
#include "runtime/io_thread.hpp"
#include "transport/stream.hpp"

namespace zlink::session {

/// What the two directions of a connection work on, for the time of a call.
struct wiring {
    runtime::io_thread& thread;
    transport::stream& stream;
    transport::stream_user& user;    ///< Is told when the stream is ready.
    runtime::event_handler& handler; ///< Is asked at the end of a turn whether it can park.
    pipe::pipe_end* end;             ///< The session's; null where there is no pipe yet.
    codec::outbound* rope; ///< What waits in the pipe; null where no message may pass yet.
};

} // namespace zlink::session
