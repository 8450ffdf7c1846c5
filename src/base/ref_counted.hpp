// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <atomic>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstdint>

namespace zlink {

/// Gives `Derived` a reference count for boost::intrusive_ptr; the last holder deletes it.
///
/// @threads Any; the count is atomic, the guarded object is not.
template<class Derived>
class ref_counted {
public:
    ref_counted() noexcept = default;
    ref_counted(const ref_counted&) = delete;
    ref_counted& operator=(const ref_counted&) = delete;

    friend void intrusive_ptr_add_ref(const ref_counted* object) noexcept {
        object->references_.fetch_add(1, std::memory_order_relaxed);
    }

    friend void intrusive_ptr_release(const ref_counted* object) noexcept {
        if (object->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            delete static_cast<const Derived*>(object);
        }
    }

protected:
    ~ref_counted() = default;

private:
    mutable std::atomic<std::uint32_t> references_{0};
};

} // namespace zlink
