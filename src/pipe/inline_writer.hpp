// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/no_cancellation.hpp"
#include "base/write_parts.hpp"
#include "pipe/message_queue.hpp"

#include <cstddef>
#include <mutex>
#include <span>
#include <sys/uio.h>
#include <utility>

namespace zlink::pipe {

/// Lets the sending thread write to the peer directly, instead of the session, while the session is
/// parked. For patterns in which one message waits for another: there is no batch to gather, and
/// waking the session's thread takes longer than the write.
///
/// @threads send: the sender's. Everything else: the session's.
class inline_writer {
public:
    /// Allows writing to `descriptor`, a non-blocking socket, whenever the session is parked.
    void open(int descriptor) noexcept {
        const std::lock_guard lock{mutex_};
        descriptor_ = descriptor;
    }

    /// No message is written from now on. A message that was written in part belongs to the session
    /// already.
    void close() noexcept { open(-1); }

    /// Whether take_begun() will return any. The session is to be woken then.
    bool has_begun() noexcept {
        const std::lock_guard lock{mutex_};
        return begun_bytes_ != 0;
    }

    /// Bytes of the next message that were written; the session writes the rest.
    std::size_t take_begun() noexcept {
        const std::lock_guard lock{mutex_};
        return std::exchange(begun_bytes_, 0);
    }

    /// Writes the messages in `queue`. Called when its reader, the session, has to be woken.
    /// @return Whether the wake-up is no longer needed: everything was written.
    bool send(message_queue& queue) noexcept {
        const no_cancellation deferred;
        const std::lock_guard lock{mutex_};
        if (descriptor_ < 0) {
            return false;
        }
        const auto left = queue.write_past_reader([this](std::span<const iovec> parts) {
            const ssize_t put = write_parts(descriptor_, parts);
            return put > 0 ? static_cast<std::size_t>(put) : 0; // The session will get the error.
        });
        begun_bytes_ = left.value_or(0);
        return !left;
    }

private:
    std::mutex mutex_;
    int descriptor_ = -1;
    std::size_t begun_bytes_ = 0;
};

} // namespace zlink::pipe
