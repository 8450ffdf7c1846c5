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
#include <limits>
#include <optional>
#include <string>
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

/// Better than the conversions of either to a type of Boost.
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

/// @param describes  Whether zlink_error_text() is about this error.
[[noreturn]] inline void raise(const std::error_code& error, bool describes = false) {
    const char* const text = describes ? zlink_error_text() : "";
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

/// A number for the C interface.
/// @error EINVAL  It has no room there.
inline result<int> to_int(std::int64_t value) noexcept {
    if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) {
        return std::error_code{EINVAL, category()};
    }
    return static_cast<int>(value);
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
