// SPDX-License-Identifier: MPL-2.0
//
// Waiting for several sockets, and forwarding between two.
#pragma once

#include <zlink/socket.hpp>

namespace zlink {

/// A socket, or a descriptor of the application, to wait for.
class poll_item {
public:
    /// @param events  ZLINK_POLLIN, ZLINK_POLLOUT, or-ed.
    poll_item(const any_socket& of, short events) noexcept
        : raw_{of.native_handle(), -1, events, 0} {}
    poll_item(zlink_fd_t descriptor, short events) noexcept
        : raw_{nullptr, descriptor, events, 0} {}

    /// After poll().
    bool can_receive() const noexcept { return (raw_.revents & ZLINK_POLLIN) != 0; }
    bool can_send() const noexcept { return (raw_.revents & ZLINK_POLLOUT) != 0; }
    bool has_failed() const noexcept { return (raw_.revents & ZLINK_POLLERR) != 0; }

private:
    zlink_pollitem_t raw_;
};
static_assert(sizeof(poll_item) == sizeof(zlink_pollitem_t));

/// Waits until one of the items is ready.
/// @param longest  no_limit: none. Zero: does not wait.
/// @return The number that is ready; 0 after `longest`.
/// @error  As zlink_poll.
inline result<std::size_t> poll(std::span<poll_item> items,
                                std::chrono::milliseconds longest = no_limit) noexcept {
    return detail::counted(zlink_poll(reinterpret_cast<zlink_pollitem_t*>(items.data()),
                                      static_cast<int>(items.size()),
                                      static_cast<long>(longest.count())));
}
inline std::size_t poll(std::span<poll_item> items, std::chrono::milliseconds longest, throws_t) {
    return detail::unwrap(poll(items, longest));
}

/// Forwards messages between two sockets, until the context is shut down: zlink_proxy.
/// @param capture  Receives a copy of each message; null: none.
/// @return Always an error.
inline result<void> proxy(any_socket& one, any_socket& other,
                          any_socket* capture = nullptr) noexcept {
    return detail::checked(zlink_proxy(one.native_handle(), other.native_handle(),
                                       capture != nullptr ? capture->native_handle() : nullptr));
}

} // namespace zlink
