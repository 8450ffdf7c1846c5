// SPDX-License-Identifier: MPL-2.0
#include "base/stable_storage.hpp"

#include "base/fork_gate.hpp"

#include <mutex>
#include <new>
#include <utility>

namespace zlink {

namespace {

// Neither constructed nor destroyed: handles may be checked while the process ends.
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
        if (const void* const kind = each->kind.exchange(nullptr); kind != nullptr) {
            each->foreign_kind = kind;
        }
    }
    mutex.unlock();
}

[[maybe_unused]] const bool storage_watches_forks = fork_gate::take_lock(lock, unlock, disown_all);

} // namespace

stable_header* stable_header::take(stable_header*& vacant, std::size_t object_bytes,
                                   const void* kind) {
    const std::lock_guard guard{mutex};
    stable_header* taken = vacant;
    if (taken != nullptr) {
        vacant = taken->next_vacant;
    } else {
        taken = new (::operator new(sizeof(stable_header) + object_bytes)) stable_header;
        taken->next = std::exchange(all, taken);
    }
    taken->foreign_kind = nullptr;
    taken->kind.store(kind, std::memory_order_release);
    return taken;
}

void stable_header::give(stable_header*& vacant) noexcept {
    kind.store(nullptr, std::memory_order_relaxed);
    const std::lock_guard guard{mutex};
    next_vacant = std::exchange(vacant, this);
}

void stable_header::retire() noexcept {
    // This store and the loads below, and the visitors' counting and their load of the kind, are
    // all sequentially consistent: either a visitor finds the object gone, or this thread finds the
    // visitor.
    kind.store(nullptr, std::memory_order_seq_cst);
    std::uint32_t count = 0;
    while ((count = visitor_count.load(std::memory_order_seq_cst)) != 0) {
        visitor_count.wait(count, std::memory_order_seq_cst);
    }
}

} // namespace zlink
