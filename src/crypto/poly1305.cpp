// SPDX-License-Identifier: MPL-2.0
#include "crypto/poly1305.hpp"

#include "base/raw.hpp"
#include "base/thread_end.hpp"
#include "crypto/openssl.hpp"

#include <array>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <sodium.h>

namespace zlink::crypto::poly1305 {

namespace {

/// From this size on OpenSSL is faster.
constexpr std::size_t long_bytes_min = 512;

using state_ptr = crypto::openssl_ptr<EVP_MAC_CTX>;

/// @return Null if this OpenSSL has no Poly1305, or no memory.
state_ptr make_state() noexcept {
    if (!crypto::start_openssl()) {
        return nullptr;
    }
    const crypto::openssl_ptr<EVP_MAC> method{
        EVP_MAC_fetch(crypto::openssl_algorithms(), "POLY1305", nullptr)};
    return state_ptr{method ? EVP_MAC_CTX_new(method.get()) : nullptr};
}

/// The thread's state; freed when the thread ends.
constinit thread_local EVP_MAC_CTX* own_state = nullptr;
constinit thread_local bool is_state_wanted = true;

thread_end frees_state{[](void* state) {
    own_state = nullptr;
    is_state_wanted = false;
    const state_ptr freed{static_cast<EVP_MAC_CTX*>(state)};
}};

/// Only this thread uses it; neither an OpenSSL lock nor anything that OpenSSL cleans up is needed
/// for that: only making and freeing it are uses of the library.
/// @return Null: use libsodium.
EVP_MAC_CTX* state_of_thread() noexcept {
    if (own_state == nullptr && is_state_wanted) [[unlikely]] {
        is_state_wanted = false;
        const crypto::openssl_use library;
        state_ptr made = library ? make_state() : nullptr;
        if (made && frees_state.arm(made.get())) {
            own_state = made.release();
        }
    }
    return own_state;
}

/// @return Whether OpenSSL did it.
bool make_tag_by_openssl(key once, std::span<const std::byte> first,
                         std::span<const std::byte> rest,
                         std::span<std::byte, tag_bytes> made) noexcept {
    EVP_MAC_CTX* const state = state_of_thread();
    if (state == nullptr) {
        return false;
    }
    std::size_t written = 0;
    const bool is_made = EVP_MAC_init(state, raw(once.data()), once.size(), nullptr) == 1 &&
                         EVP_MAC_update(state, raw(first.data()), first.size()) == 1 &&
                         EVP_MAC_update(state, raw(rest.data()), rest.size()) == 1 &&
                         EVP_MAC_final(state, raw(made.data()), &written, made.size()) == 1;
    if (!is_made) {
        if (const crypto::openssl_use library; library) {
            ERR_clear_error(); // TLS connections on this thread examine the error queue.
        }
    }
    return is_made;
}

void make_tag_by_sodium(key once, std::span<const std::byte> first, std::span<const std::byte> rest,
                        std::span<std::byte, tag_bytes> made) noexcept {
    if (rest.empty()) { // One call costs less for short content.
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

} // namespace

void make_tag(key once, std::span<const std::byte> first, std::span<const std::byte> rest,
              std::span<std::byte, tag_bytes> made) noexcept {
    if (first.size() + rest.size() < long_bytes_min ||
        !make_tag_by_openssl(once, first, rest, made)) {
        make_tag_by_sodium(once, first, rest, made);
    }
}

bool make_tag_by(library chosen, key once, std::span<const std::byte> first,
                 std::span<const std::byte> rest, std::span<std::byte, tag_bytes> made) noexcept {
    if (chosen == library::openssl) {
        return make_tag_by_openssl(once, first, rest, made);
    }
    make_tag_by_sodium(once, first, rest, made);
    return true;
}

bool verify(key once, std::span<const std::byte> first, std::span<const std::byte> rest,
            tag claimed) noexcept {
    std::array<std::byte, tag_bytes> actual;
    make_tag(once, first, rest, actual);
    return crypto_verify_16(raw(actual.data()), raw(claimed.data())) == 0;
}

} // namespace zlink::crypto::poly1305
