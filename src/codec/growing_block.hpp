// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/block.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace zlink::codec {

/// A payload that is put together in a block while it arrives. A peer that only announces a large
/// payload gets little memory for it: the block grows by a factor of what has arrived.
///
/// @owns  The block, until take().
/// @threads One at a time.
class growing_block {
public:
    growing_block() = default;
    growing_block(const growing_block&) = delete;
    growing_block& operator=(const growing_block&) = delete;
    ~growing_block() { drop(); }

    /// Begins a payload of which the first bytes have arrived.
    /// @param bytes         Of the whole payload.
    /// @param proven_bytes  The largest payload that the peer has completed: so much is allocated
    ///                      at once.
    /// @throws std::bad_alloc  Nothing changed.
    void begin(std::uint64_t bytes, std::span<const std::byte> arrived, std::uint64_t proven_bytes);

    bool is_begun() const noexcept { return block_ != nullptr; }
    /// Of the whole payload; 0 where append() puts it together.
    std::uint64_t bytes() const noexcept { return bytes_; }
    std::uint64_t filled_bytes() const noexcept { return filled_bytes_; }
    bool is_whole() const noexcept { return filled_bytes_ == bytes_; }
    /// Bytes that the block has room for, those that are filled included.
    std::size_t capacity() const noexcept { return block_ != nullptr ? block_->bytes : 0; }
    pipe::block* block() const noexcept { return block_; }
    std::byte* data() const noexcept { return block_ != nullptr ? block_->data : nullptr; }

    /// Memory for what arrives next, at least one byte while the payload is not whole.
    /// @throws std::bad_alloc  Nothing changed.
    std::span<std::byte> room();

    /// So many bytes of room() are filled.
    void advance(std::size_t bytes) noexcept { filled_bytes_ += bytes; }

    /// Copies the front of `arrived` to room(), and takes it off `arrived`.
    /// @return How many bytes that were.
    /// @throws std::bad_alloc  Nothing changed.
    std::size_t fill(std::span<const std::byte>& arrived);

    /// Appends to a payload whose size is not known. The block at least doubles when it grows.
    /// @throws std::bad_alloc  Nothing changed.
    void append(std::span<const std::byte> arrived);

    /// Moves what is filled to a larger block.
    /// @param larger  Takes over one reference.
    void move_to(pipe::block* larger) noexcept;

    /// Gives the block to the caller, and begins again with nothing.
    /// @return Null if nothing was begun.
    pipe::block* take() noexcept {
        bytes_ = filled_bytes_ = 0;
        return std::exchange(block_, nullptr);
    }

    void drop() noexcept {
        if (pipe::block* const unfinished = take()) {
            unfinished->drop();
        }
    }

private:
    pipe::block* block_ = nullptr;
    std::uint64_t bytes_ = 0;
    std::uint64_t filled_bytes_ = 0;
};

} // namespace zlink::codec
