// SPDX-License-Identifier: MPL-2.0
//
// Finds the echoes in the bytes that a server sends. A reader keeps no bodies, only its position in
// a message and the bytes before the filling, so ten thousand readers are small whatever the size
// of a message is. Its `read` calls `on_reply(const unsigned char* stamp)` for each message.

#pragma once

#include "framing.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace stream_bench {

/// The contents that all replies of a run must have.
struct expected_reply {
    explicit expected_reply(std::size_t size, bool verifies_filling) : body_bytes{size} {
        if (verifies_filling) {
            filling.resize(size);
            for (std::size_t offset = 0; offset < size; ++offset) {
                filling[offset] = filling_at(offset);
            }
        }
    }

    /// Whether a body may contain these bytes at this offset.
    [[nodiscard]] bool matches(std::size_t offset, const unsigned char* data,
                               std::size_t count) const noexcept {
        if (filling.empty() || offset + count <= stamp::wire_bytes) {
            return true;
        }
        const std::size_t skipped = offset < stamp::wire_bytes ? stamp::wire_bytes - offset : 0;
        return std::memcmp(data + skipped, filling.data() + offset + skipped, count - skipped) == 0;
    }

    std::size_t body_bytes;
    std::vector<unsigned char> filling; // Empty: not compared.
};

/// Reads `u32 BE length | body`.
class length_reader {
public:
    /// @return False if the bytes are no replies; the connection is unusable then.
    template<class OnReply>
    bool read(const unsigned char* data, std::size_t count, const expected_reply& expected,
              OnReply&& on_reply) {
        const std::size_t frame_bytes = length_head_bytes + expected.body_bytes;
        if (offset_ > 0) {
            const std::size_t taken = std::min(count, frame_bytes - offset_);
            if (!keep(data, taken, expected)) {
                return false;
            }
            if (offset_ < frame_bytes) {
                return true;
            }
            offset_ = 0;
            on_reply(head_ + length_head_bytes);
            data += taken;
            count -= taken;
        }
        for (; count >= frame_bytes; data += frame_bytes, count -= frame_bytes) {
            if (decode_length(data) != expected.body_bytes ||
                !expected.matches(0, data + length_head_bytes, expected.body_bytes)) {
                return false;
            }
            on_reply(data + length_head_bytes);
        }
        return keep(data, count, expected);
    }

private:
    static constexpr std::size_t kept_bytes = length_head_bytes + stamp::wire_bytes;

    bool keep(const unsigned char* data, std::size_t count, const expected_reply& expected) {
        if (count == 0) {
            return true;
        }
        if (offset_ < kept_bytes) {
            std::memcpy(head_ + offset_, data, std::min(count, kept_bytes - offset_));
        }
        const std::size_t skipped =
            std::min(count, length_head_bytes - std::min(offset_, length_head_bytes));
        if (!expected.matches(offset_ + skipped - length_head_bytes, data + skipped,
                              count - skipped)) {
            return false;
        }
        offset_ += count;
        return offset_ < length_head_bytes || decode_length(head_) == expected.body_bytes;
    }

    std::size_t offset_ = 0; // In the current frame.
    unsigned char head_[kept_bytes];
};

/// Reads WebSocket messages from a server, fragmented or not, and the control frames between them.
class websocket_reader {
public:
    /// @return False if the bytes are no replies, or when the server closes.
    template<class OnReply>
    bool read(const unsigned char* data, std::size_t count, const expected_reply& expected,
              OnReply&& on_reply) {
        unsigned char whole[websocket_head_bytes_max];
        const std::size_t whole_head_bytes =
            encode_websocket_head(whole, final_flag | opcode_binary, expected.body_bytes);
        const std::size_t whole_bytes = whole_head_bytes + expected.body_bytes;
        while (count > 0) {
            if (is_between_messages() && count >= whole_bytes &&
                std::memcmp(data, whole, whole_head_bytes) == 0) {
                if (!expected.matches(0, data + whole_head_bytes, expected.body_bytes)) {
                    return false;
                }
                on_reply(data + whole_head_bytes);
                data += whole_bytes;
                count -= whole_bytes;
                continue;
            }
            std::size_t taken = 0;
            const outcome found = is_in_payload_ ? take_payload(data, count, taken, expected)
                                                 : take_head(data, count, taken, expected);
            if (found == outcome::broken) {
                return false;
            }
            if (found == outcome::reply) {
                on_reply(stamp_);
            }
            data += taken;
            count -= taken;
        }
        return true;
    }

