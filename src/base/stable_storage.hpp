// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/call_lock.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace zlink {

/// The header of each object of stable_storage. Its memory lasts as long as the process.
struct alignas(std::max_align_t) stable_header {
    /// Of the object behind this header; null: none of this process.
    std::atomic<const void*> kind{nullptr};
    /// Of the object of the process that this one was forked from.
    const void* foreign_kind = nullptr;
    stable_header* next_vacant = nullptr;
    stable_header* next = nullptr; ///< In the list of all headers.
    std::atomic<std::uint32_t> visitor_count{0};
    call_lock lock; ///< Of an object that several threads use.

    /// @param vacant  Memory of objects of that size that are gone.
    /// @throws std::bad_alloc
    static stable_header* take(stable_header*& vacant, std::size_t object_bytes, const void* kind);
    void give(stable_header*& vacant) noexcept;

    /// Admits no further visitor, and waits until the present ones have left.
    void retire() noexcept;
};

/// Gives objects of `Derived` memory that is never used for anything else, with a header before
/// each that says whether the object lives. So a stale handle can be told from a valid one without
/// access to a destroyed object (the handle may refer to another object that has replaced it).
///
/// In a child process that fork(2) made, no object of the parent lives: its threads are not there.
/// Such an object is known as foreign.
///
/// The memory of the largest number of objects that ever lived at once stays with the process.
///
/// @threads Any.
template<class Derived>
class stable_storage {
public:
    /// The object that `handle` points to; null if it points to none, or to one that no longer
    /// lives.
    static Derived* from_handle(void* handle) noexcept {
        if (!may_be_handle(handle) ||
            header_of(handle)->kind.load(std::memory_order_relaxed) != &mark) {
            return nullptr;
        }
        return static_cast<Derived*>(handle);
    }

    /// From now on several threads may use the object at the same time, each while it holds the
    /// object's lock: only lock_shared() finds it.
    void share() noexcept { own_header().kind.store(&shared_mark, std::memory_order_release); }

    /// The shared object that `handle` points to, with its lock held until unlock(); null as in
    /// from_handle().
    /// @blocks  While another thread holds the lock.
    ZLINK_HOT static Derived* lock_shared(void* handle) noexcept {
        if (!may_be_handle(handle)) {
            return nullptr;
        }
        stable_header& header = *header_of(handle);
        if (header.kind.load(std::memory_order_acquire) != &shared_mark) {
            return nullptr;
        }
        header.lock.lock();
        if (header.kind.load(std::memory_order_relaxed) == &shared_mark) [[likely]] {
            return static_cast<Derived*>(handle);
        }
        header.lock.unlock();
        return nullptr;
    }
    void lock() noexcept { own_header().lock.lock(); }
    void unlock() noexcept { own_header().lock.unlock(); }

    /// Makes the handle of a shared object stale, whose lock the caller holds.
    void unshare() noexcept { own_header().kind.store(nullptr, std::memory_order_release); }
    /// unlock() for an object that was destroyed meanwhile.
    static void unlock_destroyed(void* handle) noexcept { header_of(handle)->lock.unlock(); }

    /// Keeps the object that a handle points to from being destroyed, in retire(), by another
    /// thread.
    class visitor {
    public:
        explicit visitor(void* handle) noexcept
            : header_(from_handle(handle) != nullptr ? header_of(handle) : nullptr) {
            if (header_ != nullptr) {
                header_->visitor_count.fetch_add(1, std::memory_order_seq_cst);
                if (header_->kind.load(std::memory_order_seq_cst) == &mark) {
                    visited_ = static_cast<Derived*>(handle);
                }
            }
        }
        visitor(const visitor&) = delete;
        visitor& operator=(const visitor&) = delete;
        ~visitor() {
            if (header_ != nullptr &&
                header_->visitor_count.fetch_sub(1, std::memory_order_seq_cst) == 1) {
                header_->visitor_count.notify_all();
            }
        }

        /// As from_handle().
        Derived* get() const noexcept { return visited_; }

    private:
        stable_header* header_;
        Derived* visited_ = nullptr;
    };

    /// Makes the object's handle stale, once no visitor holds it.
    /// @blocks  Until the visitors have left.
    void retire() noexcept { own_header().retire(); }

    /// Whether `handle` points to an object of the process that this one was forked from.
    static bool is_foreign(void* handle) noexcept {
        return may_be_handle(handle) && (header_of(handle)->foreign_kind == &mark ||
                                         header_of(handle)->foreign_kind == &shared_mark);
    }

    /// Makes the handle of a foreign object stale. The object stays as the parent left it.
    static void forget_foreign(void* handle) noexcept { header_of(handle)->foreign_kind = nullptr; }

    static void* operator new(std::size_t bytes) {
        return stable_header::take(vacant, bytes, &mark) + 1;
    }

    static void operator delete(void* memory) noexcept { header_of(memory)->give(vacant); }

protected:
    ~stable_storage() = default;

private:
    static bool may_be_handle(void* handle) noexcept {
        return handle != nullptr &&
               reinterpret_cast<std::uintptr_t>(handle) % alignof(stable_header) == 0;
    }
    static stable_header* header_of(void* handle) noexcept {
        return static_cast<stable_header*>(handle) - 1;
    }

    stable_header& own_header() noexcept { return *header_of(static_cast<Derived*>(this)); }

    // Only their addresses matter; they differ for each Derived.
    static inline const char mark = 0;
    static inline const char shared_mark = 0;
    static inline constinit stable_header* vacant = nullptr;
};

} // namespace zlink
