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

/// The keystream of one direction of a CURVE connection. The nonces of a direction have their first
/// 16 bytes in common, so what XSalsa20 makes of these is made once; and they count up, so the
/// beginnings of several messages' keystreams are made at a time.
class message_keystream {
public:
    /// What a message of up to 95 bytes takes.
    static constexpr std::size_t beginning_bytes = 2 * salsa20::block_bytes;

    /// @param sender  Whose messages they are.
    message_keystream(const shared_key& key, curve_role sender) noexcept;

    /// The first beginning_bytes of the keystream of the message `nonce`. Valid until the next
    /// call.
    const std::byte* beginning(std::uint64_t nonce) noexcept;

    /// Combines `bytes` bytes with the keystream behind its first block.
    /// @param to  May be `from`.
    void apply(std::uint64_t nonce, const std::byte* from, std::size_t bytes,
               std::byte* to) noexcept;

private:
    static constexpr std::uint64_t ahead_count =
        salsa20::batch_bytes / beginning_bytes; ///< Messages.

    secret<salsa20::key_bytes> key_;
    secret<salsa20::batch_bytes> ahead_;
    std::uint64_t first_nonce_ = 0; ///< In ahead_.
    bool is_made_ = false;
};

/// Makes MESSAGE frames of frames. There is one for each key, which is handed over and never
/// copied: two copies would use the same nonces, and with these tell what they seal.
class curve_sealer {
public:
    /// @param last_nonce  Used up by the handshake.
    curve_sealer(const shared_key& key, curve_role own, std::uint64_t last_nonce) noexcept
        : keystream_(key, own), last_nonce_(last_nonce) {}
    curve_sealer(const curve_sealer&) = delete;
    curve_sealer& operator=(const curve_sealer&) = delete;

    /// The bytes of the frame that seal() makes.
    static constexpr std::uint64_t frame_bytes(std::uint64_t payload_bytes) noexcept {
        const std::uint64_t body_bytes = wire::zmtp::curve_message_overhead_bytes + payload_bytes;
        return wire::zmtp::header_bytes(body_bytes) + body_bytes;
    }

    /// Writes a frame, header and all.
    /// @param flags  wire::zmtp flags of the frame that is sealed.
    /// @param out    Room for frame_bytes(payload.size()).
    void seal(unsigned flags, std::span<const std::byte> payload, std::byte* out) noexcept;

private:
    message_keystream keystream_;
    std::uint64_t last_nonce_;
};

/// Takes frames out of MESSAGE bodies.
class curve_opener {
public:
    /// @param last_nonce  What the peer's next one must exceed.
    curve_opener(const shared_key& key, curve_role peer, std::uint64_t last_nonce) noexcept
        : keystream_(key, peer), last_nonce_(last_nonce) {}

    /// Opens a MESSAGE.
    ///
    /// @param head    Its first curve_message_overhead_bytes bytes.
    /// @param sealed  The rest: the payload, encrypted.
    /// @param out     Room for as many bytes; may be where `sealed` is. Written only if genuine.
    /// @return The flags of the frame; nothing if it is no MESSAGE, not genuine, not newer than the
    ///         one before, or has flags that there are not.
    std::optional<std::uint8_t> open(const std::byte* head, std::span<const std::byte> sealed,
                                     std::byte* out) noexcept;

private:
    message_keystream keystream_;
    std::uint64_t last_nonce_;
};

/// Both directions.
struct curve_ciphers {
    std::unique_ptr<curve_sealer> sealer;
    curve_opener opener;
};

} // namespace zlink::crypto
