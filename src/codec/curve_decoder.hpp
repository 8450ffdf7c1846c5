// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "codec/decoder.hpp"
#include "codec/growing_block.hpp"
#include "crypto/curve_cipher.hpp"
#include "pipe/byte_buffer.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>

namespace zlink::codec {

/// Finds the MESSAGE frames of a peer, and decrypts them into the rope, each byte once. A large
/// payload that is incomplete gets its own block, which grows no faster than bytes arrive, and is
/// decrypted in place.
class curve_decoder final : public decoder {
public:
    /// @param body_bytes_max  Largest payload accepted, in bytes.
    curve_decoder(const crypto::curve_opener& opener, std::uint64_t body_bytes_max) noexcept;
    curve_decoder(const curve_decoder&) = delete;
    curve_decoder& operator=(const curve_decoder&) = delete;

    std::size_t prepare(std::span<std::byte> scratch, std::span<iovec, 2> parts) override;
    result<void> received(std::size_t bytes, inbound& into) override;
    result<void> feed(std::span<const std::byte> data, inbound& into) override;
    result<void> resume(inbound& into) override;
    void trim() noexcept override;

private:
    using message_head = std::array<std::byte, wire::zmtp::curve_message_overhead_bytes>;

    /// A payload that is being received into its own block.
    struct large_payload {
        growing_block sealed; ///< Decrypted in place.
        message_head head;
        std::uint8_t flags = 0;
        bool is_open = false; ///< Decrypted; waits for credit.
    };

    result<void> consume(std::span<const std::byte> data, inbound& into);
    result<void> open_run(std::span<const std::byte>& data, inbound& into);
    void begin_large(std::span<const std::byte> frame, const wire::zmtp::frame_head& head);
    result<void> finish_large(inbound& into);

    crypto::curve_opener opener_;
    std::uint64_t sealed_bytes_max_;
    pipe::byte_buffer held_; ///< Received, not decrypted: an incomplete frame, or no credit.
    large_payload large_;
    std::byte* scratch_ = nullptr;
    std::size_t offered_bytes_ = 0;  ///< Of the first part that prepare() described.
    std::uint64_t proven_bytes_ = 0; ///< The largest payload that this peer has completed.
};

} // namespace zlink::codec
