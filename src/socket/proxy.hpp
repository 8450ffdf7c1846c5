// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"

namespace zlink::socket {

class socket;

/// Forwards messages between `frontend` and `backend`, both ways, until the context is shut down.
///
/// @param capture  Gets a copy of every message; may be null.
/// @param control  Receives the commands "PAUSE", "RESUME", "TERMINATE" and "STATISTICS"; others
///                 are ignored. May be null.
/// @blocks  Until the context is shut down, or "TERMINATE" is received.
/// @return  After "TERMINATE".
/// @error terminated  The context was shut down.
/// @error interrupted A signal handler ran.
result<void> proxy(socket& frontend, socket& backend, socket* capture, socket* control);

} // namespace zlink::socket
