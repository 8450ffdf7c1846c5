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

/// A socket during a call. If several threads use it, its lock is held as long as this exists.
class called_socket {
public:
    /// @blocks  While another thread is in a call on the socket, and does not wait.
    explicit called_socket(void* handle) noexcept : target_(socket::socket::from_handle(handle)) {
        if (target_ == nullptr) {
            target_ = socket::socket::lock_shared(handle);
            is_locked_ = target_ != nullptr;
        }
    }
    called_socket(called_socket&& from) noexcept
        : target_(from.target_), is_locked_(std::exchange(from.is_locked_, false)) {}
    called_socket& operator=(called_socket&&) = delete;
    ~called_socket() {
        if (is_locked_) {
            target_->shared()->leave();
        }
    }

    /// Null if the handle is no open socket.
    socket::socket* get() const noexcept { return target_; }
    socket::socket& operator*() const noexcept { return *target_; }
    socket::socket* operator->() const noexcept { return target_; }
    bool is_shared() const noexcept { return is_locked_; }

    /// Closes the socket. Calls of other threads on it fail.
    /// @blocks  Until they have returned.
    void close() noexcept {
        if (!std::exchange(is_locked_, false)) {
            return target_->close();
        }
        target_->unshare();
        target_->shared()->close();
        target_->close();
        socket::socket::unlock_destroyed(target_);
    }

private:
    socket::socket* target_;
    bool is_locked_ = false;
};

/// @error not_a_socket  It is not an open socket.
/// @error terminated    It belongs to the process that this one was forked from.
inline result<called_socket> socket_from(void* handle) noexcept {
    called_socket found{handle};
    return found.get() != nullptr ? result<called_socket>{std::move(found)}
                                  : result<called_socket>{fault_of_socket(handle)};
}

/// A STREAM during a call, as called_socket.
class called_stream {
public:
    explicit called_stream(called_socket of) noexcept : of_(std::move(of)) {}

    socket::stream_socket& operator*() const noexcept { return *of_->as_stream(); }
    socket::stream_socket* operator->() const noexcept { return of_->as_stream(); }

private:
    called_socket of_;
};

/// As socket_from(), for functions of STREAM.
/// @error not_supported  It is of another type.
inline result<called_stream> stream_from(void* handle) noexcept {
    auto found = socket_from(handle);
    if (!found) {
        return found.error();
    }
    if ((*found)->as_stream() == nullptr) {
        return errc::not_supported;
    }
    return called_stream{std::move(*found)};
}

inline pipe::message& message_from(zlink_msg_t* handle) noexcept {
    return *reinterpret_cast<pipe::message*>(handle);
}

inline const pipe::message& message_from(const zlink_msg_t* handle) noexcept {
    return *reinterpret_cast<const pipe::message*>(handle);
}

} // namespace zlink::api
