// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "wire/zmtp/greeting.hpp"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace zlink::wire::zmtp {

/// The exchange after the greeting of a peer older than 3.0, in place of a handshake: each side
/// sends one frame with its identity, of at most identity_bytes_max octets. Does no I/O.
class identity_exchange {
public:
    /// @param peer  The contents of its greeting.
    explicit identity_exchange(const peer_greeting& peer) noexcept
        : version_(peer.version), has_signature_(peer.type.has_value()) {}

    /// Appends the octets to send. A peer without a signature has taken ours for the header.
    void start(std::string_view own_identity, std::vector<std::byte>& out) const;

    /// Takes octets off the front of `input`, up to the end of the frame.
    /// @error protocol_violation  It is not such a frame.
    /// @error message_too_large   It is larger than an identity may be.
    result<void> on_received(std::span<const std::byte>& input);

    bool is_complete() const noexcept { return is_complete_; }

    /// The peer's identity, once it is complete. A view into this object.
    std::string_view identity() const noexcept;

private:
    result<void> on_header();

    peer_version version_;
    bool has_signature_;
    bool is_complete_ = false;
    std::vector<std::byte> frame_;   ///< The octets received so far.
    std::size_t identity_begin_ = 0; ///< In frame_; 0 until the header is complete.
    std::size_t frame_bytes_ = 0;    ///< Once the header is complete.
};

} // namespace zlink::wire::zmtp
