// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "framing.hpp"

#include <algorithm>
#include <vector>

namespace stream_bench {

/// The bytes of a batch of equal messages, laid out once: to send one, only the stamps are written.
///
/// WebSocket clients must mask. All messages have the same key, so their filling is masked once,
/// when the buffer is made: the server gets properly masked frames, and the client masks only the
/// stamps.
class batch {
public:
    /// @param message_count  The largest number of messages in one batch.
    batch(bool is_websocket, std::size_t body_bytes, std::size_t message_count)
        : key_{is_websocket ? mask_key{0x3a, 0xc5, 0x71, 0x9e} : mask_key{}} {
        std::vector<unsigned char> head(websocket_head_bytes_max + mask_key_bytes);
        if (is_websocket) {
            std::size_t head_bytes =
                encode_websocket_head(head.data(), final_flag | opcode_binary, body_bytes);
            head[1] |= mask_flag;
            std::copy(key_.begin(), key_.end(), head.begin() + static_cast<long>(head_bytes));
            head.resize(head_bytes + mask_key_bytes);
        } else {
            encode_length(head.data(), body_bytes);
            head.resize(length_head_bytes);
        }
        head_bytes_ = head.size();
        frame_bytes_ = head.size() + body_bytes;
        data_.resize(frame_bytes_ * message_count);
        for (std::size_t message = 0; message < message_count; ++message) {
            unsigned char* const frame = data_.data() + message * frame_bytes_;
            std::copy(head.begin(), head.end(), frame);
            for (std::size_t offset = 0; offset < body_bytes; ++offset) {
                frame[head_bytes_ + offset] = filling_at(offset) ^ key_[offset % 4];
            }
        }
    }

    [[nodiscard]] std::size_t frame_bytes() const noexcept { return frame_bytes_; }
    [[nodiscard]] std::size_t message_count_max() const noexcept {
        return data_.size() / frame_bytes_;
    }

    /// The bytes of so many messages that carry this stamp. The same arguments give the same
    /// bytes.
    [[nodiscard]] const unsigned char* bytes(std::size_t message_count,
                                             const stamp& wanted) noexcept {
        if (!(wanted == stamped_)) {
            stamped_ = wanted;
            stamped_count_ = 0;
        }
        unsigned char stamp_bytes[stamp::wire_bytes];
        wanted.encode(stamp_bytes);
        copy_masked(stamp_bytes, stamp_bytes, sizeof stamp_bytes, key_, 0);
        for (; stamped_count_ < message_count; ++stamped_count_) {
            std::memcpy(data_.data() + stamped_count_ * frame_bytes_ + head_bytes_, stamp_bytes,
                        sizeof stamp_bytes);
        }
        return data_.data();
    }

private:
    mask_key key_;
    std::size_t head_bytes_ = 0;
    std::size_t frame_bytes_ = 0;
    std::vector<unsigned char> data_;
    stamp stamped_;
    std::size_t stamped_count_ = 0;
};

} // namespace stream_bench
