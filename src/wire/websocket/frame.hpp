// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/byte_order.hpp"
#include "wire/websocket/mask.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zlink::wire::websocket {

// One frame (RFC 6455, 5.2):
//
//    0 1 2 3 4 5 6 7 8 9 ...
//   +-+-+-+-+-------+-+-------------+--------------------+---------------+------------------+
//   |F|R|R|R|       |M|   length    | extended length    | masking key   |                  |
//   |I|S|S|S|opcode |A|     (7)     | 0, 2 or 8 octets,  | 4 octets,     | payload (length) |
//   |N|V|V|V|  (4)  |S|             | big-endian, if     | if MASK is    |                  |
//   | |1|2|3|       |K|             | length is 126, 127 | set           |                  |
//   +-+-+-+-+-------+-+-------------+--------------------+---------------+------------------+
//
// Clients mask, servers do not. The length has the shortest form, and its top bit is zero. RSV1
// marks a compressed message (RFC 7692, 6): on its first frame only, where that was negotiated.

/// The type of a frame.
enum class opcode : std::uint8_t {
    continuation = 0, ///< A further fragment of a message.
    text = 1,         ///< A message of UTF-8, or its first fragment.
    binary = 2,       ///< A message of any octets, or its first fragment.
    close = 8,
    ping = 9,
    pong = 10,
};

/// Whether frames of this kind concern the connection, and are not a message or a part of one. They
/// are not fragmented, are short, and may come between the fragments of a message.
constexpr bool is_control(opcode kind) noexcept {
    return (static_cast<unsigned>(kind) & 8) != 0;
}

inline constexpr unsigned flag_fin = 0x80;        ///< The last frame of a message.
inline constexpr unsigned flag_compressed = 0x40; ///< RSV1: the message is compressed.
inline constexpr unsigned flags_reserved = 0x30;  ///< RSV2 and RSV3. Must be zero.
inline constexpr unsigned opcode_bits = 0x0f;

inline constexpr unsigned length_mask_bit = 0x80; ///< In the length octet: a masking key follows.
inline constexpr unsigned length_bits = 0x7f;
inline constexpr unsigned length_of_2 = 126; ///< The length is in the next 2 octets,
inline constexpr unsigned length_of_8 = 127; ///< or in the next 8.

inline constexpr std::uint64_t control_payload_bytes_max = 125;
inline constexpr std::uint64_t short_payload_bytes_max = 125;
inline constexpr std::uint64_t medium_payload_bytes_max = 0xffff;
inline constexpr std::uint64_t payload_bytes_limit = ~std::uint64_t{0} >> 1;

inline constexpr std::size_t mask_key_bytes = 4;
inline constexpr std::size_t header_bytes_min = 2;
inline constexpr std::size_t header_bytes_max = 14;

/// The size of the header of an unmasked frame in octets: 2, 4 or 10.
constexpr std::size_t header_bytes(std::uint64_t payload_bytes) noexcept {
    return payload_bytes <= short_payload_bytes_max    ? 2
           : payload_bytes <= medium_payload_bytes_max ? 4
                                                       : 10;
}

/// The size of the header of a masked frame in octets: 6, 8 or 14.
constexpr std::size_t masked_header_bytes(std::uint64_t payload_bytes) noexcept {
    return header_bytes(payload_bytes) + mask_key_bytes;
}

/// Writes the header of a frame that a server sends.
///
/// @param out            Room for header_bytes(payload_bytes) octets.
/// @param payload_bytes  At most payload_bytes_limit; control_payload_bytes_max if `kind` is a
///                       control frame.
/// @param flags          flag_fin, flag_compressed.
/// @return The octets written.
inline std::size_t write_header(std::byte* out, opcode kind, std::uint64_t payload_bytes,
                                unsigned flags = flag_fin) noexcept {
    out[0] = static_cast<std::byte>(flags | static_cast<unsigned>(kind));
    if (payload_bytes <= short_payload_bytes_max) [[likely]] {
        out[1] = static_cast<std::byte>(payload_bytes);
    } else if (payload_bytes <= medium_payload_bytes_max) {
        out[1] = std::byte{length_of_2};
        store_big_endian(out + 2, static_cast<std::uint16_t>(payload_bytes));
    } else {
        out[1] = std::byte{length_of_8};
        store_big_endian(out + 2, payload_bytes);
    }
    return header_bytes(payload_bytes);
}

/// Writes the header of a frame that a client sends. Its payload has to be masked with `key`.
///
/// @param out  Room for masked_header_bytes(payload_bytes) octets.
/// @param key  A new, unpredictable one for each frame (RFC 6455, 5.3).
/// @return The octets written.
inline std::size_t write_masked_header(std::byte* out, opcode kind, std::uint64_t payload_bytes,
                                       const mask_key& key, unsigned flags = flag_fin) noexcept {
    const std::size_t key_at = write_header(out, kind, payload_bytes, flags);
    out[1] |= std::byte{length_mask_bit};
    std::memcpy(out + key_at, key.data(), mask_key_bytes);
    return key_at + mask_key_bytes;
}

/// The contents of a header.
struct frame_head {
    std::uint64_t payload_bytes = 0;
    mask_key key{}; ///< Zeros if the frame is not masked.
    std::uint8_t header_bytes =
        0;                  ///< 2 to 14: the payload starts so far behind the header's start.
    std::uint8_t flags = 0; ///< flag_fin, flag_compressed.
    opcode kind = opcode::continuation;

