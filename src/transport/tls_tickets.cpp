// SPDX-License-Identifier: MPL-2.0
#include "transport/tls_tickets.hpp"

#include "base/limits.hpp"
#include "crypto/openssl.hpp"

#include <algorithm>
#include <openssl/rand.h>

namespace zlink::transport {

/// @param lives  Of a key, tls_ticket_key_life each.
bool ticket_keys::is_within(const held& asked, int lives, clock::time_point now) noexcept {
    return asked.is_there && now < asked.made_at + lives * limits::tls_ticket_key_life;
}

bool ticket_keys::current(clock::time_point now, ticket_key& key) {
    const std::lock_guard lock{mutex_};
    if (!is_within(current_, 1, now)) {
        held made{{}, now, true};
        OSSL_LIB_CTX* const source = crypto::openssl_algorithms();
        if (RAND_bytes_ex(source, made.key.name.data(), made.key.name.size(), 0) != 1 ||
            RAND_priv_bytes_ex(source, made.key.cipher.raw(), made.key.cipher.bytes, 0) != 1 ||
            RAND_priv_bytes_ex(source, made.key.authenticator.raw(), made.key.authenticator.bytes,
                               0) != 1) {
            return false;
        }
        previous_ = current_;
        current_ = made;
    }
    key = current_.key;
    return true;
}

ticket_keys::found ticket_keys::find(std::span<const std::uint8_t, ticket_key::name_bytes> name,
                                     clock::time_point now, ticket_key& key) {
    const std::lock_guard lock{mutex_};
    for (const held* const each : {&current_, &previous_}) {
        if (is_within(*each, 2, now) &&
            std::equal(name.begin(), name.end(), each->key.name.begin())) {
            key = each->key;
            return is_within(*each, 1, now) ? found::fresh : found::old;
        }
    }
    return found::none;
}

} // namespace zlink::transport
