// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <pthread.h>

namespace zlink {

/// Has a function called when a thread ends, behind the destructors of its thread_local objects.
/// Such an object would do as well, but for this: where the system has no memory to take note of
/// its destructor, it ends the process. At exit(3) nothing is called.
///
/// A static object, never destroyed.
///
/// @threads Any.
class thread_end {
public:
    /// @param at_end  Gets what arm() was given.
    explicit thread_end(void (*at_end)(void*)) noexcept
        : is_made_(pthread_key_create(&key_, at_end) == 0) {}
    thread_end(const thread_end&) = delete;
    thread_end& operator=(const thread_end&) = delete;

    /// For the calling thread.
    /// @param argument  Not null.
    /// @return Whether the system allows it.
    bool arm(const void* argument) noexcept {
        return is_made_ && pthread_setspecific(key_, argument) == 0;
    }

private:
    pthread_key_t key_ = 0;
    bool is_made_;
};

} // namespace zlink
