// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/pipe.hpp"

namespace zlink::codec {

/// Where messages are received for a socket that wants only the newest (ZMQ_CONFLATE): a queue of
/// the session's own, of which the last message goes on.
///
/// @threads The session's.
class conflation {
public:
    /// For the session's `inbound`.
    pipe::message_queue& queue() noexcept { return received_; }

    /// Empties the queue: sends the last frame of the last message to the socket.
    /// @throws std::bad_alloc
    void deliver(pipe::pipe_end& to);

    /// Gives memory back that holds nothing.
    void trim() noexcept;

private:
    pipe::message_queue received_{{.messages_max = 0}};
};

} // namespace zlink::codec
