// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace zlink::pipe {

/// Called with the octets and the hint that a block was made with, on the thread that lets go last.
using free_function = void(void* data, void* hint);

/// Octets that several holders share without copying, or any other object that travels through a
/// rope by reference. Freed by the last holder.
///
/// @threads Any; the octets must not change while more than one holder exists.
struct block {
    enum class origin : std::uint8_t {
        pooled,    ///< The octets follow this header, in memory of the buffer pool.
        cell,      ///< The octets follow this header, in a cell.
        allocated, ///< The octets follow this header, in memory of the allocator.
        caller,    ///< The octets belong to the application, which has its own free function.
        object,    ///< No octets: the head of a derived object, destroyed through `destroy`.
    };

    std::atomic<std::uint32_t> references{1};
    origin kind = origin::pooled;
    std::byte* data = nullptr;
    std::size_t bytes = 0; ///< pooled, cell, allocated: what fits; caller: what there is.
    union {
        struct {
            free_function* function; ///< May be null.
            void* hint;
        } release;
        void (*destroy)(block*);
    };

    block() noexcept : release{nullptr, nullptr} {}

    void add_reference(std::uint32_t count = 1) noexcept {
        references.fetch_add(count, std::memory_order_relaxed);
    }

    /// Lets go of `count` references; the last one frees.
    void drop(std::uint32_t count = 1) noexcept {
        // A sole holder cannot race with anybody, so it needs no atomic read-modify-write.
        if (references.load(std::memory_order_acquire) == count ||
            references.fetch_sub(count, std::memory_order_acq_rel) == count) {
            free_now();
        }
    }

    /// Whether the application waits to be told when the octets are no longer needed.
    bool is_lent() const noexcept { return kind == origin::caller && release.function != nullptr; }

    /// Whether the octets are the application's and stay for ever.
    bool is_constant() const noexcept {
        return kind == origin::caller && release.function == nullptr;
    }

    bool is_shared() const noexcept { return references.load(std::memory_order_acquire) > 1; }

private:
    void free_now() noexcept;
};

/// A block with room for `bytes_min` octets and one reference.
/// @throws std::bad_alloc
[[nodiscard]] block* make_block(std::size_t bytes_min);

/// A block around the application's octets, with one reference.
/// @throws std::bad_alloc  `function` was not called.
[[nodiscard]] block* wrap_block(void* data, std::size_t bytes, free_function* function, void* hint);

} // namespace zlink::pipe
