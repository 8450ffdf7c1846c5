// SPDX-License-Identifier: MPL-2.0
#include "base/secret.hpp"

#include <sodium.h>

namespace zlink {

void wipe(std::span<std::byte> octets) noexcept {
    if (!octets.empty()) {
        sodium_memzero(octets.data(), octets.size());
    }
}

} // namespace zlink
