// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "wire/websocket/close.hpp"
#include "wire/websocket/frame.hpp"
#include "wire/zws_frame.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace zlink::wire::zws {

/// Splits the octets of a peer into parts of frames, however they arrive. Holds no octet of a body.
///
/// Most messages of WebSocket come in one frame. Browsers send large ones in several, so that their
/// size is known only at the end: the caller joins those.
///
/// @threads One at a time.
class decoder {
public:
    /// @param body_bytes_max  Largest body accepted, in octets.
    decoder(websocket::sender from, std::uint64_t body_bytes_max) noexcept;

    /// The results of next().
    enum class piece : std::uint8_t {
        nothing,  ///< All octets were taken; the last item is incomplete.
        header,   ///< flags(), body_bytes(): a frame has begun, and has ended if its body is empty.
        body,     ///< body(): octets of the frame's body; the last ones if is_inside() is not.
        fragment, ///< body(): octets, perhaps none, of a body that comes in several frames.
        end,      ///< flags(): all fragments have come.
        control,  ///< control_kind(), control_payload().
        refused,  ///< refusal(). No more octets may be passed.
    };

    /// Takes a piece off the front of `input`.
    /// @param input  Its octets are unmasked in place.
    piece next(std::span<std::byte>& input) noexcept;

    /// Whether octets of the body that a header has announced are still to come.
    bool is_inside() const noexcept { return body_rest_ != 0 && !is_fragmented_; }

    /// Of the frame: wire::zmtp flags.
    unsigned flags() const noexcept { return flags_; }
    std::uint64_t body_bytes() const noexcept { return body_bytes_; }
    /// A view into the input.
    std::span<const std::byte> body() const noexcept { return body_; }

    websocket::opcode control_kind() const noexcept { return head_.kind; }
    /// Valid until the next call of next().
    std::span<const std::byte> control_payload() const noexcept {
        return {control_.data(), static_cast<std::size_t>(head_.payload_bytes)};
    }

    /// The code to close the connection with: protocol_error for a violation of RFC 6455, such as
    /// an unmasked frame of a client, and for a message without flags, or with invalid flags;
    /// unsupported_data for text; too_large.
    websocket::close_code refusal() const noexcept { return refusal_; }

private:
    piece take_body(std::span<std::byte>& input) noexcept;
    piece look(std::span<const std::byte> data, std::size_t& taken) noexcept;
    piece look_at_message(std::span<const std::byte> data, std::size_t& taken) noexcept;
    piece begin_fragment(std::size_t& taken) noexcept;
    piece end_fragments() noexcept;
    bool take_flags(std::byte byte) noexcept;
    piece refuse(websocket::close_code code) noexcept;

    websocket::frame_rules rules_;
    websocket::frame_head head_; ///< The last complete one.
    std::uint64_t body_bytes_ = 0;
    std::uint64_t body_rest_ = 0;
    std::span<const std::byte> body_;
    unsigned flags_ = 0;
    unsigned phase_ = 0;                ///< Of the mask.
    std::uint64_t fragments_bytes_ = 0; ///< Announced by the fragments so far.
    bool is_fragmented_ = false;        ///< A message is under way in several frames,
    bool is_last_fragment_ = false;     ///< of which this is the last.
    bool awaits_flags_ = false;         ///< So far its fragments were empty.
    websocket::close_code refusal_ = websocket::close_code::none;
    std::size_t held_bytes_ = 0;
    /// An incomplete header with its flags, or control frame.
    std::array<std::byte, websocket::header_bytes_max + websocket::control_payload_bytes_max> held_;
    std::array<std::byte, websocket::control_payload_bytes_max> control_;
};

} // namespace zlink::wire::zws
