// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <atomic>

namespace zlink {

/// A value that one thread writes, and others read for information: it orders no other memory, and
/// no write of it is a locked instruction.
///
/// @threads Writing: one at a time. Reading: any.
template<class T>
class relaxed {
public:
    constexpr relaxed() noexcept = default;
    constexpr relaxed(T value) noexcept : value_(value) {}
    relaxed(const relaxed&) = delete;
    relaxed& operator=(const relaxed&) = delete;

    operator T() const noexcept { return value_.load(std::memory_order_relaxed); }

    relaxed& operator=(T value) noexcept {
        value_.store(value, std::memory_order_relaxed);
        return *this;
    }
    void operator+=(T added) noexcept { *this = static_cast<T>(T{*this} + added); }
    void operator-=(T taken) noexcept { *this = static_cast<T>(T{*this} - taken); }
    void operator++() noexcept { *this += T{1}; }

private:
    std::atomic<T> value_{};
};

} // namespace zlink
