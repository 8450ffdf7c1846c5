// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"
#include "pipe/zlib_memory.hpp"
#include "wire/websocket/deflate_negotiation.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace zlink::codec {

/// Inflates the messages of one peer (RFC 7692, 7.2.2), in pieces of any size.
///
/// For each message: begin_part() for bytes of its payload, then inflate() until they are used up,
/// repeatedly; then end_message() and inflate() for the rest; then is_whole().
///
/// Allocates memory at the first message. Between messages rest() frees it, unless the next message
/// may refer to earlier ones.
///
/// @threads The session's.
class inflater {
public:
    /// @param from       The peer's compression parameters.
    /// @param bytes_max  The memory limit.
    explicit inflater(const wire::websocket::deflate_direction& from,
                      std::size_t bytes_max = limits::inflater_bytes_max) noexcept;
    inflater(const inflater&) = delete;
    inflater& operator=(const inflater&) = delete;
    ~inflater();

    /// Sets the input of inflate(), which must stay valid until it is used up.
    void begin_part(std::span<const std::byte> data) noexcept;

    /// The message has arrived: inflate() continues with the bytes that senders omit at its end.
    void end_message() noexcept;

    /// @param out  At least one byte, at most limits::inflated_piece_bytes_max.
    /// @return The bytes written to `out`. Fewer than fit only if the input is used up or corrupt.
    /// @throws std::bad_alloc
    [[nodiscard]] std::size_t inflate(std::span<std::byte> out);

    /// Whether the input is not valid deflate data. No more input is accepted.
    bool is_corrupt() const noexcept { return place_ == place::corrupt; }

    /// Whether the inflated message was complete. Another one may follow.
    bool is_whole() noexcept;

    /// Frees memory that is not needed between messages.
    void rest() noexcept;

    /// Memory in use.
    std::size_t bytes() const noexcept { return memory_.bytes(); }

private:
    struct stream;

    void open();
    std::size_t step(std::span<std::byte> out);
    void close() noexcept;

    /// The position in the message.
    enum class place : std::uint8_t {
        before, ///< Nothing has arrived.
        inside,
        behind_last_block, ///< After a deflate stream's final block; another may follow.
        at_end,            ///< The omitted bytes are being inflated.
        whole,             ///< They completed a block, as required.
        corrupt,
    };

    wire::websocket::deflate_direction from_;
    pipe::zlib_memory memory_;
    std::unique_ptr<stream> stream_; ///< Null: not needed so far.
    std::span<const std::byte> input_;
    place place_ = place::before;
};

} // namespace zlink::codec
