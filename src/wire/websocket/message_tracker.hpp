// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "wire/websocket/close.hpp"
#include "wire/websocket/frame.hpp"
#include "wire/websocket/utf8.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace zlink::wire::websocket {

/// The maximum size on the wire of a compressed message of `message_bytes` octets: incompressible
/// data grows by less than a quarter and 64 octets (zlib's deflateBound).
constexpr std::uint64_t compressed_bytes_max(std::uint64_t message_bytes) noexcept {
    return message_bytes < payload_bytes_limit / 2 ? message_bytes + message_bytes / 4 + 64
                                                   : payload_bytes_limit;
}

/// The state of a peer's messages.
enum class message_state : std::uint8_t {
    between, ///< No message is under way.
    inside,  ///< A message has begun, and its last fragment has not ended.
    over,    ///< It has sent a close frame, or broken a rule. Further octets are discarded.
};

/// Tracks the frames that one peer sends, and reports those that are not allowed (RFC 6455, 5.4,
/// 5.5, 8.1), before and while their payloads arrive. Holds no octet of them.
///
/// For each frame: on_head(), on_payload() for its payload, on_frame_end(). A function that returns
/// a code has refused something: the connection is to be closed with that code, and the state is
/// `over`, in which everything is accepted and ignored.
///
/// A compressed message is limited and checked twice: on_payload() takes the octets on the wire,
/// on_inflated() the inflated ones, before the on_frame_end() of its last frame.
///
/// Invariants
///  1. A message that is under way has not more than message_bytes_max octets, a compressed one
///     not more than compressed_bytes_max(inflated_bytes_max), counting the sizes in its headers.
///  2. The received part of a text is the beginning of a valid one.
class message_tracker {
public:
    /// @param message_bytes_max   Largest message accepted, in octets.
    /// @param inflated_bytes_max  The same for a compressed one, after inflation.
    explicit message_tracker(std::uint64_t message_bytes_max,
                             std::uint64_t inflated_bytes_max) noexcept
        : message_bytes_max_(message_bytes_max), inflated_bytes_max_(inflated_bytes_max) {}
    explicit message_tracker(std::uint64_t message_bytes_max) noexcept
        : message_tracker(message_bytes_max, message_bytes_max) {}

    /// Begins a frame.
    ///
    /// @param head  Accepted by read_head().
    /// @return protocol_error for a fragment without a message, or a message within another;
    ///         too_large for a message above the limit.
    [[nodiscard]] std::optional<close_code> on_head(const frame_head& head) noexcept {
        if (state_ == message_state::over) {
            return std::nullopt;
        }
        frame_kind_ = head.kind;
        is_last_frame_ = head.is_final();
        if (head.is_control()) {
            return std::nullopt;
        }
        const bool is_continuation = head.kind == opcode::continuation;
        if (is_continuation != (state_ == message_state::inside)) {
            return refuse(close_code::protocol_error);
        }
        if (!is_continuation) {
            state_ = message_state::inside;
            message_kind_ = head.kind;
            is_compressed_ = head.is_compressed();
            wire_bytes_ = 0;
            inflated_bytes_ = 0;
            text_.reset();
        }
        const std::uint64_t wire_bytes_max =
            is_compressed_ ? compressed_bytes_max(inflated_bytes_max_) : message_bytes_max_;
        if (head.payload_bytes > wire_bytes_max - wire_bytes_) {
            return refuse(close_code::too_large);
        }
        wire_bytes_ += head.payload_bytes;
        return std::nullopt;
    }

    /// Takes octets of the frame's payload, unmasked, in pieces of any size.
    /// @return invalid_payload for an uncompressed text that is not UTF-8.
    [[nodiscard]] std::optional<close_code> on_payload(std::span<const std::byte> data) noexcept {
        const bool is_of_text = message_kind_ == opcode::text && !is_compressed_ &&
                                state_ == message_state::inside && !is_control(frame_kind_);
        return is_of_text ? check_text(data) : std::nullopt;
    }

    /// Takes inflated octets of a compressed message, in pieces of any size. The limit on messages
    /// is checked after each.
    /// @return too_large for a message above the limit; invalid_payload for a text that is not
    /// UTF-8.
    [[nodiscard]] std::optional<close_code> on_inflated(std::span<const std::byte> data) noexcept;

    /// Ends the frame.
    ///
    /// With the last frame of a message this ends the message, which is_text() and is_compressed()
    /// describe until another begins. The payload of a close frame is checked by decode_close().
    /// @return invalid_payload for a text that ends within a character.
    [[nodiscard]] std::optional<close_code> on_frame_end() noexcept {
        if (state_ == message_state::over) {
            return std::nullopt;
        }
        if (is_control(frame_kind_)) {
            if (frame_kind_ == opcode::close) {
                state_ = message_state::over;
            }
            return std::nullopt;
        }
        if (is_last_frame_) {
            if (!text_.is_complete()) {
                return refuse(close_code::invalid_payload);
            }
            state_ = message_state::between;
        }
        return std::nullopt;
    }

    message_state state() const noexcept { return state_; }

    /// Whether the message is text; otherwise it is binary.
    bool is_text() const noexcept { return message_kind_ == opcode::text; }

    /// Whether the message's payload has to be inflated.
    bool is_compressed() const noexcept { return is_compressed_; }

private:
    std::optional<close_code> refuse(close_code code) noexcept;
    std::optional<close_code> check_text(std::span<const std::byte> data) noexcept;

    std::uint64_t message_bytes_max_;
    std::uint64_t inflated_bytes_max_;
    std::uint64_t wire_bytes_ = 0;     ///< Of the message, according to its headers.
    std::uint64_t inflated_bytes_ = 0; ///< Of the message, if it is compressed.
    message_state state_ = message_state::between;
    opcode message_kind_ = opcode::binary;
    bool is_compressed_ = false;
    opcode frame_kind_ = opcode::binary; ///< Of the current frame, as is_last_frame_.
    bool is_last_frame_ = false;
    utf8_validator text_; ///< Complete if the message is not text.
};

} // namespace zlink::wire::websocket
