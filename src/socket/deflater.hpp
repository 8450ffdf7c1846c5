// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"
#include "pipe/zlib_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace zlink::socket {

/// Compresses messages (RFC 7692, 7.2.1). Each may refer to those before it.
///
/// @threads The socket's.
class deflater {
public:
    /// @param window_bits  9 to 15.
    /// @param level        Of zlib, 1 to 9.
    /// @param bytes_max    Of memory.
    /// @throws std::bad_alloc
    deflater(std::uint8_t window_bits, int level,
             std::size_t bytes_max = limits::deflater_bytes_max);
    deflater(const deflater&) = delete;
    deflater& operator=(const deflater&) = delete;
    ~deflater();

    /// What deflate() may write behind what it says.
    static constexpr std::size_t spare_bytes = 5;

    /// Compresses a message.
    /// @param out  Room for as many bytes as the payload may take, and spare_bytes more.
    /// @return The payload's bytes. 0: it does not fit; the other side has not got what the next
    ///         message may refer to, so this is good for nothing any more.
    std::size_t deflate(std::span<const std::byte> message, std::span<std::byte> out) noexcept;

    /// Memory in use.
    std::size_t bytes() const noexcept { return memory_.bytes(); }

private:
    struct stream;

    pipe::zlib_memory memory_;
    std::unique_ptr<stream> stream_;
};

} // namespace zlink::socket
