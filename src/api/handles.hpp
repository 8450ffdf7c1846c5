// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "pipe/message.hpp"
#include "socket/context.hpp"
#include "socket/socket.hpp"
#include "zlink.h"

#include <utility>

namespace zlink::api {

/// The reason why `handle` is not a usable context.
inline errc fault_of_context(void* handle) noexcept {
    return socket::context::is_foreign(handle) ? errc::terminated : errc::bad_address;
}

/// Calls visit(context&). A zlink_ctx_term of another thread waits for this call.
/// @error bad_address  `handle` is not a context.
/// @error terminated   It belongs to the process that this one was forked from.
template<class Visit>
auto at_context(void* handle, Visit&& visit) -> decltype(visit(std::declval<socket::context&>())) {
    const socket::context::visitor target{handle};
    if (target.get() == nullptr) {
        return fault_of_context(handle);
    }
    return visit(*target.get());
}

/// The reason why `handle` is not a usable socket.
inline errc fault_of_socket(void* handle) noexcept {
    return socket::socket::is_foreign(handle) ? errc::terminated : errc::not_a_socket;
}

/// @error not_a_socket  It is not an open socket.
/// @error terminated    It belongs to the process that this one was forked from.
inline result<socket::socket*> socket_from(void* handle) noexcept {
    if (socket::socket* const found = socket::socket::from_handle(handle)) {
        return found;
    }
    return fault_of_socket(handle);
}

/// The same for functions of STREAM.
/// @error not_supported  It is of another type.
inline result<socket::stream_socket*> stream_from(void* handle) noexcept {
    const auto found = socket_from(handle);
    if (!found) {
        return found.error();
    }
    if ((*found)->as_stream() == nullptr) {
        return errc::not_supported;
    }
    return (*found)->as_stream();
}

inline pipe::message& message_from(zlink_msg_t* handle) noexcept {
    return *reinterpret_cast<pipe::message*>(handle);
}

inline const pipe::message& message_from(const zlink_msg_t* handle) noexcept {
    return *reinterpret_cast<const pipe::message*>(handle);
}

} // namespace zlink::api
