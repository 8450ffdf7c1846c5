// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace zlink::crypto {

/// The keystream of Salsa20 (20 rounds), several blocks at a time; libsodium's
/// crypto_stream_salsa20 generates it for one message at a time. Short messages each have a nonce,
/// and so a keystream, of their own; here blocks of different messages are generated in parallel.
///
/// No branch and no address depends on the key (docs/adr/0006).
namespace salsa20 {

inline constexpr std::size_t block_bytes = 64;
inline constexpr std::size_t key_bytes = 32;

/// The number of blocks that cost little more than one.
inline constexpr std::size_t batch_count = 16;
inline constexpr std::size_t batch_bytes = batch_count * block_bytes;

/// The position of a block: its message and its index in it.
struct position {
    std::uint64_t nonce;   ///< Of the message: a number whose big-endian bytes are the nonce.
    std::uint64_t counter; ///< Of the block in the message.
};

/// Generates one block for each of `places`.
/// @param key  key_bytes bytes.
void make_blocks(const std::byte* key, std::span<const position, batch_count> places,
                 std::span<std::byte, batch_bytes> out) noexcept;

/// An implementation of make_blocks() for one vector width.
struct variant {
    std::string_view name;
    bool is_available; ///< On this processor.
    /// As make_blocks().
    void (*make)(const std::byte* key, const position* places, std::byte* out) noexcept;
};

/// All variants of this build. The last one is always available; make_blocks() uses the first one
/// that is.
std::span<const variant> variants() noexcept;

} // namespace salsa20

} // namespace zlink::crypto
