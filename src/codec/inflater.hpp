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

/// Inflates the messages of one peer (RFC 7692, 7.2.2), however they come in pieces.
///
/// For each message: begin_part() for bytes of its payload, then inflate() until all of them are
/// used, and so on; end_message() and inflate() for what is left; is_whole().
///
/// It takes memory from the first message on. Between messages rest() gives that back, unless the
/// next one may refer to those before it.
///
/// @threads The session's.
class inflater {
public:
    /// @param from       How the peer compresses.
    /// @param bytes_max  Of memory.
    explicit inflater(const wire::websocket::deflate_direction& from,
                      std::size_t bytes_max = limits::inflater_bytes_max) noexcept;
    inflater(const inflater&) = delete;
    inflater& operator=(const inflater&) = delete;
    ~inflater();

    /// Says what inflate() goes on with; used until that says that it is used up.
    void begin_part(std::span<const std::byte> data) noexcept;

    /// All of the message has come: inflate() goes on with what senders leave out at its end.
    void end_message() noexcept;

    /// @param out  At least one byte, at most limits::inflated_piece_bytes_max.
    /// @return The bytes written to `out`. Fewer than fit only if all input is used up, or it is
    ///         corrupt.
    /// @throws std::bad_alloc
    [[nodiscard]] std::size_t inflate(std::span<std::byte> out);

    /// Whether what came is not what deflate makes. Nothing follows.
    bool is_corrupt() const noexcept { return place_ == place::corrupt; }

    /// Whether the message, of which all is inflated, was complete. Another one may follow.
    bool is_whole() noexcept;

    /// Gives back what need not be kept between messages.
    void rest() noexcept;

    /// Memory in use.
    std::size_t bytes() const noexcept { return memory_.bytes(); }

private:
    struct stream;

    void open();
    std::size_t step(std::span<std::byte> out);
    void close() noexcept;

    /// Where the message stands.
    enum class place : std::uint8_t {
        before, ///< Nothing of it has come.
        inside,
        behind_last_block, ///< Of a deflate stream that says that it ends; another may follow.
        at_end,            ///< What senders leave out is being inflated.
        whole,             ///< That brought it to the end of a block, as it must.
        corrupt,
    };

    wire::websocket::deflate_direction from_;
    pipe::zlib_memory memory_;
    std::unique_ptr<stream> stream_; ///< Null: none is needed so far.
    std::span<const std::byte> input_;
    place place_ = place::before;
};

} // namespace zlink::codec
