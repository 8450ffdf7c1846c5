// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/copy.hpp"
#include "base/inline.hpp"
#include "base/random_bytes.hpp"
#include "wire/length/frame.hpp"
#include "wire/websocket/frame.hpp"
#include "wire/zmtp/frame.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zlink::pipe {

/// The format of the frames in a pipe's queues: that of the connection's wire protocol.
enum class layout : std::uint8_t {
    zmtp,
    length,
    websocket,        ///< Received frames were unmasked; sent ones are not masked.
    masked_websocket, ///< Sent frames are masked: this end is the client.
};

/// A flag of frames besides those of ZMTP, in one of its reserved bits: the payload is text.
inline constexpr std::uint8_t flag_text = 0x80;

/// The same for frames sent over WebSocket: the payload is compressed (RSV1, RFC 7692).
inline constexpr std::uint8_t flag_compressed = wire::websocket::flag_compressed;

/// The contents of a frame header, in any layout.
struct frame_head {
    std::uint64_t body_bytes = 0;
    std::uint8_t header_bytes = 0;
    std::uint8_t flags = 0; ///< Of wire::zmtp, and flag_text.

    bool operator==(const frame_head&) const = default;
};

// The operations that a queue needs of a layout: the size of a header, writing a frame, and reading
// a header that is known to be complete and valid.

struct zmtp_layout {
    static constexpr std::size_t header_bytes_max = wire::zmtp::header_bytes_max;

    static constexpr std::size_t header_bytes(std::uint64_t body_bytes) noexcept {
        return wire::zmtp::header_bytes(body_bytes);
    }
    ZLINK_HOT static std::size_t write_header(std::byte* out, std::uint64_t body_bytes,
                                              std::uint8_t flags) noexcept {
        return wire::zmtp::write_header(out, body_bytes, flags);
    }
    ZLINK_HOT static void write_body(std::byte* out, const std::byte* body,
                                     std::size_t body_bytes) noexcept {
        copy_bytes(out, body, body_bytes);
    }
    ZLINK_HOT static wire::zmtp::frame_head read(const std::byte* in) noexcept {
        return wire::zmtp::read_head_trusted(in);
    }
};

struct length_layout {
    static constexpr std::size_t header_bytes_max = wire::length::header_bytes;

    static constexpr std::size_t header_bytes(std::uint64_t) noexcept {
        return wire::length::header_bytes;
    }
    static std::size_t write_header(std::byte* out, std::uint64_t body_bytes,
                                    std::uint8_t) noexcept {
        wire::length::write_header(out, body_bytes);
        return wire::length::header_bytes;
    }
    static void write_body(std::byte* out, const std::byte* body, std::size_t body_bytes) noexcept {
        copy_bytes(out, body, body_bytes);
    }
    static frame_head read(const std::byte* in) noexcept {
        return {wire::length::read_head_trusted(in).body_bytes, wire::length::header_bytes, 0};
    }
};

struct websocket_layout {
    static constexpr std::size_t header_bytes_max = wire::websocket::header_bytes_max;

    static constexpr std::size_t header_bytes(std::uint64_t body_bytes) noexcept {
        return wire::websocket::header_bytes(body_bytes);
    }
    static std::size_t write_header(std::byte* out, std::uint64_t body_bytes,
                                    std::uint8_t flags) noexcept {
        return wire::websocket::write_header(out, kind_of(flags), body_bytes, bits_of(flags));
    }
    static void write_body(std::byte* out, const std::byte* body, std::size_t body_bytes) noexcept {
        copy_bytes(out, body, body_bytes);
    }
    /// Also of masked frames: the key counts as part of the header.
    static frame_head read(const std::byte* in) noexcept {
        const wire::websocket::frame_head head = wire::websocket::read_head_trusted(in);
        const bool is_text = head.kind == wire::websocket::opcode::text;
        return {head.payload_bytes, head.header_bytes,
                static_cast<std::uint8_t>(is_text ? flag_text : 0)};
    }

    static constexpr wire::websocket::opcode kind_of(std::uint8_t flags) noexcept {
        return (flags & flag_text) != 0 ? wire::websocket::opcode::text
                                        : wire::websocket::opcode::binary;
    }
    static constexpr unsigned bits_of(std::uint8_t flags) noexcept {
        return wire::websocket::flag_fin | (flags & flag_compressed);
    }
};

/// Frames that a client sends. Their bodies are masked while they are copied in, so a body is never
/// referenced instead of copied.
struct masked_websocket_layout {
    static constexpr std::size_t header_bytes_max = wire::websocket::header_bytes_max;

    static constexpr std::size_t header_bytes(std::uint64_t body_bytes) noexcept {
        return wire::websocket::masked_header_bytes(body_bytes);
    }
    static std::size_t write_header(std::byte* out, std::uint64_t body_bytes, std::uint8_t flags,
                                    const wire::websocket::mask_key& key) noexcept {
        return wire::websocket::write_masked_header(out, websocket_layout::kind_of(flags),
                                                    body_bytes, key,
                                                    websocket_layout::bits_of(flags));
    }
    static std::size_t write_header(std::byte* out, std::uint64_t body_bytes,
                                    std::uint8_t flags) noexcept {
        return write_header(out, body_bytes, flags, random_bytes());
    }
    /// @param out  Behind the header, which holds the key.
    static void write_body(std::byte* out, const std::byte* body, std::size_t body_bytes) noexcept {
        wire::websocket::mask_key key;
        std::memcpy(key.data(), out - key.size(), key.size());
        wire::websocket::copy_masked(out, {body, body_bytes}, key);
    }
    static frame_head read(const std::byte* in) noexcept { return websocket_layout::read(in); }
};

} // namespace zlink::pipe
