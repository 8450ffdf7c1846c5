// SPDX-License-Identifier: MPL-2.0
#include "pipe/buffer_pool.hpp"

#include "base/fork_gate.hpp"
#include "base/limits.hpp"
#include "pipe/idle_memory.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

namespace zlink::pipe {

namespace {

constexpr std::size_t pooled_bytes_min = std::size_t{1} * 1024;
/// Added to every class for the header of a payload of a round size, which would otherwise need the
/// next class.
constexpr std::size_t header_bytes = 64;
constexpr std::size_t largest_class_bytes = std::size_t{4} * 1024 * 1024 + header_bytes;
constexpr int smallest_log2 = 10;
constexpr std::size_t classes_per_doubling = 4;
constexpr std::size_t class_count = 12 * classes_per_doubling + 1;

/// Bytes that are taken before buffers that were freed meanwhile are preferred: much less than a
/// cache holds.
constexpr std::size_t recent_bytes = std::size_t{1024} * 1024;

struct free_node {
    free_node* next;
};

/// Freed buffers of one class. Giving back is one compare-and-swap onto `returned`; takers share
/// `recent`, which they refill by taking all of `returned` at once (so a node is never popped
/// singly while others push, and there is no ABA). They do so often enough to find buffers there
/// that are still in the processor's caches, instead of cycling through all free ones.
struct alignas(limits::cache_line_bytes) size_class {
    std::atomic<free_node*> returned{nullptr};
    alignas(limits::cache_line_bytes) std::mutex mutex;
    free_node* recent = nullptr;
    free_node* kept = nullptr;   ///< For when there are none in `recent`.
    std::size_t taken_bytes = 0; ///< Since the last refill from `returned`.
    std::size_t taken_count = 0; ///< Since the last decay.

