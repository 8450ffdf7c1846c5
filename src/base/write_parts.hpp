// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <span>
#include <sys/socket.h>
#include <sys/uio.h>

namespace zlink {

/// Writes as much of `parts` as fits, in order, to a socket. Never blocks, and raises no SIGPIPE.
/// @return As sendmsg(2).
inline ssize_t write_parts(int descriptor, std::span<const iovec> parts) noexcept {
    constexpr int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    if (parts.size() == 1) { // Fewer instructions for the system.
        return ::send(descriptor, parts.front().iov_base, parts.front().iov_len, flags);
    }
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts.data());
    message.msg_iovlen = parts.size();
    return ::sendmsg(descriptor, &message, flags);
}

} // namespace zlink
