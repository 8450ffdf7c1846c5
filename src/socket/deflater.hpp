// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"
#include "pipe/zlib_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace zlink::socket {

/// Compresses messages (RFC 7692, 7.2.1). Each may refer to earlier ones.
///
/// @threads The socket's.
class deflater {
public:
    /// @param window_bits  9 to 15.
    /// @param level        zlib's, 1 to 9.
    /// @param bytes_max    The memory limit.
    /// @throws std::bad_alloc
    deflater(std::uint8_t window_bits, int level,
             std::size_t bytes_max = limits::deflater_bytes_max);
    deflater(const deflater&) = delete;
    deflater& operator=(const deflater&) = delete;
    ~deflater();

    /// Bytes that deflate() may write beyond the returned count.
    static constexpr std::size_t spare_bytes = 5;

    /// Compresses a message.
    /// @param out  Room for the maximum payload and spare_bytes more.
    /// @return The payload's bytes. 0: it does not fit. The object must then be discarded: the peer
    ///         lacks data that the next message may refer to.
    std::size_t deflate(std::span<const std::byte> message, std::span<std::byte> out) noexcept;

    /// Memory in use.
    std::size_t bytes() const noexcept { return memory_.bytes(); }

private:
    struct stream;

    pipe::zlib_memory memory_;
    std::unique_ptr<stream> stream_;
};

} // namespace zlink::socket
