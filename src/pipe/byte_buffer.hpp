// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/buffer_pool.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

namespace zlink::pipe {

/// Contiguous bytes that grow at the end, in uninitialised memory of the buffer pool.
class byte_buffer {
public:
    byte_buffer() noexcept = default;
    byte_buffer(byte_buffer&& from) noexcept
        : memory_(std::exchange(from.memory_, {})), bytes_(std::exchange(from.bytes_, 0)) {}
    byte_buffer& operator=(byte_buffer&& from) noexcept {
        std::swap(memory_, from.memory_);
        std::swap(bytes_, from.bytes_);
        return *this;
    }
    ~byte_buffer() { release(); }

    /// Room for `bytes` bytes behind the present ones.
    /// @throws std::bad_alloc  Nothing changed.
    std::byte* reserve(std::size_t bytes) {
        if (memory_.bytes - bytes_ < bytes) {
            grow(bytes);
        }
        return data() + bytes_;
    }
    /// Appends the first `bytes` bytes of the room that reserve() returned.
    void commit(std::size_t bytes) noexcept { bytes_ += bytes; }

    /// @throws std::bad_alloc  Nothing changed.
    void append(std::span<const std::byte> data) {
        if (!data.empty()) {
            std::memcpy(reserve(data.size()), data.data(), data.size());
            commit(data.size());
        }
    }

    std::byte* data() noexcept { return static_cast<std::byte*>(memory_.memory); }
    std::span<const std::byte> view() const noexcept {
        return {static_cast<const std::byte*>(memory_.memory), bytes_};
    }
    std::size_t size() const noexcept { return bytes_; }
    bool empty() const noexcept { return bytes_ == 0; }
    std::size_t capacity() const noexcept { return memory_.bytes; }

    /// Removes the first `bytes` bytes.
    void drop_front(std::size_t bytes) noexcept {
        bytes_ -= bytes;
        if (bytes != 0 && bytes_ != 0) {
            std::memmove(data(), data() + bytes, bytes_);
        }
    }

    /// Discards the bytes, and keeps the memory.
    void clear() noexcept { bytes_ = 0; }

    /// Frees the memory.
    void release() noexcept {
        if (memory_.memory != nullptr) {
            give_buffer(memory_);
        }
        memory_ = {};
        bytes_ = 0;
    }

private:
    void grow(std::size_t bytes) {
        const pooled_buffer larger = take_buffer(std::max(bytes_ + bytes, 2 * memory_.bytes));
        if (memory_.memory != nullptr) {
            std::memcpy(larger.memory, memory_.memory, bytes_);
            give_buffer(memory_);
        }
        memory_ = larger;
    }

    pooled_buffer memory_{};
    std::size_t bytes_ = 0;
};

} // namespace zlink::pipe