    /// Whether a ping has come since the last call; `payload` is the payload of the pong to send.
    bool take_ping(std::string& payload) {
        if (!has_ping_) {
            return false;
        }
        has_ping_ = false;
        payload = std::move(ping_);
        ping_.clear();
        return true;
    }

private:
    static constexpr unsigned control_bytes_max = 125;

    enum class outcome { unfinished, reply, broken };

    [[nodiscard]] bool is_between_messages() const noexcept {
        return head_count_ == 0 && !is_in_payload_ && body_count_ == 0;
    }

    [[nodiscard]] bool is_control() const noexcept {
        return (head_[0] & opcode_mask) >= opcode_close;
    }

    outcome take_head(const unsigned char* data, std::size_t count, std::size_t& taken,
                      const expected_reply& expected) {
        const std::size_t wanted = head_count_ < 2 ? 2 : websocket_head_bytes(head_);
        taken = std::min(count, wanted - head_count_);
        std::memcpy(head_ + head_count_, data, taken);
        head_count_ += taken;
        if (head_count_ < 2) {
            return outcome::unfinished;
        }
        if ((head_[1] & mask_flag) != 0 || (is_control() && head_[1] > control_bytes_max)) {
            return outcome::broken;
        }
        if (head_count_ < websocket_head_bytes(head_)) {
            return outcome::unfinished;
        }
        head_count_ = 0;
        payload_left_ = websocket_payload_bytes(head_);
        is_in_payload_ = payload_left_ > 0;
        return is_in_payload_ ? outcome::unfinished : end_frame(expected);
    }

    outcome take_payload(const unsigned char* data, std::size_t count, std::size_t& taken,
                         const expected_reply& expected) {
        taken = std::min<std::uint64_t>(count, payload_left_);
        if (is_control()) {
            control_.append(reinterpret_cast<const char*>(data), taken);
        } else if (body_count_ + taken > expected.body_bytes ||
                   !expected.matches(body_count_, data, taken)) {
            return outcome::broken;
        } else {
            if (body_count_ < stamp::wire_bytes) {
                std::memcpy(stamp_ + body_count_, data,
                            std::min(taken, stamp::wire_bytes - body_count_));
            }
            body_count_ += taken;
        }
        payload_left_ -= taken;
        is_in_payload_ = payload_left_ > 0;
        return is_in_payload_ ? outcome::unfinished : end_frame(expected);
    }

    outcome end_frame(const expected_reply& expected) {
        if (is_control()) {
            const unsigned char opcode = head_[0] & opcode_mask;
            if (opcode == opcode_ping) {
                ping_.swap(control_);
                has_ping_ = true;
            }
            control_.clear();
            return opcode == opcode_close ? outcome::broken : outcome::unfinished;
        }
        if ((head_[0] & final_flag) == 0) {
            return outcome::unfinished;
        }
        const bool is_expected = body_count_ == expected.body_bytes;
        body_count_ = 0;
        return is_expected ? outcome::reply : outcome::broken;
    }

    std::uint64_t payload_left_ = 0;
    std::size_t body_count_ = 0; // Of the message, in all its fragments.
    std::size_t head_count_ = 0;
    std::string control_;
    std::string ping_;
    bool is_in_payload_ = false;
    bool has_ping_ = false;
    unsigned char head_[websocket_head_bytes_max];
    unsigned char stamp_[stamp::wire_bytes];
};

} // namespace stream_bench
