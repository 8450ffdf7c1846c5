// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

namespace zlink {

/// Gives objects of `Derived` memory that is never used for anything else, with a mark before each
/// that says whether it lives. So a stale handle can be told from a good one without touching what
/// is gone (it may show another object that took its place).
///
/// The memory of the largest number of objects that ever lived at once stays with the process.
///
/// @threads Any.
template<class Derived>
class stable_storage {
public:
    /// The object that `handle` points to; null if it is none, or lives no more.
    static Derived* from_handle(void* handle) noexcept {
        if (handle == nullptr || reinterpret_cast<std::uintptr_t>(handle) % alignof(header) != 0) {
            return nullptr;
        }
        return (static_cast<const header*>(handle) - 1)->owner == &mark
                   ? static_cast<Derived*>(handle)
                   : nullptr;
    }

    static void* operator new(std::size_t bytes) {
        storage& all = instance();
        const std::lock_guard lock{all.mutex};
        header* taken = nullptr;
        if (all.vacant.empty()) {
            all.vacant.reserve(all.count + 1); // So that giving back never fails.
            taken = static_cast<header*>(::operator new(sizeof(header) + bytes));
            ++all.count;
        } else {
            taken = all.vacant.back();
            all.vacant.pop_back();
        }
        taken->owner = &mark;
        return taken + 1;
    }

    static void operator delete(void* memory) noexcept {
        header* const given = static_cast<header*>(memory) - 1;
        given->owner = nullptr;
        storage& all = instance();
        const std::lock_guard lock{all.mutex};
        all.vacant.push_back(given);
    }

protected:
    ~stable_storage() = default;

private:
    struct alignas(std::max_align_t) header {
        const void* owner; ///< &mark while an object lives behind this.
    };

    struct storage {
        std::mutex mutex;
        std::vector<header*> vacant;
        std::size_t count = 0;
    };

    // Never destroyed: handles may be looked at while the process ends.
    static storage& instance() {
        static storage& only = *new storage;
        return only;
    }

    static inline const char mark = 0; ///< Its address is what counts; differs for each Derived.
};

} // namespace zlink
