// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/socket_options.hpp"
#include "pipe/byte_buffer.hpp"
#include "socket/peer.hpp"
#include "wire/websocket/deflate_negotiation.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace zlink::socket {

/// A payload that was compressed, unless that made it no smaller.
class deflated {
public:
    /// @param by  Null: another one, for this payload only.
    /// @throws std::bad_alloc
    deflated(const outgoing& plain, std::uint8_t window_bits, int level, deflater* by = nullptr);

    /// What to send instead; null: it did not get smaller.
    outgoing* compressed() noexcept { return compressed_ ? &*compressed_ : nullptr; }

private:
    pipe::byte_buffer data_;
    std::optional<outgoing> compressed_;
};

/// Compresses what a STREAM sends to peers that agreed to that.
///
/// Where messages share a window, its deflater is kept with the peer. Where they do not, none is
/// kept, and a payload that goes to many peers is compressed once for all that have as large a
/// window.
///
/// @threads The socket's.
class deflation {
public:
    explicit deflation(const socket_options& options) noexcept : options_(options) {}

    /// Whether a payload of that size goes to that peer compressed, if that makes it smaller.
    bool is_for(const peer& to, std::size_t bytes) const noexcept {
        return to.deflates() && bytes <= limits::inflated_message_bytes_max &&
               bytes >= static_cast<std::size_t>(options_.web_deflate_bytes_min);
    }

    /// Compresses a payload for one peer, which has to be sent it, or to be forgotten by forget().
    /// @throws std::bad_alloc
    deflated for_one(peer& to, const outgoing& plain);

    /// The peer does not get what was compressed for it, or gets something else.
    static void forget(peer& about) noexcept { about.own_deflater.reset(); }

    /// A payload that goes to many peers.
    class broadcast {
    public:
        broadcast(deflation& by, const outgoing& plain) noexcept : by_(by), plain_(plain) {}

        /// What to send to that peer; null: as it is.
        /// @throws std::bad_alloc
        outgoing* for_peer(peer& to);

    private:
        using windows =
            std::array<std::optional<deflated>, wire::websocket::window_bits_max + 1 -
                                                    wire::websocket::compressing_window_bits_min>;

        deflation& by_;
        const outgoing& plain_;
        windows by_window_;
    };

    /// Payloads that were compressed so far.
    std::uint64_t count() const noexcept { return count_; }

private:
    const socket_options& options_;
    std::uint64_t count_ = 0;
};

} // namespace zlink::socket
