// SPDX-License-Identifier: MPL-2.0
#include "crypto/curve_box.hpp"

#include "base/assert.hpp"
#include "base/byte_order.hpp"
#include "base/raw.hpp"

#include <cstring>
#include <sodium.h>

namespace zlink::crypto {

static_assert(curve_key_bytes == crypto_box_PUBLICKEYBYTES);
static_assert(curve_key_bytes == crypto_box_SECRETKEYBYTES);
static_assert(shared_key::bytes == crypto_box_BEFORENMBYTES);
static_assert(box_nonce::bytes == crypto_box_NONCEBYTES);

namespace {

/// Makes libsodium choose its fastest code for this processor, once. It works without that, too.
void prepare_library() noexcept {
    static const int prepared = sodium_init();
    static_cast<void>(prepared);
}

} // namespace

curve_keys make_curve_keys() noexcept {
    prepare_library();
    curve_keys made;
    crypto_box_keypair(raw(made.open.data()), made.hidden.raw());
    return made;
}

curve_public_key public_key_of(const curve_secret_key& hidden) noexcept {
    prepare_library();
    curve_public_key derived;
    crypto_scalarmult_base(raw(derived.data()), hidden.raw());
    return derived;
}

std::optional<shared_key> agree(std::span<const std::byte> other,
                                const curve_secret_key& own) noexcept {
    prepare_library();
    std::optional<shared_key> common{std::in_place};
    if (crypto_box_beforenm(common->raw(), raw(other.data()), own.raw()) != 0) {
        common.reset();
    }
    return common;
}

box_nonce::box_nonce(std::string_view purpose, std::uint64_t number) noexcept {
    ZLINK_DEBUG_ASSERT(purpose.size() + sizeof number == bytes);
    std::memcpy(data_, purpose.data(), purpose.size());
    store_big_endian(reinterpret_cast<std::byte*>(data_) + bytes - sizeof number, number);
}

box_nonce::box_nonce(std::string_view purpose, std::span<const std::byte> number) noexcept {
    ZLINK_DEBUG_ASSERT(purpose.size() + number.size() == bytes);
    std::memcpy(data_, purpose.data(), purpose.size());
    std::memcpy(data_ + purpose.size(), number.data(), number.size());
}

void randomise(std::span<std::byte> out) noexcept {
    prepare_library();
    randombytes_buf(out.data(), out.size());
}

std::vector<std::byte> seal(std::span<const std::byte> content, const box_nonce& nonce,
                            const shared_key& key) {
    std::vector<std::byte> box(content.size() + crypto_box_MACBYTES);
    crypto_box_easy_afternm(raw(box.data()), raw(content.data()), content.size(), nonce.raw(),
                            key.raw());
    return box;
}

bool open(std::span<const std::byte> box, const box_nonce& nonce, const shared_key& key,
          std::span<std::byte> out) noexcept {
    ZLINK_DEBUG_ASSERT(box.size() == out.size() + crypto_box_MACBYTES);
    const bool is_genuine = crypto_box_open_easy_afternm(raw(out.data()), raw(box.data()),
                                                         box.size(), nonce.raw(), key.raw()) == 0;
    if (!is_genuine) {
        wipe(out);
    }
    return is_genuine;
}

} // namespace zlink::crypto
