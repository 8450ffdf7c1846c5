// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/poison.hpp"
#include "base/ref_counted.hpp"
#include "pipe/cell_pool.hpp"

#include <atomic>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstddef>
#include <cstdint>
#include <new>

namespace zlink::tuning {

/// Payloads of at least this size are passed by reference instead of being copied into a segment.
constexpr std::size_t external_bytes_min = std::size_t{8} * 1024;

/// The same where one payload goes to many peers.
constexpr std::size_t broadcast_external_bytes_min = std::size_t{1} * 1024;

} // namespace zlink::tuning

namespace zlink::pipe {

/// Called with the bytes and the hint that a block was made with, on the thread that drops the last
/// reference.
using free_function = void(void* data, void* hint);

/// A shared memory limit of blocks of one kind.
///
/// @threads Any.
class memory_account final : public ref_counted<memory_account> {
public:
    explicit memory_account(std::size_t bytes_max) noexcept : bytes_max_(bytes_max) {}

    /// @return Whether `bytes` more were within the limit. If so give_back() must follow.
    bool take(std::size_t bytes) noexcept {
        if (add(bytes) <= bytes_max_) {
            return true;
        }
        give_back(bytes);
        return false;
    }
    /// The same without a limit. @return The total now.
    std::size_t add(std::size_t bytes) noexcept {
        return taken_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    }
    void give_back(std::size_t bytes) noexcept {
        taken_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    }
    std::size_t taken_bytes() const noexcept {
        return taken_bytes_.load(std::memory_order_relaxed);
    }

private:
    const std::size_t bytes_max_;
    std::atomic<std::size_t> taken_bytes_{0};
};

using memory_account_ptr = boost::intrusive_ptr<memory_account>;

/// Bytes that several holders share without copying, or any other object that passes through a rope
/// by reference. Freed by the last holder.
///
/// @threads Any; the bytes must not change while more than one holder exists.
struct block {
    enum class origin : std::uint8_t {
        pooled,    ///< The bytes follow this header, in memory of the buffer pool.
        cell,      ///< The bytes follow this header, in a cell.
        allocated, ///< The bytes follow this header, in memory of the allocator.
        counted,   ///< As pooled, and counted by an account.
        caller,    ///< The bytes belong to the application, which has its own free function.
        object,    ///< No bytes: the head of a derived object, destroyed through `destroy`.
    };

    std::atomic<std::uint32_t> references{1};
    origin kind = origin::pooled;
    bool is_message = false; ///< object: counts as a message in a queue.
    std::byte* data = nullptr;
    std::size_t bytes = 0; ///< caller: the size of the data; object: 0; otherwise: the capacity.
    union {
        struct {
            free_function* function; ///< May be null.
            void* hint;
        } release;
        void (*destroy)(block*);
        memory_account* counted_by; ///< Holds a reference.
    };

    block() noexcept : release{nullptr, nullptr} {}

    void add_reference(std::uint32_t count = 1) noexcept {
        references.fetch_add(count, std::memory_order_relaxed);
    }

    /// Drops `count` references; the last one frees.
    void drop(std::uint32_t count = 1) noexcept {
        // A sole holder cannot race with another thread, so it needs no atomic read-modify-write.
        if (references.load(std::memory_order_acquire) == count ||
            references.fetch_sub(count, std::memory_order_acq_rel) == count) {
            if (kind == origin::cell) [[likely]] {
                give_cell<short_block_bytes>(this);
            } else {
                free_now();
            }
        }
    }

    /// Whether the application has to be notified when the bytes are no longer needed.
    bool is_lent() const noexcept { return kind == origin::caller && release.function != nullptr; }

    /// Whether its only holder may reuse it for another payload of `payload_bytes` bytes.
    bool may_be_renewed(std::size_t payload_bytes) const noexcept {
        return kind == origin::cell && payload_bytes <= bytes && !is_shared();
    }

    /// Whether the bytes belong to the application and stay valid for ever.
    bool is_constant() const noexcept {
        return kind == origin::caller && release.function == nullptr;
    }

    bool is_shared() const noexcept { return references.load(std::memory_order_acquire) > 1; }

private:
    void free_now() noexcept;
};

/// The size of the header of a block whose payload follows it in the same memory.
constexpr std::size_t block_header_bytes = (sizeof(block) + 15) / 16 * 16;
constexpr std::size_t short_payload_bytes_max = short_block_bytes - block_header_bytes;

/// Constructs a block at the beginning of `memory`, followed by `bytes` bytes of payload.
inline block* place_block(void* memory, block::origin kind, std::size_t bytes) noexcept {
    auto* const made = new (memory) block;
    made->kind = kind;
    made->data = static_cast<std::byte*>(memory) + block_header_bytes;
    made->bytes = bytes;
    return made;
}

/// As make_block(), for a payload that is not short.
[[nodiscard]] block* make_long_block(std::size_t bytes_min);

/// A block with room for `bytes_min` bytes and one reference.
/// @throws std::bad_alloc
[[nodiscard]] inline block* make_block(std::size_t bytes_min) {
    if (bytes_min > short_payload_bytes_max) [[unlikely]] {
        return make_long_block(bytes_min);
    }
    block* const made = place_block(take_cell<short_block_bytes>(), block::origin::cell, bytes_min);
    poison(made->data + bytes_min, short_payload_bytes_max - bytes_min);
    return made;
}

/// The same with at least 8 KiB, counted by `account` until it is freed.
/// @return Null if the account has no room.
/// @throws std::bad_alloc
[[nodiscard]] block* make_counted_block(std::size_t bytes_min, memory_account& account);

/// A block around the application's bytes, with one reference.
/// @throws std::bad_alloc  `function` was not called.
[[nodiscard]] block* wrap_block(void* data, std::size_t bytes, free_function* function, void* hint);

} // namespace zlink::pipe
