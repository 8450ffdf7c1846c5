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

/// Turns what a peer of ZWS sends into frames of ZMTP: those of the handshake for whoever asks,
/// then messages for the rope, or for what decrypts them.
///
/// When the peer has said that it closes, and after an error, what else it sends is discarded.
class zws_decoder final : public decoder {
public:
    /// @param body_bytes_max  Largest body accepted, in bytes.
    /// @param controls        Is given the peer's pings, and that it closes.
    zws_decoder(wire::websocket::sender from, std::uint64_t body_bytes_max,
                websocket_sink& controls) noexcept
        : decoder_(from, body_bytes_max), controls_(controls) {}

    /// Takes bytes off the front of `data`, up to the end of the first frame.
    /// @param out  What they are in ZMTP is appended.
    /// @error message_too_large  A body in several frames is larger than a command may be.
    /// @error                    As received().
    result<void> take_frame(std::span<const std::byte>& data, secret_bytes& out);

    /// Has frames pass through `inner` from now on.
    void pass_through(std::unique_ptr<decoder> inner) noexcept { inner_ = std::move(inner); }

    /// Whether nothing that comes counts any more.
    bool is_over() const noexcept { return is_over_; }

    /// The error of a text, which no peer of ZWS sends.
    static const errc unexpected_text;

    std::size_t prepare(std::span<std::byte> scratch, std::span<iovec, 2> parts) override;
    /// @error  As input's, and unexpected_text.
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
    std::unique_ptr<decoder> inner_; ///< Null: the rope gets the frames.
    pipe::byte_buffer for_inner_;    ///< Empty between calls.
    pipe::byte_buffer fragments_;    ///< Of a body that comes in several frames.
    std::byte* scratch_ = nullptr;
    bool is_over_ = false;
};

} // namespace zlink::codec
