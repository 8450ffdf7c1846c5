// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/message_queue.hpp"

namespace zlink::pipe {

/// Frees the memory of the messages in `queue` that its reader has not taken, because it never
/// will. They still count as untaken. The writer may be appending meanwhile, and may never learn of
/// it: so memory that is the writer's is returned to the system, as far as it has only such
/// messages.
///
/// @threads The reader's, which is not marked as parked. Its last call.
void free_untaken(message_queue& queue) noexcept;

} // namespace zlink::pipe
