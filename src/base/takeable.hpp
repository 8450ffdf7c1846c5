// SPDX-License-Identifier: MPL-2.0
#pragma once

namespace zlink {

/// An argument that a function takes over if it can; as an lvalue, it stays with the caller. Unlike
/// one that was moved from, it may be used afterwards: the function says what is left, and changes
/// nothing if it fails.
template<class T>
class takeable {
public:
    explicit takeable(T& argument) noexcept : argument_(&argument) {}

    T& operator*() const noexcept { return *argument_; }
    T* operator->() const noexcept { return argument_; }

private:
    T* argument_;
};

} // namespace zlink
