// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/octet_buffer.hpp"
#include "session/curve_cipher.hpp"
#include "session/outbound.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace zlink::session {

/// What stands between the outgoing rope and a peer that needs other octets: CURVE's boxes, frames
/// of version 1.0, subscriptions as messages as before version 3.1. Works on a batch of frames at a
/// time.
///
/// @threads The session's.
class translation {
public:
    /// What the peer needs.
    struct needs {
        const curve_sealer* sealer = nullptr;   ///< If messages are encrypted.
        bool subscriptions_as_messages = false; ///< Instead of SUBSCRIBE and CANCEL commands.
        bool v1_frames = false;                 ///< Not together with a sealer.
    };
    explicit translation(const needs& of_peer);

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

    /// The connection is gone: forgets what is unsent.
    /// @return The octets of the rope that were sent as whole frames.
    std::uint64_t abandon() noexcept;

    /// Gives the memory back, if it is empty.
    void trim() noexcept;

private:
    void translate(const wire::zmtp::frame_head& head, std::span<const std::byte> body);
    void append_frame(unsigned flags, std::span<const std::byte> body);

    /// A frame in buffer_.
    struct sent_frame {
        std::uint64_t bytes;
        std::uint64_t source_bytes; ///< Of the frame in the rope that it was made of.
    };
    sent_frame frame_at(std::size_t offset) const noexcept;

    std::optional<curve_sealer> sealer_;
    bool subscriptions_as_messages_;
    bool v1_frames_;
    pipe::octet_buffer buffer_;
    std::size_t sent_bytes_ = 0;
    std::size_t command_bytes_ = 0;
    std::uint64_t source_bytes_ = 0; ///< Octets of the rope that buffer_ was made of.
};

} // namespace zlink::session
