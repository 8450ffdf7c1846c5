// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "codec/outbound.hpp"
#include "crypto/curve_cipher.hpp"
#include "pipe/octet_buffer.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace zlink::codec {

/// What stands between the outgoing rope and a peer that needs other octets: CURVE's boxes, frames
/// of version 1.0, those of ZWS, subscriptions as messages as before version 3.1. Works on a batch
/// of frames at a time.
///
/// @threads The session's.
class encoder {
public:
    enum class framing : std::uint8_t {
        zmtp,
        v1, ///< Not together with a sealer.
        zws,
        masked_zws, ///< We are the client.
    };
    /// What the peer needs.
    struct needs {
        const crypto::curve_sealer* sealer = nullptr; ///< If messages are encrypted.
        bool subscriptions_as_messages = false;       ///< Instead of SUBSCRIBE and CANCEL commands.
        framing frames = framing::zmtp;
    };
    explicit encoder(const needs& of_peer);

    /// Translates frames that are next in the rope, if nothing is unsent; not beyond a control
    /// object.
    /// @throws std::bad_alloc
    void fill(outbound& from);

    /// Whether commands of the session's own pass through here too; otherwise nothing changes them.
    bool seals_commands() const noexcept { return sealer_.has_value(); }

    /// Appends a command of the session's own.
    /// @throws std::bad_alloc
    void append_command(std::span<const std::byte> body);
    /// Of such commands, in what is there.
    std::size_t command_bytes() const noexcept { return command_bytes_; }

    std::span<const std::byte> unsent() const noexcept {
        return buffer_.view().subspan(sent_bytes_);
    }
    bool is_empty() const noexcept { return buffer_.empty(); }
    /// Whether part of what is there was sent.
    bool is_begun() const noexcept { return sent_bytes_ != 0; }

    /// Drops the first `bytes` octets of unsent().
    /// @return The octets of the rope that are done with: none before everything was sent.
    std::uint64_t on_sent(std::size_t bytes) noexcept;

    /// What was sent when the connection went.
    struct remains {
        std::uint64_t done_bytes; ///< Octets of the rope that were sent as whole frames.
        bool is_cut_off;          ///< Part of the frame behind them was sent, too.
    };
    /// The connection is gone: forgets what is unsent.
    remains abandon() noexcept;

    /// Gives the memory back, if it is empty.
    void trim() noexcept;

private:
    void translate(const wire::zmtp::frame_head& head, std::span<const std::byte> body);
    void append_frame(unsigned flags, std::span<const std::byte> body);
    void append_sealed(unsigned flags, std::span<const std::byte> body);
    void append_framed(unsigned flags, std::span<const std::byte> body);

    /// A frame in buffer_.
    struct sent_frame {
        std::uint64_t bytes;
        std::uint64_t source_bytes; ///< Of the frame in the rope that it was made of.
    };
    sent_frame frame_at(std::size_t offset) const noexcept;
    bool is_zws() const noexcept {
        return framing_ == framing::zws || framing_ == framing::masked_zws;
    }

    std::optional<crypto::curve_sealer> sealer_;
    bool subscriptions_as_messages_;
    framing framing_;
    pipe::octet_buffer buffer_;
    pipe::octet_buffer sealed_; ///< A frame that ZWS is put around; empty between calls.
    std::size_t sent_bytes_ = 0;
    std::size_t command_bytes_ = 0;
    std::uint64_t source_bytes_ = 0; ///< Octets of the rope that buffer_ was made of.
};

} // namespace zlink::codec
