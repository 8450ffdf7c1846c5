// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"

#include <cstdint>
#include <sched.h>

namespace zlink {

/// Lets a stream flow in large batches where its threads share processors: who has moved a whole
/// batch and finds nothing more to do gives way once before it goes to sleep, so that the other
/// side can prepare the next batch instead of waking it up for one message. Where nobody waits for
/// the processor, and for single messages, that changes nothing.
///
/// @threads One at a time.
class stream_pace {
public:
    /// One more message was moved.
    void count() noexcept { ++moved_count_; }

    /// Gives way if a batch was moved since the last time.
    /// @return Whether it did, and it is worth looking again.
    bool lets_others_run() noexcept {
        if (moved_count_ < limits::stream_batch_min) {
            return false;
        }
        moved_count_ = 0;
        sched_yield();
        return true;
    }

private:
    std::uint32_t moved_count_ = 0;
};

} // namespace zlink
