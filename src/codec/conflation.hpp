// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/pipe.hpp"

namespace zlink::codec {

/// Receives messages for a socket that keeps only the newest (ZMQ_CONFLATE): a queue owned by the
/// session, of which only the last message is passed on.
///
/// @threads The session's.
class conflation {
public:
    /// The queue for the session's `inbound`.
    pipe::message_queue& queue() noexcept { return received_; }

    /// Empties the queue: sends the last frame of the last message to the socket.
    /// @throws std::bad_alloc
    void deliver(pipe::pipe_end& to);

    /// Frees unused memory.
    void trim() noexcept;

private:
    pipe::message_queue received_{{.messages_max = 0}};
};

} // namespace zlink::codec
