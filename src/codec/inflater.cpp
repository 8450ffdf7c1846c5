// SPDX-License-Identifier: MPL-2.0
#include "codec/inflater.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <new>
#include <utility>
#include <zlib.h>

namespace zlink::codec {

namespace {

/// The end of an empty uncompressed block, omitted from each message (RFC 7692, 7.2.1).
constexpr std::array omitted{std::byte{0}, std::byte{0}, std::byte{0xff}, std::byte{0xff}};

/// Bits of z_stream::data_type: this one is set between two blocks; those below count the unused
/// bits of the last byte.
constexpr int between_blocks = 128;
constexpr int unused_bits = 63;

unsigned clamped(std::size_t bytes) noexcept {
    return static_cast<unsigned>(std::min<std::size_t>(bytes, INT_MAX));
}
static_assert(limits::inflated_piece_bytes_max <= INT_MAX);

} // namespace

struct inflater::stream {
    z_stream z{};
};

inflater::inflater(const wire::websocket::deflate_direction& from, std::size_t bytes_max) noexcept
    : from_(from), memory_(bytes_max) {}

inflater::~inflater() {
    close();
}

void inflater::open() {
    auto made = std::make_unique<stream>();
    memory_.serve(made->z);
    // Raw deflate; zlib allocates the window when needed.
    const int outcome = ::inflateInit2(&made->z, -int{from_.window_bits});
    if (outcome == Z_MEM_ERROR) {
        throw std::bad_alloc{};
    }
    ZLINK_ASSERT(outcome == Z_OK);
    stream_ = std::move(made);
}

void inflater::close() noexcept {
    if (stream_) {
        ::inflateEnd(&stream_->z);
        stream_.reset();
    }
}

void inflater::begin_part(std::span<const std::byte> data) noexcept {
    input_ = data;
}

void inflater::end_message() noexcept {
    // Empty messages: some senders send nothing, and some the end of a deflate stream.
    if (place_ == place::inside) {
        input_ = omitted;
        place_ = place::at_end;
    }
}

std::size_t inflater::inflate(std::span<std::byte> out) {
    if (is_corrupt() || (input_.empty() && place_ != place::inside && place_ != place::at_end)) {
        return 0;
    }
    if (!stream_) {
        open();
    }
    std::size_t made = 0;
    do {
        if (place_ == place::behind_last_block) {
            // Keeps the window, since the next block may refer to it.
            ::inflateResetKeep(&stream_->z);
        }
        if (place_ != place::at_end) {
            place_ = place::inside;
        }
        made += step(out.subspan(made));
    } while (made < out.size() && !input_.empty() && !is_corrupt());
    return made;
}

/// Runs zlib until it needs input or room, or reports an event.
/// @return The bytes written.
std::size_t inflater::step(std::span<std::byte> out) {
    z_stream& z = stream_->z;
    const unsigned in_bytes = clamped(input_.size());
    const auto out_bytes = static_cast<unsigned>(out.size());
    z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input_.data()));
    z.avail_in = in_bytes;
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = out_bytes;
    const int outcome = ::inflate(&z, place_ == place::at_end ? Z_BLOCK : Z_SYNC_FLUSH);
    input_ = input_.subspan(in_bytes - z.avail_in);
    if (outcome == Z_MEM_ERROR) {
        throw std::bad_alloc{};
    }
    const bool has_ended = outcome == Z_STREAM_END;
    // Z_BUF_ERROR: no progress is possible with the present input and room.
    if ((outcome != Z_OK && outcome != Z_BUF_ERROR && !has_ended) ||
        (has_ended && place_ == place::at_end)) {
        place_ = place::corrupt;
    } else if (has_ended) {
        place_ = place::behind_last_block;
    } else if (place_ == place::at_end && input_.empty() &&
               (z.data_type & (between_blocks | unused_bits)) == between_blocks) {
        place_ = place::whole;
    }
    return out_bytes - z.avail_out;
}

bool inflater::is_whole() noexcept {
    const place ended = std::exchange(place_, place::before);
    if (stream_) {
        if (!from_.keeps_context) {
            ::inflateReset(&stream_->z);
        } else if (ended == place::behind_last_block) {
            ::inflateResetKeep(&stream_->z);
        }
    }
    return ended != place::at_end;
}

void inflater::rest() noexcept {
    if (!from_.keeps_context && place_ == place::before) {
        close();
    }
}

} // namespace zlink::codec
