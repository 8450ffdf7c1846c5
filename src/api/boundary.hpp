// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/error_text.hpp"
#include "base/no_cancellation.hpp"
#include "base/result.hpp"

#include <cerrno>
#include <new>
#include <type_traits>
#include <utility>

namespace zlink::api {

/// Fails a call for which errno says enough: empties the text of an earlier one.
/// @return -1, with errno set.
[[gnu::cold]] inline int fail(int error) noexcept {
    set_error_text({});
    errno = error;
    return -1;
}

/// Converts `outcome` to the form that C expects.
///
/// @return The value; on failure a null pointer or -1, with errno set, and with the error text of
///         this call or none.
template<class Value>
[[nodiscard]] Value to_c(const result<Value>& outcome) noexcept {
    if (outcome) {
        return *outcome;
    }
    drop_former_error_text();
    errno = static_cast<int>(outcome.error());
    if constexpr (std::is_pointer_v<Value>) {
        return nullptr;
    } else {
        return Value{-1};
    }
}

/// @return 0, or -1 with errno set.
[[nodiscard]] inline int to_c(const result<void>& outcome) noexcept {
    if (outcome) {
        return 0;
    }
    drop_former_error_text();
    errno = static_cast<int>(outcome.error());
    return -1;
}

/// Runs `body` and converts its outcome for C: its value, or -1 (for a pointer: null) and errno.
///
/// The one place where results and exceptions are converted for C. Only std::bad_alloc is caught:
/// any other exception is a bug here, and ends the process instead of unwinding into C frames.
///
/// For functions that neither call the system nor the application, and for those that every message
/// passes through. What those call in the rare case has no cancellation points, or defers them.
///
/// @param body  Takes no arguments and returns a result: of int, long or a pointer, or of void,
///              which becomes 0.
template<class Body>
[[nodiscard]] auto at_boundary(Body&& body) noexcept -> decltype(to_c(body())) {
    using outcome = decltype(body());
    begin_error_text();
    try {
        return to_c(std::forward<Body>(body)());
    } catch (const std::bad_alloc&) {
        return to_c(outcome{errc::no_memory});
    }
}

/// The same for functions that set no text, are called for each message, and so do not note that a
/// call begins.
template<class Body>
[[nodiscard]] auto at_message_boundary(Body&& body) noexcept -> decltype(to_c(body())) {
    using outcome = decltype(body());
    try {
        const outcome done = std::forward<Body>(body)();
        if (!done) [[unlikely]] {
            set_error_text({});
        }
        return to_c(done);
    } catch (const std::bad_alloc&) {
        set_error_text({});
        return to_c(outcome{errc::no_memory});
    }
}

/// As at_boundary(), for all other functions: cancellation of the thread is deferred until it
/// returns, since a cancellation point must be passed neither in a noexcept function nor with a
/// lock held, and close(2) is one.
template<class Body>
[[nodiscard]] auto at_system_boundary(Body&& body) noexcept -> decltype(to_c(body())) {
    const no_cancellation deferred;
    return at_boundary(std::forward<Body>(body));
}

} // namespace zlink::api
