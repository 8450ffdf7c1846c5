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

// The cryptography of CURVE (26/CURVEZMQ) by name, over libsodium: keys that two sides agree on
// (X25519) and boxes that only these two open (XSalsa20, Poly1305).

/// What two sides have in common that know one secret key and the other's public key each.
using shared_key = secret<32>;

/// Both keys of a side.
struct curve_keys {
    curve_public_key open;
    curve_secret_key hidden;
};

/// @return Fresh keys.
curve_keys make_curve_keys() noexcept;

curve_public_key public_key_of(const curve_secret_key& hidden) noexcept;

/// @return Nothing if `other` is a key that makes the secret known, such as zero.
std::optional<shared_key> agree(std::span<const std::byte> other,
                                const curve_secret_key& own) noexcept;

/// The nonce of a box: a text that says what it is for, and a number.
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

/// @param out  Random bytes.
void randomise(std::span<std::byte> out) noexcept;

/// Puts `content` into a box.
/// @throws std::bad_alloc
std::vector<std::byte> seal(std::span<const std::byte> content, const box_nonce& nonce,
                            const shared_key& key);

/// Takes the content out of a box.
/// @param out  Has exactly as many bytes as the content; wiped if the box is not genuine.
/// @return Whether it is: made with this nonce by somebody who has the key.
bool open(std::span<const std::byte> box, const box_nonce& nonce, const shared_key& key,
          std::span<std::byte> out) noexcept;

} // namespace zlink::crypto
