// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/socket_options.hpp"
#include "pipe/byte_buffer.hpp"
#include "socket/peer.hpp"
#include "socket/stream_encoding.hpp"
#include "wire/websocket/deflate_negotiation.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace zlink::socket {

/// A compressed payload, unless compression made it no smaller.
class deflated {
public:
    /// @param by  Null: a temporary deflater, for this payload only.
    /// @throws std::bad_alloc
    deflated(const outgoing& plain, std::uint8_t window_bits, int level, deflater* by = nullptr);

    /// The payload to send instead; null: it did not get smaller.
    outgoing* compressed() noexcept { return compressed_ ? &*compressed_ : nullptr; }

private:
    pipe::byte_buffer data_;
    std::optional<outgoing> compressed_;
};

/// Compresses the messages of a STREAM for peers that negotiated it.
///
/// If messages share a window, each peer keeps its deflater. Otherwise none is kept, and a
/// broadcast payload is compressed once for all peers with the same window size.
///
/// @threads The socket's.
class deflation {
public:
    explicit deflation(const socket_options& options) noexcept : options_(options) {}

    /// Whether a payload of that size is sent to that peer compressed, if that makes it smaller.
    bool is_for(const peer& to, std::size_t bytes) const noexcept {
        return to.deflates() && bytes <= limits::inflated_message_bytes_max &&
               bytes >= static_cast<std::size_t>(options_.web_deflate_bytes_min);
    }

    /// Appends a payload for a peer that has credit, compressed if that makes it smaller. Takes it
    /// over if it may. The caller must end the message.
    /// @throws std::bad_alloc  Nothing was appended.
    void push(peer& to, takeable<outgoing> source) {
        if (is_for(to, source->bytes())) [[unlikely]] {
            return push_deflated(to, *source);
        }
        push_payload(to, source, tuning::external_bytes_min);
    }

    /// A payload for many peers.
    class broadcast {
    public:
        broadcast(deflation& by, const outgoing& plain) noexcept : by_(by), plain_(plain) {}

        /// The compressed payload for that peer; null: send it uncompressed.
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

    /// The number of payloads compressed so far.
    std::uint64_t count() const noexcept { return count_; }

private:
    /// Takes it over if it may.
    void push_deflated(peer& to, outgoing& source);
    deflated for_one(peer& to, const outgoing& plain);
    /// The payload compressed for the peer was not sent to it, or not in that form.
    static void forget(peer& about) noexcept { about.own_deflater.reset(); }

    const socket_options& options_;
    std::uint64_t count_ = 0;
};

} // namespace zlink::socket
