// SPDX-License-Identifier: MPL-2.0
#include "base/secret.hpp"

#include <sodium.h>

namespace zlink {

void wipe(std::span<std::byte> data) noexcept {
    if (!data.empty()) {
        sodium_memzero(data.data(), data.size());
    }
}

} // namespace zlink
