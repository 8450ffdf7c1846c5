// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "base/security.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace zlink::crypto {

// The cryptography of CURVE (26/CURVEZMQ), over libsodium: key agreement between two sides (X25519)
// and boxes that only these two can open (XSalsa20, Poly1305).

/// The shared secret of two sides, each of which has its own secret key and the other's public key.
using shared_key = secret<32>;

/// Both keys of one side.
struct curve_keys {
    curve_public_key open;
    curve_secret_key hidden;
};

/// @return A new pair of keys.
curve_keys make_curve_keys() noexcept;

curve_public_key public_key_of(const curve_secret_key& hidden) noexcept;

/// @return Nothing if `other` is a key with which the secret is predictable, such as zero.
std::optional<shared_key> agree(std::span<const std::byte> other,
                                const curve_secret_key& own) noexcept;

/// The nonce of a box: a text that states its purpose, and a number.
class box_nonce {
public:
    static constexpr std::size_t bytes = 24;

    /// @param purpose  16 characters.
    box_nonce(std::string_view purpose, std::uint64_t number) noexcept;
    /// @param purpose  8 characters.
    /// @param number   16 bytes.
    box_nonce(std::string_view purpose, std::span<const std::byte> number) noexcept;

    const std::uint8_t* raw() const noexcept { return data_; }

private:
    std::uint8_t data_[bytes];
};

/// @param out  Filled with random bytes.
void randomise(std::span<std::byte> out) noexcept;

/// Encrypts and authenticates `content`.
/// @throws std::bad_alloc
std::vector<std::byte> seal(std::span<const std::byte> content, const box_nonce& nonce,
                            const shared_key& key);

/// Decrypts a box.
/// @param out  Has exactly as many bytes as the content; wiped if the box is not authentic.
/// @return Whether it is authentic: made with this nonce and key.
bool open(std::span<const std::byte> box, const box_nonce& nonce, const shared_key& key,
          std::span<std::byte> out) noexcept;

} // namespace zlink::crypto
