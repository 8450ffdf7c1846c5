// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <pthread.h>

namespace zlink {

/// Calls a function when a thread ends, after the destructors of its thread_local objects. Such an
/// object would not do: if the system has no memory to register its destructor, the process is
/// terminated. At exit(3) the function is not called.
///
/// A static object, never destroyed.
///
/// @threads Any.
class thread_end {
public:
    /// @param at_end  Receives the argument of arm().
    explicit thread_end(void (*at_end)(void*)) noexcept
        : is_made_(pthread_key_create(&key_, at_end) == 0) {}
    thread_end(const thread_end&) = delete;
    thread_end& operator=(const thread_end&) = delete;

    /// Registers the calling thread.
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
