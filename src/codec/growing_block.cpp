// SPDX-License-Identifier: MPL-2.0
#include "codec/growing_block.hpp"

#include "base/limits.hpp"

#include <algorithm>
#include <cstring>

namespace zlink::codec {

void growing_block::begin(std::uint64_t bytes, std::span<const std::byte> arrived,
                          std::uint64_t proven_bytes) {
    const std::uint64_t trusted_bytes = std::max<std::uint64_t>(
        {limits::unproven_bytes_max, arrived.size() * limits::unproven_growth, proven_bytes});
    pipe::block* const made = pipe::make_block(std::min(bytes, trusted_bytes));
    drop();
    block_ = made;
    bytes_ = bytes;
    std::copy(arrived.begin(), arrived.end(), block_->data);
    filled_bytes_ = arrived.size();
}

std::span<std::byte> growing_block::room() {
    if (filled_bytes_ == block_->bytes && !is_whole()) {
        move_to(pipe::make_block(std::min(bytes_, filled_bytes_ * limits::unproven_growth)));
    }
    const std::uint64_t end = std::min<std::uint64_t>(block_->bytes, bytes_);
    return {block_->data + filled_bytes_, static_cast<std::size_t>(end - filled_bytes_)};
}

std::size_t growing_block::fill(std::span<const std::byte>& arrived) {
    const std::span<std::byte> out = room();
    const std::size_t taken = std::min(out.size(), arrived.size());
    std::copy_n(arrived.begin(), taken, out.begin());
    arrived = arrived.subspan(taken);
    advance(taken);
    return taken;
}

void growing_block::append(std::span<const std::byte> arrived) {
    if (arrived.empty()) {
        return;
    }
    const std::size_t needed = filled_bytes_ + arrived.size();
    if (capacity() < needed) {
        move_to(pipe::make_block(std::max<std::size_t>(needed, filled_bytes_ * 2)));
    }
    std::copy(arrived.begin(), arrived.end(), block_->data + filled_bytes_);
    advance(arrived.size());
}

void growing_block::move_to(pipe::block* larger) noexcept {
    if (block_ != nullptr) {
        std::memcpy(larger->data, block_->data, filled_bytes_);
        block_->drop();
    }
    block_ = larger;
}

} // namespace zlink::codec
