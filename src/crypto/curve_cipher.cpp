// SPDX-License-Identifier: MPL-2.0
#include "crypto/curve_cipher.hpp"

#include "base/copy.hpp"
#include "crypto/poly1305.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <sodium.h>
#include <string_view>

namespace zlink::crypto {

using namespace wire::zmtp;

namespace {

// Use of a box's keystream: 32 bytes as the key of its authentication, then its content, whose
// first byte is the flags.
constexpr std::size_t flags_at = 32;
constexpr std::size_t payload_at = flags_at + 1;
constexpr std::size_t first_block_payload_bytes = salsa20::block_bytes - payload_at;
constexpr std::size_t beginning_payload_bytes = message_keystream::beginning_bytes - payload_at;

constexpr std::string_view client_purpose = "CurveZMQMESSAGEC";
constexpr std::string_view server_purpose = "CurveZMQMESSAGES";

void combine(const std::byte* from, const std::byte* keystream, std::size_t bytes,
             std::byte* to) noexcept {
    for (std::size_t index = 0; index < bytes; ++index) {
        to[index] = from[index] ^ keystream[index];
    }
}

/// Encrypts or decrypts a payload.
void apply_to_payload(message_keystream& keystream, const std::byte* beginning, std::uint64_t nonce,
                      const std::byte* from, std::size_t bytes, std::byte* to) noexcept {
    if (bytes <= beginning_payload_bytes) {
        combine(from, beginning + payload_at, bytes, to);
    } else {
        combine(from, beginning + payload_at, first_block_payload_bytes, to);
        keystream.apply(nonce, from + first_block_payload_bytes, bytes - first_block_payload_bytes,
                        to + first_block_payload_bytes);
    }
}

} // namespace

message_keystream::message_keystream(const shared_key& key, curve_role sender) noexcept {
    const std::string_view purpose = sender == curve_role::client ? client_purpose : server_purpose;
    crypto_core_hsalsa20(key_.raw(), reinterpret_cast<const std::uint8_t*>(purpose.data()),
                         key.raw(), nullptr);
}

const std::byte* message_keystream::beginning(std::uint64_t nonce) noexcept {
    if (!is_made_ || nonce - first_nonce_ >= ahead_count) {
        std::array<salsa20::position, salsa20::batch_count> places;
        for (std::size_t index = 0; index < places.size(); ++index) {
            places[index] = {nonce + index / 2, index % 2};
        }
        salsa20::make_blocks(
            key_.data(), places,
            std::span<std::byte, salsa20::batch_bytes>{ahead_.data(), salsa20::batch_bytes});
        first_nonce_ = nonce;
        is_made_ = true;
    }
    return ahead_.data() + (nonce - first_nonce_) * beginning_bytes;
}

void message_keystream::apply(std::uint64_t nonce, const std::byte* from, std::size_t bytes,
                              std::byte* to) noexcept {
    secret<salsa20::batch_bytes> blocks;
    std::array<salsa20::position, salsa20::batch_count> places;
    std::uint64_t counter = 1;
    while (bytes != 0) {
        for (salsa20::position& each : places) {
            each = {nonce, counter++};
        }
        salsa20::make_blocks(
            key_.data(), places,
            std::span<std::byte, salsa20::batch_bytes>{blocks.data(), salsa20::batch_bytes});
        const std::size_t step = std::min(bytes, salsa20::batch_bytes);
        combine(from, blocks.data(), step, to);
        from += step;
        to += step;
        bytes -= step;
    }
}

void curve_sealer::seal(unsigned flags, std::span<const std::byte> payload,
                        std::byte* out) noexcept {
    out += write_header(out, curve_message_overhead_bytes + payload.size(), 0);
    const std::uint64_t nonce = ++last_nonce_;
    std::memcpy(out, curve_message_prefix.data(), curve_message_prefix.size());
    store_big_endian(out + curve_message_nonce_at, nonce);

    const std::byte* const beginning = keystream_.beginning(nonce);
    const unsigned sealed_flags = ((flags & flag_more) != 0 ? curve_flag_more : 0) |
                                  ((flags & flag_command) != 0 ? curve_flag_command : 0);
    std::byte* const content = out + curve_message_flags_at;
    content[0] = static_cast<std::byte>(sealed_flags) ^ beginning[flags_at];
    apply_to_payload(keystream_, beginning, nonce, payload.data(), payload.size(), content + 1);
    const poly1305::key once{beginning, poly1305::key_bytes};
    const std::span<std::byte, poly1305::tag_bytes> tag{out + curve_message_mac_at,
                                                        poly1305::tag_bytes};
    poly1305::make_tag(once, {content, 1 + payload.size()}, {}, tag);
}

std::optional<std::uint8_t> curve_opener::open(const std::byte* head,
                                               std::span<const std::byte> sealed,
                                               std::byte* out) noexcept {
    const auto nonce = load_big_endian<std::uint64_t>(head + curve_message_nonce_at);
    if (!is_curve_message(head) || nonce <= last_nonce_) {
        return {};
    }
    const std::byte* const beginning = keystream_.beginning(nonce);
    const std::byte* const content = head + curve_message_flags_at;
    const poly1305::key once{beginning, poly1305::key_bytes};
    const poly1305::tag claimed{head + curve_message_mac_at, poly1305::tag_bytes};
    const bool is_genuine = sealed.data() == content + 1
                                ? poly1305::verify(once, {content, 1 + sealed.size()}, {}, claimed)
                                : poly1305::verify(once, {content, 1}, sealed, claimed);
    const auto flags = std::to_integer<unsigned>(content[0] ^ beginning[flags_at]);
    if (!is_genuine || flags > curve_flag_command) { // Only MORE, or COMMAND, or none is valid.
        return {};
    }
    last_nonce_ = nonce;
    apply_to_payload(keystream_, beginning, nonce, sealed.data(), sealed.size(), out);
    return static_cast<std::uint8_t>(flags == curve_flag_command ? flag_command : flags);
}

} // namespace zlink::crypto
