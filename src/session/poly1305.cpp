// SPDX-License-Identifier: MPL-2.0
#include "session/poly1305.hpp"

#include "base/raw.hpp"

#include <array>
#include <memory>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <sodium.h>

namespace zlink::session::poly1305 {

namespace {

/// From here on OpenSSL's is faster.
constexpr std::size_t long_bytes_min = 512;

struct release {
    void operator()(EVP_MAC* method) const noexcept { EVP_MAC_free(method); }
    void operator()(EVP_MAC_CTX* state) const noexcept { EVP_MAC_CTX_free(state); }
};

using state_ptr = std::unique_ptr<EVP_MAC_CTX, release>;

/// @return Null if this OpenSSL has no Poly1305, or no memory.
state_ptr make_state() noexcept {
    const std::unique_ptr<EVP_MAC, release> method{EVP_MAC_fetch(nullptr, "POLY1305", nullptr)};
    return state_ptr{method ? EVP_MAC_CTX_new(method.get()) : nullptr};
}

/// @return Whether OpenSSL did it.
bool make_long_tag(key once, std::span<const std::byte> first, std::span<const std::byte> rest,
                   std::span<std::byte, tag_bytes> made) noexcept {
    static thread_local const state_ptr state = make_state();
    std::size_t written = 0;
    const bool is_made = state &&
                         EVP_MAC_init(state.get(), raw(once.data()), once.size(), nullptr) == 1 &&
                         EVP_MAC_update(state.get(), raw(first.data()), first.size()) == 1 &&
                         EVP_MAC_update(state.get(), raw(rest.data()), rest.size()) == 1 &&
                         EVP_MAC_final(state.get(), raw(made.data()), &written, made.size()) == 1;
    if (!is_made) {
        ERR_clear_error(); // Connections over TLS look there, on the same thread.
    }
    return is_made;
}

} // namespace

void make_tag(key once, std::span<const std::byte> first, std::span<const std::byte> rest,
              std::span<std::byte, tag_bytes> made) noexcept {
    if (first.size() + rest.size() >= long_bytes_min && make_long_tag(once, first, rest, made)) {
        return;
    }
    if (rest.empty()) { // Which takes no more steps than content so short needs.
        crypto_onetimeauth_poly1305(raw(made.data()), raw(first.data()), first.size(),
                                    raw(once.data()));
        return;
    }
    crypto_onetimeauth_poly1305_state state;
    crypto_onetimeauth_poly1305_init(&state, raw(once.data()));
    crypto_onetimeauth_poly1305_update(&state, raw(first.data()), first.size());
    crypto_onetimeauth_poly1305_update(&state, raw(rest.data()), rest.size());
    crypto_onetimeauth_poly1305_final(&state, raw(made.data()));
}

bool verify(key once, std::span<const std::byte> first, std::span<const std::byte> rest,
            tag claimed) noexcept {
    std::array<std::byte, tag_bytes> actual;
    make_tag(once, first, rest, actual);
    return crypto_verify_16(raw(actual.data()), raw(claimed.data())) == 0;
}

} // namespace zlink::session::poly1305
