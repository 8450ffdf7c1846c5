// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"
#include "pipe/block.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>
#include <utility>

namespace zlink::codec {

/// Blocks for payloads that are likely to follow the current one, with the same payload and header
/// sizes. One read fills several of them, and nothing is copied. This is a prediction: the data may
/// be anything else.
///
/// @threads One at a time.
class read_ahead {
public:
    static constexpr std::size_t count_max = 8;
    /// The parts for offer(), with those for the current payload and for the bytes beyond.
    static constexpr std::size_t parts_max = 2 * count_max + 2;

    read_ahead() = default;
    read_ahead(const read_ahead&) = delete;
    read_ahead& operator=(const read_ahead&) = delete;
    ~read_ahead() { drop(); }

    /// The number of payloads of this size to read ahead, if their total may be `bytes_max`.
    static std::size_t count_for(std::uint64_t body_bytes, std::size_t bytes_max) noexcept {
        return std::min<std::uint64_t>(
            count_max, std::min(limits::read_ahead_bytes_max, bytes_max) / body_bytes);
    }

    /// Describes room for `count` pairs of a header and a payload.
    /// @param count    At most count_max.
    /// @param headers  Receives the headers, adjacent.
    /// @param parts    Two are written for each pair.
    /// @throws std::bad_alloc
    void offer(std::size_t count, std::size_t header_bytes, std::uint64_t body_bytes,
               std::byte* headers, std::span<iovec> parts) {
        drop();
        header_bytes_ = header_bytes;
        body_bytes_ = body_bytes;
        for (std::size_t index = 0; index < count; ++index) {
            blocks_[index] = pipe::make_block(body_bytes);
            count_ = index + 1;
            parts[2 * index] = {headers + index * header_bytes, header_bytes};
            parts[2 * index + 1] = {blocks_[index]->data, body_bytes};
        }
    }

    std::size_t count() const noexcept { return count_; }
    std::size_t header_bytes() const noexcept { return header_bytes_; }
    std::uint64_t body_bytes() const noexcept { return body_bytes_; }
    const std::byte* payload(std::size_t index) const noexcept { return blocks_[index]->data; }

    /// Selects the block that take() returns; none from count() on.
    void look_at(std::size_t index) noexcept { next_ = index; }
    /// Returns the selected block if the arriving payload fits it, otherwise nullptr.
    pipe::block* take(std::size_t header_bytes, std::uint64_t body_bytes) noexcept {
        const bool fits =
            next_ < count_ && header_bytes == header_bytes_ && body_bytes == body_bytes_;
        return fits ? std::exchange(blocks_[std::exchange(next_, count_max)], nullptr) : nullptr;
    }
    /// Whether take() returned that block.
    bool is_taken(std::size_t index) const noexcept { return blocks_[index] == nullptr; }

    /// Releases the blocks that were not taken.
    void drop() noexcept {
        for (; count_ != 0; --count_) {
            if (pipe::block* const unused = std::exchange(blocks_[count_ - 1], nullptr)) {
                unused->drop();
            }
        }
        next_ = count_max;
    }

private:
    std::array<pipe::block*, count_max> blocks_{}; ///< Null if taken.
    std::size_t count_ = 0;
    std::size_t next_ = count_max;
    std::size_t header_bytes_ = 0;
    std::uint64_t body_bytes_ = 0;
};

} // namespace zlink::codec
