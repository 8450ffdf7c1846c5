// SPDX-License-Identifier: MPL-2.0
//
// The two framings of STREAM: u32 BE length | body on tcp and tls, one WebSocket message (RFC 6455)
// on ws and wss; and the start of every body:
//
//   +-------+----------------+---------+   phase: 0 warming up, 1 measuring
//   | phase | sent, ns (u64) | filling |   sent:  the sender's own clock, in its own byte order
//   +-------+----------------+---------+

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace stream_bench {

inline constexpr std::size_t body_bytes_min = 16;
inline constexpr std::size_t length_head_bytes = 4;
inline constexpr std::size_t mask_key_bytes = 4;
inline constexpr std::size_t websocket_head_bytes_max = 10; // Without the mask's key.

inline constexpr unsigned char final_flag = 0x80;
inline constexpr unsigned char opcode_mask = 0x0f;
inline constexpr unsigned char opcode_continuation = 0;
inline constexpr unsigned char opcode_binary = 2;
inline constexpr unsigned char opcode_close = 8;
inline constexpr unsigned char opcode_ping = 9;
inline constexpr unsigned char opcode_pong = 10;
inline constexpr unsigned char mask_flag = 0x80;

enum class message_phase : std::uint8_t { warming = 0, measuring = 1 };

struct stamp {
    message_phase phase = message_phase::warming;
    std::uint64_t sent_ns = 0;

    static constexpr std::size_t wire_bytes = 9;

    friend bool operator==(const stamp&, const stamp&) = default;

    void encode(unsigned char* out) const noexcept {
        out[0] = static_cast<unsigned char>(phase);
        std::memcpy(out + 1, &sent_ns, sizeof sent_ns);
    }

    static stamp decode(const unsigned char* in) noexcept {
        stamp decoded;
        decoded.phase = static_cast<message_phase>(in[0]);
        std::memcpy(&decoded.sent_ns, in + 1, sizeof decoded.sent_ns);
        return decoded;
    }
};

inline unsigned char filling_at(std::size_t offset) noexcept {
    return static_cast<unsigned char>(offset * 31 + 7);
}

inline void encode_length(unsigned char* out, std::size_t body_bytes) noexcept {
    for (std::size_t index = 0; index < length_head_bytes; ++index) {
        out[index] = static_cast<unsigned char>(body_bytes >> (24 - 8 * index));
    }
}

inline std::size_t decode_length(const unsigned char* in) noexcept {
    return std::size_t{in[0]} << 24 | std::size_t{in[1]} << 16 | std::size_t{in[2]} << 8 | in[3];
}

/// Writes the header of a frame as a server sends it; a client sets mask_flag in the second byte.
/// @return Its length: 2, 4 or 10.
inline std::size_t encode_websocket_head(unsigned char* out, unsigned char first_byte,
                                         std::uint64_t payload_bytes) noexcept {
    out[0] = first_byte;
    if (payload_bytes < 126) {
        out[1] = static_cast<unsigned char>(payload_bytes);
        return 2;
    }
    const std::size_t size_bytes = payload_bytes < 65536 ? 2 : 8;
    out[1] = size_bytes == 2 ? 126 : 127;
    for (std::size_t index = 0; index < size_bytes; ++index) {
        const std::size_t shift = 8 * (size_bytes - 1 - index);
        out[2 + index] = static_cast<unsigned char>(payload_bytes >> shift);
    }
    return 2 + size_bytes;
}

/// The length of a header, its key included, given the first two bytes.
inline std::size_t websocket_head_bytes(const unsigned char* in) noexcept {
    const unsigned size_code = in[1] & 0x7f;
    const std::size_t size_bytes = size_code == 126 ? 2 : size_code == 127 ? 8 : 0;
    return 2 + size_bytes + ((in[1] & mask_flag) != 0 ? mask_key_bytes : 0);
}

/// The payload length that a whole header announces.
inline std::uint64_t websocket_payload_bytes(const unsigned char* in) noexcept {
    const unsigned size_code = in[1] & 0x7f;
    if (size_code < 126) {
        return size_code;
    }
    std::uint64_t bytes = 0;
    for (std::size_t index = 0; index < (size_code == 126 ? 2U : 8U); ++index) {
        bytes = bytes << 8 | in[2 + index];
    }
    return bytes;
}

using mask_key = std::array<unsigned char, mask_key_bytes>;

/// Copies bytes XORed with the key; `out` may be `in` or lie before it in the same buffer.
///
/// @param phase  The number of payload bytes before these, modulo 4.
inline void copy_masked(unsigned char* out, const unsigned char* in, std::size_t data,
                        const mask_key& key, std::size_t phase) noexcept {
    std::uint64_t pattern = 0;
    for (std::size_t index = 0; index < sizeof pattern; ++index) {
        pattern |= std::uint64_t{key[(phase + index) % 4]} << (8 * index);
    }
    // Four words at a time are loaded before any is stored: the compiler may use vectors although
    // the two buffers may overlap.
    std::size_t done = 0;
    for (; data - done >= 32; done += 32) {
        std::uint64_t words[4];
        std::memcpy(words, in + done, sizeof words);
        for (std::uint64_t& word : words) {
            word ^= pattern;
        }
        std::memcpy(out + done, words, sizeof words);
    }
    for (; done < data; ++done) {
        out[done] = in[done] ^ key[(phase + done) % 4];
    }
}

} // namespace stream_bench
