// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/secret.hpp"
#include "crypto/curve_box.hpp"
#include "crypto/salsa20.hpp"
#include "wire/zmtp/curve.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace zlink::crypto {

enum class curve_role : std::uint8_t { client, server };

/// The keystream of one direction of a CURVE connection. All nonces of a direction share their
/// first 16 bytes, so XSalsa20's subkey is derived once; and they count up, so the beginnings of
/// several messages' keystreams are generated at a time.
class message_keystream {
public:
    /// Enough for a message of up to 95 bytes.
    static constexpr std::size_t beginning_bytes = 2 * salsa20::block_bytes;

    /// @param sender  The side that sends the messages.
    message_keystream(const shared_key& key, curve_role sender) noexcept;

    /// The first beginning_bytes of the keystream of the message `nonce`. Valid until the next
    /// call.
    const std::byte* beginning(std::uint64_t nonce) noexcept;

    /// XORs `bytes` bytes with the keystream behind its first block.
    /// @param to  May be `from`.
    void apply(std::uint64_t nonce, const std::byte* from, std::size_t bytes,
               std::byte* to) noexcept;

private:
    static constexpr std::uint64_t ahead_count =
        salsa20::batch_bytes / beginning_bytes; ///< Messages.

    secret<salsa20::key_bytes> key_;
    secret<salsa20::batch_bytes> ahead_;
    std::uint64_t first_nonce_ = 0; ///< Of the first message in ahead_.
    bool is_made_ = false;
};

/// Encrypts frames into MESSAGE frames. There is one for each key, which is moved and never copied:
/// two copies would use the same nonces, which would reveal the plaintext.
class curve_sealer {
public:
    /// @param last_nonce  The last one that the handshake has used.
    curve_sealer(const shared_key& key, curve_role own, std::uint64_t last_nonce) noexcept
        : keystream_(key, own), last_nonce_(last_nonce) {}
    curve_sealer(const curve_sealer&) = delete;
    curve_sealer& operator=(const curve_sealer&) = delete;

    /// The size of the frame that seal() makes.
    static constexpr std::uint64_t frame_bytes(std::uint64_t payload_bytes) noexcept {
        const std::uint64_t body_bytes = wire::zmtp::curve_message_overhead_bytes + payload_bytes;
        return wire::zmtp::header_bytes(body_bytes) + body_bytes;
    }

    /// Writes a frame, including its header.
    /// @param flags  wire::zmtp flags of the frame that is sealed.
    /// @param out    Room for frame_bytes(payload.size()).
    void seal(unsigned flags, std::span<const std::byte> payload, std::byte* out) noexcept;

private:
    message_keystream keystream_;
    std::uint64_t last_nonce_;
};

/// Decrypts MESSAGE bodies into frames.
class curve_opener {
public:
    /// @param last_nonce  The peer's next one must be greater.
    curve_opener(const shared_key& key, curve_role peer, std::uint64_t last_nonce) noexcept
        : keystream_(key, peer), last_nonce_(last_nonce) {}

    /// Opens a MESSAGE.
    ///
    /// @param head    Its first curve_message_overhead_bytes bytes.
    /// @param sealed  The rest: the payload, encrypted.
    /// @param out     Room for as many bytes; may be `sealed`. Written only if authentic.
    /// @return The flags of the frame; nothing if it is not a MESSAGE, not authentic, not newer
    ///         than the previous one, or has invalid flags.
    std::optional<std::uint8_t> open(const std::byte* head, std::span<const std::byte> sealed,
                                     std::byte* out) noexcept;

private:
    message_keystream keystream_;
    std::uint64_t last_nonce_;
};

/// The ciphers of both directions.
struct curve_ciphers {
    std::unique_ptr<curve_sealer> sealer;
    curve_opener opener;
};

} // namespace zlink::crypto