    free_node* take() noexcept {
        free_node*& list = recent != nullptr ? recent : kept;
        return list != nullptr ? std::exchange(list, list->next) : nullptr;
    }
};

struct pool {
    std::array<size_class, class_count> classes;
    std::atomic<std::size_t> pooled_bytes{0};
};

// Neither constructed nor destroyed: messages may outlive every static object of the library.
constinit pool shared;
static_assert(std::is_trivially_destructible_v<pool>);

void lock_classes() noexcept {
    for (size_class& each : shared.classes) {
        each.mutex.lock();
    }
}

void unlock_classes() noexcept {
    for (size_class& each : shared.classes) {
        each.mutex.unlock();
    }
}

// So that a child process finds the lists consistent.
[[maybe_unused]] const bool buffers_watch_forks =
    fork_gate::take_lock(lock_classes, unlock_classes, unlock_classes);

/// The smallest class whose buffers hold `bytes`, at least pooled_bytes_min.
std::size_t class_of(std::size_t bytes) noexcept {
    const std::size_t last = bytes - header_bytes - 1;
    const int log2 = static_cast<int>(std::bit_width(last)) - 1;
    if (log2 < smallest_log2) {
        return 0;
    }
    const std::size_t quarter = (last >> (log2 - 2)) & 3;
    return static_cast<std::size_t>(log2 - smallest_log2) * classes_per_doubling + quarter + 1;
}

std::size_t class_bytes(std::size_t index) noexcept {
    if (index == 0) {
        return pooled_bytes_min + header_bytes;
    }
    const std::size_t doubling = (index - 1) / classes_per_doubling;
    const std::size_t quarter = (index - 1) % classes_per_doubling;
    return (std::size_t{1} << (doubling + smallest_log2 - 2)) * (5 + quarter) + header_bytes;
}

/// Bytes that were freed directly, not into the pool, since the last allocation.
constinit std::atomic<std::size_t> freed_in_row{0};

/// Frees a buffer that is not pooled.
/// @return Whether the sweeps are to learn of it.
bool free_past_pool(void* memory, std::size_t bytes) noexcept {
    const std::size_t before = freed_in_row.fetch_add(bytes, std::memory_order_relaxed);
    if (before >= tuning::freed_in_row_bytes && bytes >= tuning::returned_buffer_bytes_min) {
        return_pages(memory, bytes);
    }
    std::free(memory);
    const bool are_many =
        before < tuning::freed_in_row_bytes_min && before + bytes >= tuning::freed_in_row_bytes_min;
    if (are_many) {
        note_freed_many_bytes();
    }
    return are_many;
}

void* allocate(std::size_t bytes) {
    if (freed_in_row.load(std::memory_order_relaxed) != 0) {
        freed_in_row.store(0, std::memory_order_relaxed);
    }
    void* const memory = std::malloc(bytes);
    if (memory == nullptr) {
        throw std::bad_alloc{};
    }
    return memory;
}

void free_all(free_node* list, std::size_t buffer_bytes) noexcept {
    std::size_t freed_bytes = 0;
    while (list != nullptr) {
        free_past_pool(std::exchange(list, list->next), buffer_bytes);
        freed_bytes += buffer_bytes;
    }
    shared.pooled_bytes.fetch_sub(freed_bytes, std::memory_order_relaxed);
}

/// Needs the mutex of `list`.
void collect_returned(size_class& list) noexcept {
    list.taken_bytes = 0;
    if (list.returned.load(std::memory_order_relaxed) == nullptr) {
        return;
    }
    if (list.recent != nullptr) {
        free_node* last = list.recent; // A short list, where frees balance takes.
        while (last->next != nullptr) {
            last = last->next;
        }
        last->next = std::exchange(list.kept, list.recent);
    }
    list.recent = list.returned.exchange(nullptr, std::memory_order_acquire);
}

/// Frees the buffers on the lists of a class beyond `count`. Needs its mutex.
void keep_at_most(size_class& list, std::size_t count) noexcept {
    const std::size_t bytes = class_bytes(static_cast<std::size_t>(&list - shared.classes.data()));
    collect_returned(list);
    free_node** end = &list.recent;
    while (*end != nullptr) {
        end = &(*end)->next;
    }
    *end = std::exchange(list.kept, nullptr);
    for (end = &list.recent; *end != nullptr && count != 0; --count) {
        end = &(*end)->next;
    }
    free_all(std::exchange(*end, nullptr), bytes);
}

} // namespace

pooled_buffer take_buffer(std::size_t bytes_min) {
    if (bytes_min < pooled_bytes_min || bytes_min > largest_class_bytes) {
        return {allocate(bytes_min), bytes_min};
    }
    const std::size_t index = class_of(bytes_min);
    const std::size_t bytes = class_bytes(index);
    size_class& free_list = shared.classes[index];
    {
        const std::lock_guard lock{free_list.mutex};
        ++free_list.taken_count;
        free_list.taken_bytes += bytes;
        if (free_list.recent == nullptr || free_list.taken_bytes > recent_bytes) {
            collect_returned(free_list);
        }
        if (free_node* const node = free_list.take(); node != nullptr) {
            shared.pooled_bytes.fetch_sub(bytes, std::memory_order_relaxed);
            return {node, bytes};
        }
    }
    return {allocate(bytes), bytes};
}

void give_buffer(pooled_buffer buffer) noexcept {
    if (buffer.bytes < pooled_bytes_min || buffer.bytes > largest_class_bytes) {
        if (free_past_pool(buffer.memory, buffer.bytes)) {
            request_sweep();
        }
        return;
    }
    const std::size_t before =
        shared.pooled_bytes.fetch_add(buffer.bytes, std::memory_order_relaxed);
    if (before + buffer.bytes > tuning::pooled_bytes_max) {
        shared.pooled_bytes.fetch_sub(buffer.bytes, std::memory_order_relaxed);
        if (free_past_pool(buffer.memory, buffer.bytes)) {
            request_sweep();
        }
        return;
    }
    size_class& free_list = shared.classes[class_of(buffer.bytes)];
    auto* const node = static_cast<free_node*>(buffer.memory);
    node->next = free_list.returned.load(std::memory_order_relaxed);
    while (!free_list.returned.compare_exchange_weak(node->next, node, std::memory_order_seq_cst,
                                                     std::memory_order_relaxed)) {
    }
    request_sweep();
}

void trim_buffers() noexcept {
    for (size_class& each : shared.classes) {
        const std::lock_guard lock{each.mutex};
        each.taken_count = 0;
        keep_at_most(each, 0);
    }
}

bool decay_buffers() noexcept {
    for (size_class& each : shared.classes) {
        const std::lock_guard lock{each.mutex};
        keep_at_most(each, std::exchange(each.taken_count, 0));
    }
    return pooled_bytes() != 0;
}

void join_small_memory() noexcept {
    constexpr std::size_t joined_bytes_min = std::size_t{64} * 1024; // glibc merges when it frees
                                                                     // more.
    void* memory = std::malloc(joined_bytes_min);
    asm volatile("" : "+r"(memory)); // Keeps the compiler from removing both.
    std::free(memory); // NOLINT(clang-analyzer-unix.Malloc): it is still the same memory.
}

std::size_t pooled_bytes() noexcept {
    return shared.pooled_bytes.load(std::memory_order_relaxed);
}

} // namespace zlink::pipe
