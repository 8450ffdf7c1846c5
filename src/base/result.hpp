// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cerrno>
#include <utility>
#include <variant>

namespace zlink {

/// An error, as a value. The numbers are those of errno, so that an error of the system passes
/// through unchanged and the C boundary has nothing to translate (docs/adr/0001).
enum class errc : int {
    again = EAGAIN,                           ///< Not now: the call would have blocked.
    interrupted = EINTR,                      ///< A signal handler ran while waiting.
    invalid_argument = EINVAL,                ///< The caller's argument is out of range.
    not_a_socket = ENOTSOCK,                  ///< The handle is not an open socket.
    not_supported = ENOTSUP,                  ///< This object does not support it.
    protocol_not_supported = EPROTONOSUPPORT, ///< This build has no such transport.
    no_such_endpoint = ENOENT,                ///< Nothing is bound or connected there.
    address_in_use = EADDRINUSE,              ///< Another socket already listens there.
    host_unreachable = EHOSTUNREACH,          ///< No peer has this routing id.
    connection_refused = ECONNREFUSED,        ///< No socket listens there.
    permission_denied = EACCES,               ///< The peer refused us, or ZAP refused the peer.
    bad_address = EFAULT,                     ///< A pointer is null or an object is not valid.
    busy = EBUSY,                             ///< Another thread is using it.
    no_memory = ENOMEM,                       ///< An allocation failed.
    no_descriptors = EMFILE,                  ///< A limit on sockets or descriptors is reached.
    protocol_violation = EPROTO,              ///< The peer broke its protocol.
    message_too_large = EMSGSIZE,             ///< A size is above its limit.
    incompatible_protocol = 156384764,        ///< ENOCOMPATPROTO: not for this type of socket.
    wrong_state = 156384763,                  ///< EFSM: not possible in the socket's current state.
    terminated = 156384765,                   ///< ETERM: the context was shut down.
    no_thread = 156384766,                    ///< EMTHREAD: no I/O thread for the requested work.
};

/// Whether the system has nothing left of something that may come back.
constexpr bool is_shortage(errc error) noexcept {
    const int number = static_cast<int>(error);
    return number == EMFILE || number == ENFILE || number == ENOBUFS || number == ENOMEM;
}

/// The outcome of an operation: a value, or the error that prevented it.
template<class T>
class [[nodiscard]] result {
public:
    result(T value) : outcome_(std::in_place_index<0>, std::move(value)) {}
    result(errc error) : outcome_(std::in_place_index<1>, error) {}

    explicit operator bool() const noexcept { return outcome_.index() == 0; }

    /// Only if it holds a value.
    T& operator*() { return *std::get_if<0>(&outcome_); }
    const T& operator*() const { return *std::get_if<0>(&outcome_); }
    T* operator->() { return std::get_if<0>(&outcome_); }
    const T* operator->() const { return std::get_if<0>(&outcome_); }

    /// Only if it holds an error.
    errc error() const { return *std::get_if<1>(&outcome_); }

private:
    std::variant<T, errc> outcome_;
};

/// The outcome of an operation that gives no value.
template<>
class [[nodiscard]] result<void> {
public:
    constexpr result() noexcept = default;
    constexpr result(errc error) noexcept : error_(static_cast<int>(error)) {}

    constexpr explicit operator bool() const noexcept { return error_ == 0; }

    /// Only if it holds an error.
    constexpr errc error() const noexcept { return static_cast<errc>(error_); }

private:
    int error_ = 0;
};

} // namespace zlink