    constexpr bool is_final() const noexcept { return (flags & flag_fin) != 0; }
    constexpr bool is_compressed() const noexcept { return (flags & flag_compressed) != 0; }
    constexpr bool is_control() const noexcept { return websocket::is_control(kind); }
    constexpr std::uint64_t frame_bytes() const noexcept { return header_bytes + payload_bytes; }
};

/// Reads a whole header that read_head has accepted, or that was written here.
inline frame_head read_head_trusted(const std::byte* in) noexcept {
    const auto first = std::to_integer<unsigned>(in[0]);
    const auto second = std::to_integer<unsigned>(in[1]);
    frame_head head;
    head.payload_bytes = second & length_bits;
    head.header_bytes = 2;
    head.flags = static_cast<std::uint8_t>(first & (flag_fin | flag_compressed));
    head.kind = static_cast<opcode>(first & opcode_bits);
    if (head.payload_bytes == length_of_2) {
        head.payload_bytes = load_big_endian<std::uint16_t>(in + 2);
        head.header_bytes = 4;
    } else if (head.payload_bytes == length_of_8) {
        head.payload_bytes = load_big_endian<std::uint64_t>(in + 2);
        head.header_bytes = 10;
    }
    if ((second & length_mask_bit) != 0) {
        std::memcpy(head.key.data(), in + head.header_bytes, mask_key_bytes);
        head.header_bytes += mask_key_bytes;
    }
    return head;
}

/// The side that sends frames.
enum class sender : std::uint8_t {
    client, ///< All its frames are masked.
    server, ///< Its frames are not masked.
};

/// Rules for the frames of one peer in addition to RFC 6455.
struct frame_rules {
    sender from = sender::client;
    bool may_compress = false; ///< permessage-deflate was negotiated.

    /// Largest payload of a frame that is not a control frame, in octets. Where messages may be
    /// compressed, the maximum compressed size of the largest one (compressed_bytes_max).
    std::uint64_t payload_bytes_max = payload_bytes_limit;
};

/// The result of read_head.
enum class head_status : std::uint8_t {
    complete,   ///< A valid header.
    incomplete, ///< Valid so far, but more octets are needed.
    violation,  ///< It breaks RFC 6455: close with close_code::protocol_error.
    too_large,  ///< The payload is above the limit: close with close_code::too_large.
};

/// Whether a frame may begin with this octet: no reserved bit or opcode, no fragmented control
/// frame, RSV1 on the first frame of a message only.
constexpr bool may_begin_frame(unsigned first, bool may_compress) noexcept {
    const unsigned kind = first & opcode_bits;
    if ((first & flags_reserved) != 0 || (kind & 7) > 2) {
        return false;
    }
    if ((first & flag_compressed) != 0 && !(may_compress && (kind == 1 || kind == 2))) {
        return false;
    }
    return (kind & 8) == 0 || (first & flag_fin) != 0;
}

/// Reads a header that a peer sent. Needs no octet of the payload, so a hostile length never makes
/// the caller wait or allocate; an error is reported at the octet that shows it.
///
/// Does not know the preceding frames: message_tracker checks whether the frame may come now.
///
/// @param available  Octets at `in`; may be zero.
/// @param out        Set if the outcome is `complete`, untouched otherwise.
/// @return `violation` for a reserved bit or opcode; RSV1 where it is not allowed; a control frame
///         that is fragmented or longer than 125 octets; a client's frame that is not masked, or a
///         server's that is; a length that has a shorter form, or its top bit set.
inline head_status read_head(const std::byte* in, std::size_t available, const frame_rules& rules,
                             frame_head& out) noexcept {
    if (available == 0) {
        return head_status::incomplete;
    }
    if (!may_begin_frame(std::to_integer<unsigned>(in[0]), rules.may_compress)) {
        return head_status::violation;
    }
    if (available < header_bytes_min) {
        return head_status::incomplete;
    }
    const auto second = std::to_integer<unsigned>(in[1]);
    const bool is_masked = (second & length_mask_bit) != 0;
    const unsigned length = second & length_bits;
    const bool is_control_frame = (std::to_integer<unsigned>(in[0]) & 8) != 0;
    if (is_masked != (rules.from == sender::client) ||
        (is_control_frame && length > control_payload_bytes_max)) {
        return head_status::violation;
    }

    std::uint64_t payload_bytes = length;
    std::size_t key_at = header_bytes_min;
    if (length >= length_of_2) {
        key_at += length == length_of_2 ? 2 : 8;
        if (available < key_at) {
            return head_status::incomplete;
        }
        payload_bytes = length == length_of_2 ? load_big_endian<std::uint16_t>(in + 2)
                                              : load_big_endian<std::uint64_t>(in + 2);
        if (header_bytes(payload_bytes) != key_at || payload_bytes > payload_bytes_limit) {
            return head_status::violation;
        }
    }
    if (payload_bytes > rules.payload_bytes_max && !is_control_frame) {
        return head_status::too_large;
    }
    if (available < key_at + (is_masked ? mask_key_bytes : 0)) {
        return head_status::incomplete;
    }
    out = read_head_trusted(in);
    return head_status::complete;
}

} // namespace zlink::wire::websocket
