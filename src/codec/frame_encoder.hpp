// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "codec/encoder.hpp"
#include "codec/outbound.hpp"
#include "crypto/curve_cipher.hpp"
#include "pipe/byte_buffer.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace zlink::tuning {

/// Bytes that are translated (encrypted) at a time for a peer whose wire format differs from the
/// rope's; a single larger frame passes alone.
constexpr std::size_t translated_bytes_max = std::size_t{64} * 1024;

} // namespace zlink::tuning

namespace zlink::codec {

/// Writes the frames of a rope in another form: as CURVE boxes, version 1.0 frames or ZWS frames;
/// subscriptions as messages, as before version 3.1. Works on batches of frames.
class frame_encoder final : public encoder {
public:
    enum class framing : std::uint8_t {
        zmtp,
        v1, ///< Not together with a sealer.
        zws,
        masked_zws, ///< This side is the client.
    };
    /// The form that the peer needs.
    struct needs {
        std::unique_ptr<crypto::curve_sealer> sealer{}; ///< Set if messages are encrypted.
        bool subscriptions_as_messages = false; ///< Instead of SUBSCRIBE and CANCEL commands.
        framing frames = framing::zmtp;
    };
    explicit frame_encoder(needs of_peer) noexcept;

    std::size_t gather(outbound& from, std::span<iovec> parts) override;
    [[nodiscard]] bool advance(outbound& from, std::size_t bytes) override;
    bool is_empty() const noexcept override { return buffer_.empty(); }
    bool is_begun() const noexcept override { return sent_bytes_ != 0; }
    bool takes_commands() const noexcept override { return sealer_ != nullptr; }
    void append_command(std::span<const std::byte> body) override;
    void append_message(std::span<const std::byte> body) override { append_frame(0, body); }
    bool abandon(outbound& from, bool& wake_writer) noexcept override;
    void trim() noexcept override;

    // gather() and advance() in steps.

    /// Encodes the next frames of the rope, if nothing is unsent; not beyond a control object.
    /// @throws std::bad_alloc
    void fill(outbound& from);

    std::span<const std::byte> unsent() const noexcept {
        return buffer_.view().subspan(sent_bytes_);
    }

    /// Drops the first `bytes` bytes of unsent().
    /// @return The bytes of the rope that are finished: 0 before everything was sent.
    std::uint64_t on_sent(std::size_t bytes) noexcept;

private:
    void encode(const wire::zmtp::frame_head& head, std::span<const std::byte> body);
    void append_frame(unsigned flags, std::span<const std::byte> body);
    void append_sealed(unsigned flags, std::span<const std::byte> body);
    void append_framed(unsigned flags, std::span<const std::byte> body);

    /// A frame in buffer_.
    struct sent_frame {
        std::uint64_t bytes;
        std::uint64_t source_bytes; ///< Of the rope's frame that it was made from.
    };
    /// The bytes sent when the connection closed.
    struct remains {
        std::uint64_t done_bytes; ///< Bytes of the rope that were sent as whole frames.
        bool is_cut_off;          ///< The next frame was partly sent.
    };
    remains count_sent() const noexcept;
    sent_frame frame_at(std::size_t offset) const noexcept;
    bool is_zws() const noexcept {
        return framing_ == framing::zws || framing_ == framing::masked_zws;
    }

    std::unique_ptr<crypto::curve_sealer> sealer_;
    bool subscriptions_as_messages_;
    framing framing_;
    pipe::byte_buffer buffer_;
    pipe::byte_buffer sealed_; ///< A frame that ZWS wraps; empty between calls.
    std::size_t sent_bytes_ = 0;
    std::size_t command_bytes_ = 0;
    std::uint64_t source_bytes_ = 0; ///< Bytes of the rope that are encoded in buffer_.
};

} // namespace zlink::codec
