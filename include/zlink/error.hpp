// SPDX-License-Identifier: MPL-2.0
//
// Errors as std::error_code, and results that are a value or an error.
#pragma once

#if __cplusplus < 202002L
#error "zlink's C++ headers need C++20: compile with -std=c++20"
#endif

#include <zlink.h>

#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace zlink {

/// Errors of zlink that errno has no number for. The others compare equal to those of std::errc,
/// such as resource_unavailable_try_again (EAGAIN) and host_unreachable.
enum class errc {
    wrong_state = EFSM,   ///< Not possible in the socket's present state.
    terminated = ETERM,   ///< The context was shut down.
    no_thread = EMTHREAD, ///< The operation needs an I/O thread.
};

namespace detail {

class error_category final : public std::error_category {
public:
    const char* name() const noexcept override { return "zlink"; }
    std::string message(int number) const override { return zlink_strerror(number); }
    std::error_condition default_error_condition(int number) const noexcept override {
        return number > ZLINK_HAUSNUMERO ? std::error_condition(number, *this)
                                         : std::error_condition(number, std::generic_category());
    }
};

} // namespace detail

/// The category of every error of zlink: numbers of errno, and those of zlink::errc.
inline const std::error_category& category() noexcept {
    static const detail::error_category only;
    return only;
}

inline std::error_code make_error_code(errc error) noexcept {
    return {static_cast<int>(error), category()};
}

/// So that programs with Boost, whose error codes convert from both, may compare them.
inline bool operator==(const std::error_code& one, errc other) noexcept {
    return one == make_error_code(other);
}

/// The error of the last call on this thread, which has failed.
inline std::error_code last_error() noexcept {
    return {errno, category()};
}

/// Whether the call would have blocked, or its timeout has passed.
inline bool is_again(const std::error_code& error) noexcept {
    return error.value() == EAGAIN && error.category() == category();
}

/// The tag of overloads that throw std::system_error instead of returning an error.
struct throws_t {
    explicit throws_t() = default;
};
inline constexpr throws_t throws{};

namespace detail {

/// @param describes  Whether zlink_error_text() is about this error, if it is that of errno.
[[noreturn]] inline void raise(const std::error_code& error, bool describes = false) {
    const char* const text = describes && errno == error.value() ? zlink_error_text() : "";
    if (text != nullptr && *text != '\0') {
        throw std::system_error(error, text);
    }
    throw std::system_error(error);
}

} // namespace detail

/// A value, or the error because of which there is none.
template<class T>
class [[nodiscard]] result {
public:
    result(T value) noexcept(std::is_nothrow_move_constructible_v<T>)
        : value_(std::in_place, std::move(value)) {}
    result(std::error_code error) noexcept : error_(error) {}

    bool has_value() const noexcept { return value_.has_value(); }
    explicit operator bool() const noexcept { return value_.has_value(); }

    /// Only if there is a value.
    T& operator*() & noexcept { return *value_; }
    const T& operator*() const& noexcept { return *value_; }
    T&& operator*() && noexcept { return std::move(*value_); }
    T* operator->() noexcept { return &*value_; }
    const T* operator->() const noexcept { return &*value_; }

    /// @throws std::system_error  There is none.
    T& value() & {
        require();
        return *value_;
    }
    const T& value() const& {
        require();
        return *value_;
    }
    T&& value() && {
        require();
        return std::move(*value_);
    }

    /// Without an error: equal to std::error_code{}.
    const std::error_code& error() const noexcept { return error_; }

private:
    void require() const {
        if (!value_) {
            detail::raise(error_);
        }
    }

    std::optional<T> value_;
    std::error_code error_;
};

/// Success, or an error.
template<>
class [[nodiscard]] result<void> {
public:
    result() noexcept = default;
    result(std::error_code error) noexcept : error_(error) {}

    bool has_value() const noexcept { return !error_; }
    explicit operator bool() const noexcept { return !error_; }

    /// @throws std::system_error  There is an error.
    void value() const {
        if (error_) {
            detail::raise(error_);
        }
    }

    const std::error_code& error() const noexcept { return error_; }

private:
    std::error_code error_;
};

namespace detail {

/// The result of a C function that returns -1 if it fails.
inline result<void> checked(int outcome) noexcept {
    return outcome < 0 ? result<void>{last_error()} : result<void>{};
}
inline result<std::size_t> counted(int outcome) noexcept {
    return outcome < 0 ? result<std::size_t>{last_error()}
                       : result<std::size_t>{static_cast<std::size_t>(outcome)};
}

/// The error of an argument that cannot be passed to the C interface as it is.
inline std::error_code unfit() noexcept {
    errno = 0; // zlink_error_text() is about another call.
    return {EINVAL, category()};
}

/// Passes a number to a C function that takes an int.
/// @error EINVAL  It has no room there.
template<class Function>
result<void> with_int(std::int64_t value, const Function& function) noexcept {
    if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) {
        return unfit();
    }
    return checked(function(static_cast<int>(value)));
}

/// Calls a C function that reads texts up to their first zero byte.
/// @error EINVAL  One of them has a zero byte, and would be cut.
template<class Function>
result<void> with_texts(std::initializer_list<std::string_view> texts,
                        const Function& function) noexcept {
    for (const std::string_view each : texts) {
        if (each.find('\0') != std::string_view::npos) {
            return unfit();
        }
    }
    return checked(function());
}

/// The value of a result, or an exception.
template<class T>
T unwrap(result<T> from, bool describes = false) {
    if (!from) [[unlikely]] {
        raise(from.error(), describes);
    }
    if constexpr (!std::is_void_v<T>) {
        return std::move(*from);
    }
}

} // namespace detail

} // namespace zlink

template<>
struct std::is_error_code_enum<zlink::errc> : std::true_type {};
