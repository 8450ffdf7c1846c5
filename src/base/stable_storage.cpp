// SPDX-License-Identifier: MPL-2.0
#include "base/stable_storage.hpp"

#include <mutex>
#include <new>
#include <pthread.h>
#include <utility>

namespace zlink {

namespace {

// Neither constructed nor destroyed: handles may be looked at while the process ends.
constinit std::mutex mutex;
constinit stable_header* all = nullptr;

void lock() noexcept {
    mutex.lock();
}

void unlock() noexcept {
    mutex.unlock();
}

void disown_all() noexcept {
    for (stable_header* each = all; each != nullptr; each = each->next) {
        if (each->kind != nullptr) {
            each->foreign_kind = std::exchange(each->kind, nullptr);
        }
    }
    mutex.unlock();
}

[[maybe_unused]] const int watches_forks = pthread_atfork(lock, unlock, disown_all);

} // namespace

stable_header* stable_header::take(stable_header*& vacant, std::size_t object_bytes,
                                   const void* kind) {
    const std::lock_guard guard{mutex};
    stable_header* taken = vacant;
    if (taken != nullptr) {
        vacant = taken->next_vacant;
    } else {
        taken = static_cast<stable_header*>(::operator new(sizeof(stable_header) + object_bytes));
        taken->next = std::exchange(all, taken);
    }
    taken->kind = kind;
    taken->foreign_kind = nullptr;
    return taken;
}

void stable_header::give(stable_header*& vacant) noexcept {
    kind = nullptr;
    const std::lock_guard guard{mutex};
    next_vacant = std::exchange(vacant, this);
}

} // namespace zlink
