// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/write_parts.hpp"
#include "pipe/message_queue.hpp"

#include <cstddef>
#include <mutex>
#include <span>
#include <sys/uio.h>
#include <utility>

namespace zlink::pipe {

/// Lets the thread that sends on a pipe write to the peer itself while the session, whose work that
/// is, sleeps. For patterns in which one message waits for another: there is no batch to gather,
/// and waking the session's thread takes longer than the write.
///
/// @threads send: the sender's. Everything else: the session's.
class inline_writer {
public:
    /// Messages may be written to `descriptor`, a non-blocking socket, whenever the session sleeps.
    void open(int descriptor) noexcept {
        const std::lock_guard lock{mutex_};
        descriptor_ = descriptor;
    }

    /// No message is written from now on. A message of which the beginning was written is the
    /// session's already.
    void close() noexcept { open(-1); }

    /// Whether take_begun() will give any. The session is to be woken then.
    bool has_begun() noexcept {
        const std::lock_guard lock{mutex_};
        return begun_bytes_ != 0;
    }

    /// Bytes that were written of the message that is next; the session writes the rest.
    std::size_t take_begun() noexcept {
        const std::lock_guard lock{mutex_};
        return std::exchange(begun_bytes_, 0);
    }

    /// Writes what `queue` holds; its reader, the session, is to be woken.
    /// @return Whether that is no longer so: everything was written.
    bool send(message_queue& queue) noexcept {
        const std::lock_guard lock{mutex_};
        if (descriptor_ < 0) {
            return false;
        }
        const auto left = queue.write_past_reader([this](std::span<const iovec> parts) {
            const ssize_t put = write_parts(descriptor_, parts);
            return put > 0 ? static_cast<std::size_t>(put) : 0; // The session finds out why not.
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
