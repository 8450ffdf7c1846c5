// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/secret.hpp"
#include "codec/decoder.hpp"
#include "codec/websocket_scanner.hpp"
#include "pipe/byte_buffer.hpp"
#include "wire/zws_decoder.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace zlink::codec {

/// Converts the frames of a ZWS peer to ZMTP frames: those of the handshake for the caller, then
/// messages for the rope, or for a decrypting decoder.
///
/// After the peer's close frame, and after an error, further input is discarded.
class zws_decoder final : public decoder {
public:
    /// @param body_bytes_max  Largest body accepted, in bytes.
    /// @param controls        Receives the peer's pings and its close frame.
    zws_decoder(wire::websocket::sender from, std::uint64_t body_bytes_max,
                websocket_sink& controls) noexcept
        : decoder_(from, body_bytes_max), controls_(controls) {}

    /// Consumes bytes from the front of `data`, up to the end of the first frame.
    /// @param out  The equivalent ZMTP bytes are appended.
    /// @error message_too_large  A body in several frames exceeds the limit of a command.
    /// @error                    As received().
    result<void> take_frame(std::span<const std::byte>& data, secret_bytes& out);

    /// From now on passes frames through `inner`.
    void pass_through(std::unique_ptr<decoder> inner) noexcept { inner_ = std::move(inner); }

    /// Whether further input is discarded.
    bool is_over() const noexcept { return is_over_; }

    /// The error for a text frame, which no ZWS peer sends.
    static const errc unexpected_text;

    std::size_t prepare(std::span<std::byte> scratch, std::span<iovec, 2> parts) override;
    /// @error  As decoder::received(), and unexpected_text.
    result<void> received(std::size_t bytes, inbound& into) override;
    result<void> feed(std::span<const std::byte> data, inbound& into) override;
    result<void> resume(inbound& into) override;
    void trim() noexcept override;

private:
    result<void> ended_by(const result<void>& outcome) noexcept;
    result<void> consume(std::span<std::byte> data, inbound& into);
    result<bool> decode(std::span<std::byte>& data, std::byte* out, std::size_t& used);
    result<void> pass_on(std::span<const std::byte> frames, inbound& into);
    result<void> pass_on_fragments(inbound& into);
    result<void> on_control();
    errc refuse() noexcept;

    wire::zws::decoder decoder_;
    websocket_sink& controls_;
    std::unique_ptr<decoder> inner_; ///< Null: the frames go to the rope.
    pipe::byte_buffer for_inner_;    ///< Empty between calls.
    pipe::byte_buffer fragments_;    ///< Of a body in several frames.
    std::byte* scratch_ = nullptr;
    bool is_over_ = false;
};

} // namespace zlink::codec
